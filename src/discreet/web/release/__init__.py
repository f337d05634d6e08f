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
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import ConfigDict, ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, InputError
from discreet.statements.presenter import (
    cut_lines,
    learned_facts,
    spends_text,
    standing_facts,
)
from discreet.web.examples import begin, situations
from discreet.web.forms import Approval, Filled, Form, Number, Text, columns_of, reading
from discreet.web.release.confirmations import Confirmations, Pending
from discreet.web.release.dry_run import Look, in_words, look, named_ledger, read
from discreet.web.release.spec_form import (
    PLACE,
    begun,
    draft_of,
    form_of,
    grouped,
    is_synthetic,
    keyed_by,
    keys_said,
    kinds,
    missing,
    numbers_read,
    of_kind,
    own_fields,
    readable,
    source_of,
    start,
    under,
    written,
)
from discreet.web.release.stored_release import BARRED, DOWNLOADS, SHOWN, download, find_stored
from discreet.web.screens import page, yaml_file
from discreet.web.thread import Thread, link
from discreet.web.workfolder import MOST_BYTES, Workfolder, folder_of
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.ledger import Account
    from discreet.promises import Promise

__all__ = ["router"]

router = APIRouter()
SYNTHETIC = "/synthetic"
LONGEST_LINK = 6_000
_PREVIEWED = 6  # keys of a public list
_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]*@")


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


class OpenSent(Approval, SpecSent):
    """The terms of an account that is to be opened, by whom, and why."""

    delta: Annotated[float | None, Number(low=0, below=1, optional=True)] = None
    promise: bool = False
    no_cap: bool = False
    confirmed: bool = False
    back: bool = False


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
    def values(self) -> dict[str, Any] | None:
        """What it says, if it can be read."""
        return readable(self.text)

    @property
    def link(self) -> str | None:
        """The state as a link; None if it is too long for one."""
        said = {"spec": self.text} if self.file is None else {"file": self.file}
        found = f"{self.screen}?{urlencode(said, quote_via=quote, safe='')}"
        return found if self.file is not None or len(found) <= LONGEST_LINK else None

    @property
    def screen(self) -> str:
        """The screen that it belongs to."""
        return SYNTHETIC if is_synthetic(self.values or {}) else "/release"

    @property
    def ledger(self) -> str:
        """Where its ledger is shown, if it is a file; else where one is chosen."""
        name = (self.form or {}).get("ledger", "")
        sqlite = {"ledger": name.removeprefix("sqlite:///")} if "sqlite:" in name else {}
        return link("/ledger", sqlite)

    def look(self, folder: Workfolder) -> Look:
        """Run the spec dry, as it is released: a file as it stands."""
        text = self.text if self.file is None else folder.spec_text(self.file)
        return look(folder, read(folder, text, from_file=self.file is not None))


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
        if found := PLACE.match(name):
            places.setdefault(int(found[1]), {})[name.removeprefix(found[0])] = form.pop(name)
    statistics = [places[place] for place in sorted(places)]
    if sent.state.remove is not None:
        del statistics[sent.state.remove - 1 : sent.state.remove]
    if sent.state.add:
        added = sent.state.add if sent.state.add in kinds() else next(iter(kinds()))
        statistics.append(begun(added))
    known = {name: text for one in statistics for name, text in one.items() if text}
    for place, fields in enumerate(map(of_kind, statistics), start=1):
        # Keys that were typed for a column serve every statistic by it.
        shared = {f"keys.{column}": known.get(f"keys.{column}", "") for column in keyed_by(fields)}
        fields |= {name: text for name, text in shared.items() if not fields.get(name)}
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
    folder, found, unsaid = folder_of(request), None, []
    values = None if state is None else state.values
    form = (state.form if state is not None else None) or {}
    columns = _columns(folder, form)
    if state is not None and not problem:
        try:
            if state.form is not None and values is not None:
                from discreet.releases.spec import letters_compared

                letters = bool(columns) and letters_compared(values) is not None
                encoding = letters and not folder.shows_encoding(form["source"])
                unsaid = missing(values, columns, encoding=encoding)
            if not unsaid and not state.problems:
                found = state.look(folder)
        except DiscreetError as error:
            problem = str(error)
    screen = SYNTHETIC if request.url.path.startswith(SYNTHETIC) else "/release"
    if state is not None:
        screen = state.screen
    thread = Thread.of(request.query_params) if values is None else Thread.in_spec(values)
    along = replace(thread, ledger="", account="")  # other data may be of other people
    here = None if state is None else state.link
    query = "" if here is None else here.partition("?")[2]
    return page(
        request,
        "release.html",
        status=422 if problem or (state is not None and state.problems) else 200,
        link=screen if state is None and along.promise else here,
        yaml=f"/release/spec.yaml?{query}" if query else None,
        state=state,
        along=along,
        accounts=_accounts(folder, form),
        label=lambda name: _label(form, name),
        statistics=_statistics(folder, form),
        kinds=kinds(),
        folder=folder,
        most=MOST_BYTES,
        columns=columns,
        unsaid=unsaid,
        problem=_masked(problem),
        opening=opening or {},
        look=found,
        thread=None if values is None else thread,
        step=_step(found, along),
        situations=situations(synthetic=screen == SYNTHETIC),
        synthetic=screen == SYNTHETIC,
        screen=screen,
        levels=_levels(folder, form),
        region=region or {},
        **({} if found is None else in_words(found, region or {})),
    )


