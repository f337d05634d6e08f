"""The screen Release: data, spec, dry run and, once it is confirmed, the release.

    /release           a spec as a form and as YAML, its dry run, its account
    /synthetic         the same for a synthetic file, which is charged in the same way
    /release/open      what an account would promise, shown in beliefs; and then opened
    /release/confirm/… the charge, shown once more, to be confirmed
    /release/made/…    the stored release and its downloads; nothing can be changed any more

Every page is made by the server; the script only sends what was typed and puts the answer in place.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from pydantic import ConfigDict, ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, InputError
from discreet.promises import delta_in
from discreet.rounding import percent
from discreet.statements.presenter import (
    accuracy_lines,
    amount_text,
    cut_lines,
    learned_facts,
    limit_text,
    standing_facts,
)
from discreet.web.examples import begin, situations
from discreet.web.forms import Filled, Form, Number, Text, columns_of, reading
from discreet.web.release.confirming import Confirmations, Pending
from discreet.web.release.drafts import keys_said, missing, start
from discreet.web.release.dry_run import HOW_LEARNED, Look, is_synthetic, look, read
from discreet.web.release.spec_form import (
    begun,
    draft_of,
    form_of,
    grouped,
    keyed_by,
    kinds,
    numbers_read,
    of_kind,
    own_fields,
    readable,
    source_of,
    written,
)
from discreet.web.release.stored import DOWNLOADS, SHOWN, Section, download, find_made
from discreet.web.release.synthetic import as_file
from discreet.web.screens import how, page, yaml_file
from discreet.web.thread import Thread, link
from discreet.web.workfolder import MOST_BYTES, Workfolder, folder_of
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.ledger import Account, Standing
    from discreet.releases.statistics.base import FormField

__all__ = ["router"]

router = APIRouter()
SYNTHETIC = "/synthetic"
LONGEST_LINK = 6_000
_PREVIEWED = 6  # keys of a public list
_MOST_LINES = 8  # of errors in one chart
_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]*@")
_STATISTIC = re.compile(r"statistics\.(\d{1,3})\.(.+)", re.DOTALL)
_DRY = "discreet release spec.yaml --dry-run"
HOW_CHARGED = how(
    "charged", python='discreet.release("spec.yaml", dry_run=True).spent', command=_DRY
)
HOW_ACCURATE = how(
    "accurate", python='discreet.release("spec.yaml", dry_run=True).plan.accuracy()', command=_DRY
)


class SpecSent(Form):
    """A spec as YAML, as a file of the folder, or as the fields of its form (the other names)."""

    model_config = ConfigDict(extra="allow")
    which: Annotated[str, Text(10)] = ""
    spec: Annotated[str, Text(2**20, bare=False)] = ""
    file: Annotated[str, Text()] = ""
    add: Annotated[str, Text(100)] = ""
    remove: Annotated[int | None, Number(low=1, high=999, whole=True, optional=True)] = None
    region: Annotated[str, Text(4_000)] = ""
    low: Annotated[str, Text(50)] = ""
    high: Annotated[str, Text(50)] = ""


class OpenSent(SpecSent):
    """The terms of an account that is to be opened, by whom, and why."""

    epsilon: Annotated[float | None, Number(above=0, optional=True)] = None
    delta: Annotated[float | None, Number(low=0, below=1, optional=True)] = None
    rho: Annotated[float | None, Number(above=0, optional=True)] = None
    promise: bool = False
    no_cap: bool = False
    approver: Annotated[str, Text(needed=True)] = ""
    reason: Annotated[str, Text(needed=True)] = ""
    head: Annotated[str, Text()] = ""
    confirmed: bool = False
    back: bool = False

    def amounts(self) -> dict[str, float]:
        """Return the amounts of the cap that are given."""
        given = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: value for name, value in given.items() if value is not None}


class Yes(Form):
    """The yes to a second run of the same spec, which is a new charge."""

    again: bool = False


Sent = Annotated[Filled[SpecSent], reading(SpecSent)]


def _masked(text: str) -> str:
    """Return a text without the password of any URL in it."""
    return _PASSWORD.sub(r"\1:***@", text)


def confirmations_of(request: Request) -> Confirmations:
    """Return the confirmations of this server."""
    state = request.app.state
    if not hasattr(state, "confirmations"):
        state.confirmations = Confirmations()
    found: Confirmations = state.confirmations
    return found


async def _uploaded(request: Request) -> AsyncIterator[tuple[UploadFile, str]]:
    """Return the one file that a form sent, which waits on disk, and how it is written."""
    # Not a parameter of FastAPI: its parser would tell a body beyond the bound as a broken one.
    async with request.form(max_files=1, max_fields=10) as form:
        data = form.get("data")
        if not isinstance(data, UploadFile):
            raise InputError("web.upload.nothing")
        yield data, str(form.get("encoding", ""))


@dataclass(frozen=True, slots=True)
class State:
    """A spec on its way: its YAML, its form if it can be read, the file that it must stay in."""

    text: str
    form: dict[str, str] | None
    file: str | None = None
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def link(self) -> str | None:
        """The state as a link; None if it is too long for one."""
        if self.file is not None:
            return f"{self.screen}?file={quote(self.file, safe='')}"
        query = quote(self.text, safe="")
        return f"{self.screen}?spec={query}" if len(query) <= LONGEST_LINK else None

    @property
    def screen(self) -> str:
        """The screen that it belongs to."""
        return SYNTHETIC if is_synthetic(readable(self.text) or {}) else "/release"

    def spec_text(self, folder: Workfolder) -> str:
        """Return the spec as it is released: a file as it stands."""
        return self.text if self.file is None else folder.spec_text(self.file)

    def look(self, folder: Workfolder) -> Look:
        """Run the spec dry."""
        return look(folder, read(folder, self.spec_text(folder), from_file=self.file is not None))


def state_of_text(text: str) -> State:
    """Return the state that a YAML text is."""
    values = readable(text)
    if values is None:
        return State(text, None)
    form = form_of(values)
    return State(text, form, problems=draft_of(form).problems)


def state_of_file(folder: Workfolder, name: str) -> State:
    """Return the state of a spec file; one that names a database is released as it is."""
    text = folder.spec_text(name)
    state = state_of_text(text)
    named = (state.form or {}).get("source", ""), (state.form or {}).get("ledger", "")
    if any("://" in url and not url.startswith("sqlite:///") for url in named):
        return State(_masked(text), None, name)
    return state


def state_of_form(sent: Filled[SpecSent]) -> State:
    """Return the state that a form says, with the statistic that a button added or removed."""
    own = SpecSent.model_fields
    form = {name: text for name, text in sent.shown.items() if name not in own}
    places: dict[int, dict[str, str]] = {}
    for name in list(form):
        if found := _STATISTIC.fullmatch(name):
            places.setdefault(int(found[1]), {})[found[2]] = form.pop(name)
    statistics = [places[place] for place in sorted(places)]
    if sent.state.remove is not None:
        del statistics[sent.state.remove - 1 : sent.state.remove]
    if sent.state.add:
        added = sent.state.add if sent.state.add in kinds() else next(iter(kinds()))
        statistics.append(begun(added))
    for place, fields in enumerate(map(of_kind, statistics), start=1):
        form |= {f"statistics.{place}.{name}": text for name, text in fields.items()}
    draft = draft_of(form)
    return State(written(draft.values), form, problems=draft.problems)


def _state(folder: Workfolder, sent: Filled[Any]) -> State:
    if sent.state.file:
        return state_of_file(folder, sent.state.file)
    return state_of_text(sent.state.spec)


@router.get(SYNTHETIC, include_in_schema=False)
@router.get("/release", include_in_schema=False)
def release_page(
    request: Request,
    spec: str | None = None,
    file: str | None = None,
    source: str | None = None,
    encoding: str = "",
) -> Response:
    """The screen: with a spec, a spec file of the folder, a file of data, or nothing yet.

    A promise that was chosen on another screen begins the spec of a file of data.
    """
    folder = folder_of(request)
    try:
        thread = _brought(request)
        if spec is not None:
            return _shown(request, state_of_text(spec))
        if file is not None:
            return _shown(request, state_of_file(folder, file))
        if source is not None:
            synthetic = request.url.path == SYNTHETIC
            found = folder.proposed(source, encoding)
            columns, signs = folder.columns(source, found), found.model_dump(exclude_defaults=True)
            said = signs if len(signs) > 1 else source
            first = start(said, thread, columns, synthetic=synthetic)
            return _shown(request, state_of_text(written(first)))
    except DiscreetError as error:
        return _shown(request, None, problem=str(error))
    return _shown(request, None)


def _brought(request: Request) -> Thread:
    """Return the promise that the address brought along; one that cannot be read is refused."""
    found, given = Thread.of(request.query_params), request.query_params.get("promise")
    if given and not found.promise:
        raise InputError("web.release.odd_promise")
    return found


@router.post("/release/example/{name}", include_in_schema=False)
def example(request: Request, name: str) -> Response:
    """Put invented data of a situation into the folder, with a spec that is filled in."""
    state = state_of_text(written(begin(folder_of(request), name)))
    return RedirectResponse(state.link or "/release", status_code=303)


@router.get("/release/open", include_in_schema=False)
@router.get("/release/look", include_in_schema=False)
def nothing_was_sent() -> RedirectResponse:
    """Someone came back to an address that only takes a form."""
    return RedirectResponse("/release", status_code=303)


@router.post("/release/look", include_in_schema=False)
def look_page(request: Request, sent: Sent) -> Response:
    """The screen for a form or a YAML text that was typed; nothing is stored."""
    try:
        if sent.problems:
            raise InputError(sent.problem)
        yaml = sent.state.which == "yaml"
        state = state_of_text(sent.state.spec) if yaml else state_of_form(sent)
    except DiscreetError as error:
        return _shown(request, State("", None), problem=str(error))
    return _shown(request, state, region=sent.shown)


def _shown(
    request: Request,
    state: State | None,
    *,
    problem: str = "",
    opening: Mapping[str, Any] | None = None,
    region: Mapping[str, str] | None = None,
) -> Response:
    """Render the screen for a state, with its dry run if it can be had."""
    folder = folder_of(request)
    found: Look | None = None
    unsaid: list[str] = []
    form = None if state is None else state.form
    columns = _columns(folder, form or {})
    if state is not None and not problem:
        unsaid = missing(readable(state.text) or {}, columns) if form is not None else []
        try:
            if not unsaid and not state.problems:
                found = state.look(folder)
        except DiscreetError as error:
            problem = str(error)
    synthetic = request.url.path.startswith(SYNTHETIC)
    if state is not None:
        synthetic = state.screen == SYNTHETIC
    screen = SYNTHETIC if synthetic else "/release"
    values = None if state is None else readable(state.text)
    thread = Thread.of(request.query_params) if values is None else Thread.in_spec(values)
    along = replace(thread, ledger="", account="")  # other data may be of other people
    here = None if state is None else state.link
    opens = found is not None and found.account is None
    query = "" if here is None else here.partition("?")[2]
    return page(
        request,
        "release.html",
        status=422 if problem or (state is not None and state.problems) else 200,
        link=screen if state is None and along.promise else here,
        yaml=f"/release/spec.yaml?{query}" if state is not None and query else None,
        state=state,
        along=along,
        form=form,
        problems={} if state is None else state.problems,
        label=lambda name: _label(form or {}, name),
        statistics=_statistics(folder, form or {}),
        kinds=kinds(),
        files=folder.data(),
        specs=sorted(folder.specs()),
        most=MOST_BYTES,
        columns=columns,
        unsaid=unsaid,
        problem=_masked(problem),
        opening=opening or {},
        look=found,
        ledger="/ledger" if state is None else _ledger_link(state),
        thread=None if values is None else thread,
        step="account" if opens else "data",
        situations=situations(synthetic=synthetic),
        synthetic=synthetic,
        screen=screen,
        levels=_levels(folder, form or {}),
        region=region or {},
        **_in_words(found, region),
    )


def _label(form: Mapping[str, str], name: str) -> str:
    """Return what a field of the form is called."""
    last = name.rpartition(".")[2]
    known, found = f"web.spec.{last}", _STATISTIC.fullmatch(name)
    last = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}.get(last, last)
    if found is None:
        return say(known) if has(known) else last
    own = own_fields(form.get(f"statistics.{found[1]}.kind", "")).get(last)
    said = own.label if own is not None else say(known) if has(known) else last
    return f"{say('web.spec.statistic', place=found[1])}, {said}"


@dataclass(frozen=True, slots=True)
class Shown:
    """One statistic of the form: its place, its kind, its own fields, its columns of groups."""

    place: int
    kind: str
    fields: Mapping[str, FormField]
    grouped: bool
    by: tuple[str, ...]
    keys: Mapping[str, str]
    read: Mapping[str, str]
    yaml: bool


def _statistics(folder: Workfolder, form: Mapping[str, str]) -> list[Shown]:
    places = sorted({int(found[1]) for name in form if (found := _STATISTIC.fullmatch(name))})
    said = keys_said(readable(form.get("rest", "")) or {})
    known = {name: _in_short(keys) for name, keys in said.items()}
    return [_card(folder, form, place, known) for place in places]


def _card(
    folder: Workfolder, form: Mapping[str, str], place: int, known: Mapping[str, str]
) -> Shown:
    at = f"statistics.{place}."
    kind = form.get(f"{at}kind", "")
    own = {n.removeprefix(at): text for n, text in form.items() if n.startswith(at)}
    by, fields = keyed_by(own), own_fields(kind)
    return Shown(
        place=place,
        kind=kind,
        fields=fields,
        grouped=grouped(kind),
        by=by,
        keys={
            name: _listed(folder, form, name, typed) if typed else known.get(name, "")
            for name in by
            for typed in [form.get(f"{at}keys.{name}", "")]
        },
        read={n: numbers_read(own.get(n)) for n in fields if fields[n].takes == "numbers"},
        yaml=f"{at}yaml" in form,
    )


def _levels(folder: Workfolder, form: Mapping[str, str]) -> dict[str, str]:
    """Return what the lists of levels of a synthetic file's columns hold, by column."""
    names = filter(None, columns_of(form.get("file.columns", "")))
    return {name: _listed(folder, form, name, form.get(f"file.keys.{name}", "")) for name in names}