def _step(found: Look | None, along: Thread) -> str:
    if found is not None and found.outlook.account is None:
        return "account"
    return "data" if along.promise else "promise"


def _accounts(folder: Workfolder, form: Mapping[str, str]) -> list[str]:
    """Return the accounts that are open in the ledger of a form, if it is there."""
    try:
        _, ledger = named_ledger(folder, form.get("ledger", ""), "")
        return [one.name for one in ledger.accounts()]
    except DiscreetError:
        return []


def _label(form: Mapping[str, str], name: str) -> str:
    """Return what a field of the form is called."""
    last = name.rpartition(".")[2]
    known, found = f"web.spec.{last}", PLACE.match(name)
    own = own_fields(form.get(f"{found[0]}kind", "")).get(last) if found else None
    said = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}.get(last, last)
    said = own.label if own is not None else say(known) if has(known) else said
    return f"{say('web.spec.statistic', place=found[1])}, {said}" if found else said


def _statistics(folder: Workfolder, form: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the statistics of the form: place, kind, own fields, and what is known of them."""
    said = keys_said(readable(form.get("rest", "")) or {})
    cards = []
    for place in sorted({int(found[1]) for name in form if (found := PLACE.match(name))}):
        own = under(form, f"statistics.{place}.")
        kind, by = own.get("kind", ""), keyed_by(own)
        fields = own_fields(kind)
        listed = {
            name: _listed(folder, form, name, own.get(f"keys.{name}", ""), said.get(name, ()))
            for name in by
        }
        read = {n: numbers_read(own.get(n)) for n in fields if fields[n].takes == "numbers"}
        about = {"place": place, "kind": kind, "fields": fields, "yaml": "yaml" in own}
        cards.append(about | {"grouped": grouped(kind), "by": by, "listed": listed, "read": read})
    return cards


def _levels(folder: Workfolder, form: Mapping[str, str]) -> dict[str, str]:
    """Return what the lists of levels of a synthetic file's columns hold, by column."""
    names = filter(None, columns_of(form.get("file.columns", "")))
    return {name: _listed(folder, form, name, form.get(f"file.keys.{name}", "")) for name in names}


def _listed(
    folder: Workfolder, form: Mapping[str, str], column: str, typed: str, keys: Sequence[str] = ()
) -> str:
    """Return the public keys that a file lists, or else those known, in words; or nothing."""
    from discreet.releases.spec import keys_from_file

    if typed:
        keys, file = (), typed.lower().endswith(".csv") and typed != form.get("source")
        with suppress(DiscreetError):  # the dry run says what is wrong with it
            if file and len(folder.columns(typed)) == 1:  # else it may be a file of data
                keys = keys_from_file(folder.inside(typed, "keys"), column)
    some = ", ".join(keys[:_PREVIEWED])
    return say("web.spec.listed", keys=len(keys), some=some) if keys else ""


def _columns(folder: Workfolder, form: Mapping[str, str]) -> dict[str, Any]:
    from discreet.releases.source import Source

    said = source_of(form).values.get("source")
    try:
        how = Source.model_validate(said) if isinstance(said, dict) else None
        return dict(folder.columns(form["source"], how)) if said else {}
    except (DiscreetError, ValidationError):
        return {}  # the dry run says what is wrong with it


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
    from discreet.ledger import Ledger

    state = _state(folder_of(request), sent)
    found = state.look(folder_of(request))
    if sent.state.back:
        return _shown(request, state, opening=sent.shown)
    try:
        if sent.problems:
            raise InputError(sent.problem)
        terms = _terms(found, sent.state)
        account = _proposed(found.spec.account, **terms)
        if not sent.state.confirmed or sent.state.head != found.head:
            return _opening(request, sent, found, account, terms["promise"])
        Ledger.open(found.spec.ledger_url).open_account(
            account.name, **terms, approver=sent.state.approver, reason=sent.state.reason
        )
    except DiscreetError as error:
        told = {"problem": str(error), "problems": sent.problems}
        return _shown(request, state, opening=sent.shown | told)
    if state.link is None:
        return _shown(request, state)
    return RedirectResponse(f"{state.link}#look", status_code=303)


def _terms(found: Look, asked: OpenSent) -> dict[str, Any]:
    """Return what an account is opened with: unit, neighbours, rule, and the limit asked for."""
    from discreet.ledger import Amount

    protect, charging, amounts = found.spec.protect, found.outlook.charging, asked.amounts()
    promise = charging.promise if asked.promise else None
    if bool(amounts or promise) == asked.no_cap:
        raise InputError("web.open.one_limit")
    delta = None  # at which a promise limits the account, where its rule has one
    if promise is not None and charging.filter != "pure":
        delta = amounts.get("delta", charging.cap.floats("up").get("delta", 0.0))
    return {
        "unit": protect.unit,
        "unit_name": protect.name,
        "adjacency": protect.adjacency,
        "filter": charging.filter,
        "cap": Amount.of(**amounts) if amounts.keys() - {"delta"} else None,
        "promise": promise,
        "delta": delta,
    }


def _proposed(name: str, *, promise: Promise | None, delta: float | None, **terms: Any) -> Account:
    """Return the account as it would be opened; nothing is written."""
    from discreet.ledger import Account
    from discreet.ledger.promises import derived_cap

    account = Account.opened(name, **terms)
    if promise is not None:
        limit = derived_cap(account, (promise,), delta)
        account = Account.opened(name, **terms | {"cap": limit})
    if account.cap is not None and not (account.cap.epsilon or account.cap.rho):
        raise InputError("web.open.nothing")
    return account


def _opening(
    request: Request,
    sent: Filled[OpenSent],
    found: Look,
    account: Account,
    promise: Promise | None,
) -> Response:
    """Show what an account would promise, before it is opened."""
    from discreet.statements import learned

    most, spends = None, spends_text(found.said)
    if account.cap is not None:
        most = learned(account.promise(account.cap), account.subject, [promise] if promise else [])
    if promise is not None and found.outlook.promises:
        used = found.outlook.promises[0].used
        spends = say("web.open.share", share=used)
    again = ("head", "confirmed", "back")
    return page(
        request,
        "opening.html",
        problem=say("web.open.moved") if sent.state.confirmed else "",
        thread=Thread.in_spec(found.spec.to_dict()),
        step="account",
        kept={name: text for name, text in sent.shown.items() if text and name not in again},
        head=found.head,
        account=account,
        promise=promise,
        facts=[
            (say("presenter.account.is"), standing_facts(account)[0][1]),
            (say("presenter.account.composition"), account.filter.value),
            (say("web.open.first_spends"), spends),
            (say("web.open.approver"), sent.state.approver),
            (say("web.open.reason"), sent.state.reason),
        ],
        learned=learned_facts(None if most is None else most.to_dict()),
    )


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
    problem = problem or (say("web.confirm.moved") if moved else "")
    return page(
        request,
        "confirm.html",
        thread=Thread.in_spec(shown.spec.to_dict()),
        step="charge",
        token=name,
        look=shown,
        back=state.link or "/release",
        over=pending.used or moved,
        text=_masked(text),
        problem=_masked(problem),
        **in_words(shown, {}),
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
    from discreet.charts import released_spec

    made = find_stored(folder_of(request), release_id)
    return page(
        request,
        "stored_release.html",
        status=422 if made.problem else 200,
        link=f"/release/made/{made.release_id}",
        yaml=f"/release/made/{made.release_id}/spec.yaml",
        thread=Thread.in_spec(readable(made.spec) or {}),
        step="released",
        made=made,
        said=made.said,
        state=state_of_text(made.spec),
        shown=SHOWN,
        barred=BARRED,
        drawn=released_spec,
        at=SYNTHETIC if made.said.get("kind") == "synthetic" else None,
        learned=learned_facts(made.said.get("learned")),
        left_out=cut_lines(made.said) if "cut" in made.said else (),
    )


@router.get("/release/made/{release_id}/{name}", include_in_schema=False)
def made_file(request: Request, release_id: str, name: str) -> Response:
    """One file of a stored release, as a download."""
    body = download(find_stored(folder_of(request), release_id), name)
    return Response(
        body,
        media_type=DOWNLOADS[name],
        headers={"Content-Disposition": f'attachment; filename="{release_id}-{name}"'},
    )