def _listed(folder: Workfolder, form: Mapping[str, str], column: str, typed: str) -> str:
    """Return the public keys that a file lists, in words; of anything else, nothing."""
    from discreet.releases.spec import keys_from_file

    if not typed.lower().endswith(".csv") or typed == form.get("source"):
        return ""
    try:
        if len(folder.columns(typed)) != 1:
            return ""  # no plain list: it may be a file of data
        keys = keys_from_file(folder.inside(typed, "keys"), column)
    except DiscreetError:
        return ""  # the dry run says what is wrong with it
    return _in_short(keys)


def _in_short(keys: Sequence[str]) -> str:
    return say("web.spec.listed", keys=len(keys), some=", ".join(keys[:_PREVIEWED]))


def _columns(folder: Workfolder, form: Mapping[str, str]) -> dict[str, Any]:
    from discreet.releases.source import Source

    said = source_of(form).values.get("source")
    try:
        how = Source.model_validate(said) if isinstance(said, dict) else None
        return dict(folder.columns(form["source"], how)) if said else {}
    except (DiscreetError, ValidationError):
        return {}  # the dry run says what is wrong with it


def _as_table(found: Look) -> dict[str, Any]:
    """Return what the dry run of a table is shown with: the errors of its statistics.

    The chart has those statistics whose error does not depend on their size.
    """
    from discreet.charts import error_spec, relative_error_spec

    rows = found.said["accuracy"]
    widths = {row["statistic"]: row["half_width"] for row in rows if row.get("half_width")}
    errors = relative_error_spec(widths) if widths else None
    return {
        "accuracy": accuracy_lines(found.said),
        "errors": error_spec(rows) if len(widths) > _MOST_LINES else errors,  # margins: bars
        "mechanism": found.said["mechanism"],
        "how_accurate": HOW_ACCURATE,
    }


def _in_words(found: Look | None, region: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return what a dry run is shown with."""
    from discreet.releases import Preview

    if found is None:
        return {}
    own = _as_table(found) if isinstance(found.preview, Preview) else as_file(found, region or {})
    account, promises = found.account, found.outlook.promises
    first = next(iter(promises), None)
    return {
        "share": None if first is None else min(1.0, first.share_used),
        "share_said": "" if first is None else _share_said(first),
        "charge": amount_text(found.said["spent"], "up"),
        "how_charged": HOW_CHARGED,
        "how_learned": HOW_LEARNED,
        "learned": learned_facts(found.learned),
        "standing": [] if account is None else standing_facts(account, promises, found.after),
    } | own


def _share_said(one: Standing) -> str:
    """Return how much of its promise a release leaves used, and how many like it still fit."""
    share = percent(one.share_used, "up")
    more = one.fits_again
    if more is None:
        return say("web.release.share", share=share)
    return say("web.release.share_fits", share=share, releases=more)


@router.get("/release/spec.yaml", include_in_schema=False)
@router.post("/release/spec.yaml", include_in_schema=False)
def spec_yaml(request: Request, sent: Sent) -> Response:
    """The spec as a file that `discreet release` reads; posted, it may be of any length."""
    if sent.state.file:
        return yaml_file(folder_of(request).spec_text(sent.state.file), "spec.yaml")
    return yaml_file(sent.state.spec, "spec.yaml")


@router.post(f"{SYNTHETIC}/upload", include_in_schema=False)
@router.post("/release/upload", include_in_schema=False)
def upload(
    request: Request,
    sent: Annotated[tuple[UploadFile, str], Depends(_uploaded)],
) -> Response:
    """Store a file of data in the working folder, and begin a spec for it."""
    try:
        thread = _brought(request)
        data, encoding = sent
        name = folder_of(request).receive(data.filename or "", data.file, encoding)
    except DiscreetError as error:
        return _shown(request, None, problem=str(error))
    screen = request.url.path.removesuffix("/upload")
    return RedirectResponse(thread.to(screen, source=name, encoding=encoding), status_code=303)


@router.post("/release/open", include_in_schema=False)
def open_account(
    request: Request, sent: Annotated[Filled[OpenSent], reading(OpenSent)]
) -> Response:
    """Show what the account that a spec names would promise; with the yes to that, open it."""
    state = _state(folder_of(request), sent)
    found = state.look(folder_of(request))
    if sent.state.back:
        return _shown(request, state, opening=sent.shown)
    try:
        if sent.problems:
            raise InputError(sent.problem)
        proposed = _proposed(found, sent.state)
        if not sent.state.confirmed:
            return _opening(request, sent, found, proposed)
        if sent.state.head != found.head:
            return _opening(request, sent, found, proposed, say("web.open.moved"))
        _open(found, sent.state)
    except DiscreetError as error:
        told = {"problem": str(error), "problems": sent.problems}
        return _shown(request, state, opening=sent.shown | told)
    if state.link is None:
        return _shown(request, state)
    return RedirectResponse(f"{state.link}#look", status_code=303)


def _terms(found: Look, asked: OpenSent) -> dict[str, Any]:
    """Return what an account is opened with, but for its promise: unit, neighbours, rule, cap."""
    from discreet.ledger import Amount

    protect, amounts = found.spec.protect, asked.amounts()
    return {
        "unit": protect.unit,
        "unit_name": protect.name,
        "adjacency": protect.adjacency,
        "filter": found.outlook.charging.filter,
        "cap": Amount.of(**amounts) if amounts.keys() - {"delta"} else None,
    }


def _delta(found: Look, asked: OpenSent) -> float | None:
    """Return the δ at which a promise limits the account; None where its rule has none."""
    if not asked.promise or found.outlook.charging.filter == "pure":
        return None
    return asked.amounts().get("delta", delta_in(found.spec.promise_keys or {}))


def _proposed(found: Look, asked: OpenSent) -> Account:
    """Return the account as it would be opened; nothing is written."""
    from discreet.ledger import Account
    from discreet.ledger.promises import derived_cap

    promise = found.outlook.charging.promise if asked.promise else None
    if bool(asked.amounts() or promise) == asked.no_cap:
        raise InputError("web.open.one_limit")
    terms = _terms(found, asked)
    account = Account.opened(found.spec.account, **terms)
    if promise is not None:
        terms["cap"] = derived_cap(account, (promise,), _delta(found, asked))
        account = Account.opened(found.spec.account, **terms)
    if account.cap is not None and not (account.cap.epsilon or account.cap.rho):
        raise InputError("web.open.nothing")
    return account


def _open(found: Look, asked: OpenSent) -> None:
    from discreet.ledger import Ledger

    Ledger.open(found.spec.ledger_url).open_account(
        found.spec.account,
        **_terms(found, asked),
        promise=found.outlook.charging.promise if asked.promise else None,
        delta=_delta(found, asked),
        approver=asked.approver,
        reason=asked.reason,
    )


def _opening(
    request: Request, sent: Filled[OpenSent], found: Look, account: Account, problem: str = ""
) -> Response:
    """Show what an account would promise, before it is opened."""
    from discreet.statements import learned

    asked, own = sent.state, found.outlook.charging.promise
    promises = [own] if asked.promise and own is not None else []
    most = None
    if account.cap is not None:
        most = learned(account.promise(account.cap), account.subject, promises)
    kept = {name: text for name, text in sent.shown.items() if text}
    for name in ("head", "confirmed", "back"):
        kept.pop(name, None)
    return page(
        request,
        "opening.html",
        status=422 if problem else 200,
        problem=problem,
        thread=Thread.in_spec(found.spec.to_dict()),
        step="account",
        kept=kept,
        head=found.head,
        account=account,
        by_promise=bool(promises),
        sentences=[promise.sentence() for promise in promises],
        cap=limit_text(account.cap),
        facts=[
            (say("presenter.account.is"), standing_facts(account)[0][1]),
            (say("presenter.account.composition"), account.filter.value),
            (say("web.open.first_spends"), _used(found, bool(promises))),
            (say("web.open.approver"), asked.approver),
            (say("web.open.reason"), asked.reason),
        ],
        learned=learned_facts(None if most is None else most.to_dict()),
        how_learned=HOW_LEARNED,
    )


def _used(found: Look, of_promise: bool) -> str:
    """Return what the release would spend: as a share of the promise, or as an amount."""
    standing = next(iter(found.outlook.promises), None) if of_promise else None
    if standing is None:
        return amount_text(found.said["spent"], "up")
    return say("web.open.share", share=percent(standing.share_used, "up"))


# -- the explicit yes


@router.post("/release/confirm", include_in_schema=False)
def ask(request: Request, sent: Sent) -> Response:
    """Look once more, and keep what was seen until it is confirmed."""
    folder = folder_of(request)
    state = _state(folder, sent)
    try:
        found = state.look(folder)
        if not found.ready:
            return _shown(request, state)
    except DiscreetError as error:
        return _shown(request, state, problem=str(error))
    name = confirmations_of(request).ask(found, state.file)
    return RedirectResponse(f"/release/confirm/{name}", status_code=303)


@router.get("/release/confirm/{name}", include_in_schema=False)
def confirm_page(request: Request, name: str) -> Response:
    """The charge, once more; after the release was made, the release."""
    pending = confirmations_of(request).find(name)
    if pending.release_id is not None:
        return RedirectResponse(f"/release/made/{pending.release_id}", status_code=303)
    return _confirming(request, name, pending)


def _confirming(request: Request, name: str, pending: Pending, problem: str = "") -> Response:
    from discreet.ledger import Ledger

    shown = pending.look
    moved = Ledger.open(shown.spec.ledger_url).head != shown.head
    text = written(shown.spec.to_dict())
    state = state_of_text(text) if pending.file is None else State(text, None, pending.file)
    return page(
        request,
        "confirm.html",
        status=422 if problem else 200,
        thread=Thread.in_spec(shown.spec.to_dict()),
        step="charge",
        token=name,
        look=shown,
        back=state.link or "/release",
        over=pending.used or moved,
        text=_masked(text),
        problem=_masked(problem or (say("web.confirm.moved") if moved else "")),
        **_in_words(shown),
    )


@router.post("/release/make/{name}", include_in_schema=False)
def make(request: Request, name: str, sent: Annotated[Filled[Yes], reading(Yes)]) -> Response:
    """Make the release that was confirmed; pressed twice, it is made once."""
    known = confirmations_of(request)
    pending = known.find(name)
    try:
        made = known.make(name, folder_of(request), again=sent.state.again)
    except DiscreetError as error:
        return _confirming(request, name, pending, str(error))
    return RedirectResponse(f"/release/made/{made}", status_code=303)


# -- what was made


@router.get("/release/made/{release_id}", include_in_schema=False)
def made_page(request: Request, release_id: str) -> Response:
    """A stored release: shown, downloaded, never drawn again."""
    made = find_made(folder_of(request), release_id)
    state, said = state_of_text(made.spec), made.said
    return page(
        request,
        "made.html",
        status=422 if made.problem else 200,
        link=f"/release/made/{made.release_id}",
        yaml=f"/release/made/{made.release_id}/spec.yaml",
        thread=Thread.in_spec(readable(made.spec) or {}),
        step="released",
        made=made,
        said=said,
        again=state.link,
        ledger=_ledger_link(state),
        shown=SHOWN,
        drawings=[_drawing(part) for part in made.sections()],
        spent=amount_text(said.get("spent"), "up"),
        account_spent=amount_text(said.get("account_spent"), "up"),
        remaining=amount_text(said.get("remaining"), "down"),
        how_learned=HOW_LEARNED,
        learned=learned_facts(said.get("learned")),
        left_out=cut_lines(said["cut"]) if "cut" in said else (),
    )


def _drawing(part: Section) -> dict[str, Any] | None:
    from discreet.charts import released_spec

    return released_spec(part.chart) if part.chart else None


def _ledger_link(state: State) -> str:
    """Return where the ledger of a release is shown, if it is a file; else where one is chosen."""
    name = (state.form or {}).get("ledger", "")
    return link("/ledger", {"ledger": name.removeprefix("sqlite:///")} if "sqlite:" in name else {})


@router.get("/release/made/{release_id}/{name}", include_in_schema=False)
def made_file(request: Request, release_id: str, name: str) -> Response:
    """One file of a stored release, as a download."""
    if name not in DOWNLOADS:
        raise InputError("web.made.no_file", name=name[:80])
    made = find_made(folder_of(request), release_id)
    return Response(
        download(made, name),
        media_type=DOWNLOADS[name],
        headers={"Content-Disposition": f'attachment; filename="{release_id}-{name}"'},
    )
