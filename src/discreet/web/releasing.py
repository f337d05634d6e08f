"""The screen Release: data, spec, dry run, and behind an explicit yes, the release.

    /release           a spec as a form and as YAML, its dry run, its account
    /release/confirm/… the charge, shown once more; the yes is bound to it
    /release/made/…    the stored release and its downloads; nothing can be changed any more

Every page is made by the server; the script only sends what was typed and puts the answer in place.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from discreet.cli.release import accuracy_lines
from discreet.errors import DiscreetError, InputError
from discreet.promises import delta_in
from discreet.web.confirming import MOVED, Confirmations, Pending
from discreet.web.drafts import missing, promise_of, start
from discreet.web.dry_run import Look, look, read
from discreet.web.form_fields import Fields, amounts_of
from discreet.web.forms import form_of, mapping_of, readable, written
from discreet.web.links import link, yaml_file
from discreet.web.release_api import for_programs
from discreet.web.release_words import (
    HOW_ACCURATE,
    HOW_CHARGED,
    HOW_LEARNED,
    amount_words,
    learned_words,
    promise_words,
    statistics_of,
)
from discreet.web.screens import page
from discreet.web.stored_release import DOWNLOADS, SHOWN, download, find_made
from discreet.web.workfolder import MOST_BYTES, Workfolder, folder_of

__all__ = ["BODY_LIMITS", "router"]

router = APIRouter()
router.include_router(for_programs)
BODY_LIMITS = {"/release/upload": MOST_BYTES + 2**16}
LONGEST_LINK = 6_000
_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]*@")


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


async def _uploaded(request: Request) -> AsyncIterator[UploadFile]:
    """Return the one file that a form sent; what does not fit in memory waits on disk."""
    # Not a parameter of FastAPI: its parser would tell a body beyond the bound as a broken one.
    async with request.form(max_files=1, max_fields=10) as form:
        data = form.get("data")
        if not isinstance(data, UploadFile):
            raise InputError("Choose a file to upload.")
        yield data


@dataclass(frozen=True, slots=True)
class State:
    """A spec on its way: its YAML, its form if it can be read, the file that it must stay in."""

    text: str
    form: dict[str, str] | None
    file: str | None = None

    @property
    def link(self) -> str | None:
        """The state as a link; None if it is too long for one."""
        if self.file is not None:
            return f"/release?file={quote(self.file, safe='')}"
        query = quote(self.text, safe="")
        return f"/release?spec={query}" if len(query) <= LONGEST_LINK else None


def state_of_text(text: str) -> State:
    """Return the state that a YAML text is."""
    values = readable(text)
    return State(text, None if values is None else form_of(values))


def state_of_file(folder: Workfolder, name: str) -> State:
    """Return the state of a spec file; one that names a database is released as it is."""
    text = folder.spec_text(name)
    state = state_of_text(text)
    named = (state.form or {}).get("source", ""), (state.form or {}).get("ledger", "")
    if any("://" in url and not url.startswith("sqlite:///") for url in named):
        return State(_masked(text), None, name)
    return state


def state_of_form(fields: dict[str, str]) -> State:
    """Return the state that a form says, with the statistic that a button added or removed."""
    values = mapping_of(fields)
    entries = values.get("statistics")
    if isinstance(entries, list):
        place = fields.get("remove", "")
        if place.isdecimal() and 1 <= int(place) <= len(entries):
            del entries[int(place) - 1]
    if fields.get("add"):
        values.setdefault("statistics", []).append({"count": "rows"})
    return State(written(values), form_of(values))


@router.get("/release", include_in_schema=False)
def release_page(
    request: Request,
    spec: str | None = None,
    file: str | None = None,
    source: str | None = None,
    promise: str | None = None,
) -> Response:
    """The screen: with a spec, a spec file of the folder, a file of data, or nothing yet.

    A promise that was chosen on another screen begins the spec of a file of data.
    """
    folder = folder_of(request)
    try:
        chosen = promise_of(promise)
        if spec is not None:
            return _shown(request, state_of_text(spec))
        if file is not None:
            return _shown(request, state_of_file(folder, file))
        if source is not None:
            folder.screened(source)
            return _shown(request, state_of_text(written(start(source, chosen))))
    except DiscreetError as error:
        return _shown(request, None, problem=str(error))
    return _shown(request, None, promise=promise)


@router.get("/release/look", include_in_schema=False)
def nothing_to_look_at() -> RedirectResponse:
    """Someone reloaded an address that only takes a form."""
    return RedirectResponse("/release", status_code=303)


@router.post("/release/look", include_in_schema=False)
def look_page(request: Request, fields: Fields) -> Response:
    """The screen for a form or a YAML text that was typed; nothing is stored."""
    try:
        yaml = fields.get("which") == "yaml"
        state = state_of_text(fields.get("spec", "")) if yaml else state_of_form(fields)
    except DiscreetError as error:
        return _shown(request, State("", None), problem=str(error))
    return _shown(request, state)


def _shown(
    request: Request,
    state: State | None,
    *,
    problem: str = "",
    opening: dict[str, str] | None = None,
    promise: str | None = None,
) -> Response:
    """Render the screen for a state, with its dry run if it can be had."""
    folder = folder_of(request)
    found: Look | None = None
    unsaid: list[str] = []
    columns: dict[str, Any] = {}
    if state is not None and not problem:
        try:
            found, unsaid = _looked(folder, state)
        except DiscreetError as error:
            problem = str(error)
    if state is not None and state.form is not None:
        columns = _columns(folder, state.form.get("source", ""))
    link = f"/release?{_along(promise)}" if promise else None
    if state is not None:
        link = state.link
    query = "" if link is None else link.partition("?")[2]
    return page(
        request,
        "release.html",
        status=422 if problem else 200,
        link=link,
        yaml=f"/release/spec.yaml?{query}" if state is not None and query else None,
        state=state,
        promise=promise,
        along=_along(promise),
        form=None if state is None else state.form,
        statistics=[] if state is None else statistics_of(state.form or {}),
        files=folder.data(),
        specs=sorted(folder.specs()),
        most=MOST_BYTES,
        columns=columns,
        unsaid=unsaid,
        problem=_masked(problem),
        opening=opening or {},
        look=found,
        ledger="/ledger" if state is None else _ledger_link(state),
        **_in_words(found),
    )


def _along(promise: str | None) -> str:
    """Return the part of a query that takes a promise along; of none, nothing."""
    return f"promise={quote(promise, safe='')}" if promise else ""


def _looked(folder: Workfolder, state: State) -> tuple[Look | None, list[str]]:
    """Return the dry run of a state, or what is still to be said before there is one."""
    if state.file is not None:
        return look(folder, read(folder, folder.spec_text(state.file), from_file=True)), []
    values = readable(state.text)
    if values is None:
        read(folder, state.text)  # says why it cannot be read
        return None, []
    unsaid = missing(values)
    return (None, unsaid) if unsaid else (look(folder, read(folder, state.text)), [])


def _columns(folder: Workfolder, source: str) -> dict[str, Any]:
    try:
        return dict(folder.columns(source)) if source else {}
    except DiscreetError:
        return {}  # the dry run says what is wrong with it


def _in_words(found: Look | None) -> dict[str, Any]:
    """Return what a dry run is shown with."""
    if found is None:
        return {}
    return {
        "charge": amount_words(found.said["spent"], "up"),
        "accuracy": [line.strip() for line in accuracy_lines(found.said)],
        "mechanism": found.said["mechanism"],
        "how_charged": HOW_CHARGED,
        "how_accurate": HOW_ACCURATE,
        "how_learned": HOW_LEARNED,
        "learned": learned_words(found.learned),
        "standing": standing(found),
    }


def standing(found: Look) -> list[tuple[str, str]]:
    """Return where the account of a look stands, as facts: before, and after the charge."""
    account = found.account
    if account is None:
        return []
    spent, left = account.spent.to_dict("up"), found.said["remaining"]
    facts = [
        ("Account", f"{account.name}; protects {account.subject} ({account.adjacency.value})"),
        ("Composition", account.filter.value),
        ("Spent", amount_words(spent, "up")),
    ]
    facts += [("Promise", promise_words(one)) for one in found.preview.promises]
    if account.cap is None:
        return [*facts, ("Cap", "none: what is spent is counted, and nothing limits it")]
    facts += [
        ("Cap", amount_words(account.cap.to_dict("down"), "down")),
        ("Left", amount_words(left, "down")),
    ]
    if found.after is not None and found.after.remaining is not None:
        after = found.after.remaining.to_dict("down")
        facts.append(("Left after this release", amount_words(after, "down")))
    return facts


@router.get("/release/spec.yaml", include_in_schema=False)
def spec_yaml(request: Request, spec: str | None = None, file: str | None = None) -> Response:
    """The spec as a file that `discreet release` reads."""
    if file is not None:
        return yaml_file(folder_of(request).spec_text(file), "spec.yaml")
    return yaml_file(spec or "", "spec.yaml")


@router.post("/release/spec.yaml", include_in_schema=False)
def spec_yaml_typed(fields: Fields) -> Response:
    """The spec that was typed, of any length, as a file."""
    return yaml_file(fields.get("spec", ""), "spec.yaml")


@router.post("/release/upload", include_in_schema=False)
def upload(
    request: Request,
    data: Annotated[UploadFile, Depends(_uploaded)],
    promise: str | None = None,
) -> Response:
    """Store a file of data in the working folder, and begin a spec for it."""
    try:
        promise_of(promise)
        name = folder_of(request).receive(data.filename or "", data.file)
    except DiscreetError as error:
        return _shown(request, None, problem=str(error), promise=promise)
    more = f"&{_along(promise)}" if promise else ""
    return RedirectResponse(f"/release?source={quote(name)}{more}", status_code=303)


@router.post("/release/open", include_in_schema=False)
def open_account(request: Request, fields: Fields) -> Response:
    """Open the account that a spec names, with an approver and a reason."""
    from discreet.ledger import Amount, Ledger

    folder = folder_of(request)
    state = _sent(folder, fields)
    spec = read(folder, _text(folder, state), from_file=state.file is not None)
    try:
        found = look(folder, spec)
        amounts, plan = amounts_of(fields), found.preview.plan
        promise = plan.promise if fields.get("promise") else None
        if bool(amounts or promise) == bool(fields.get("no_cap")):
            raise InputError(
                "Open the account with the promise of the spec, give it a lifetime cap, or say "
                "that it has none."
            )
        lead = {name: value for name, value in amounts.items() if name != "delta"}
        delta = amounts.get("delta", delta_in(spec.promise_keys or {}))
        Ledger.open(spec.ledger_url).open_account(
            spec.account,
            unit=spec.protect.unit,
            unit_name=spec.protect.name,
            adjacency=spec.protect.adjacency,
            filter=plan.filter,
            cap=Amount.of(**amounts) if lead else None,
            promise=promise,
            delta=delta if promise is not None and plan.filter != "pure" else None,
            approver=fields.get("approver", ""),
            reason=fields.get("reason", ""),
        )
    except DiscreetError as error:
        return _shown(request, state, opening=fields | {"problem": str(error)})
    link = state.link
    if link is None:
        return _shown(request, state)
    return RedirectResponse(f"{link}#look", status_code=303)


def _sent(folder: Workfolder, fields: dict[str, str]) -> State:
    if fields.get("file"):
        return state_of_file(folder, fields["file"])
    return state_of_text(fields.get("spec", ""))


def _text(folder: Workfolder, state: State) -> str:
    return state.text if state.file is None else folder.spec_text(state.file)


# -- the explicit yes


@router.post("/release/confirm", include_in_schema=False)
def ask(request: Request, fields: Fields) -> Response:
    """Look once more, and keep what was seen until it is confirmed."""
    folder = folder_of(request)
    state = _sent(folder, fields)
    try:
        found = look(folder, read(folder, _text(folder, state), from_file=state.file is not None))
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
        token=name,
        look=shown,
        back=state.link or "/release",
        over=pending.used or moved,
        text=_masked(text),
        problem=_masked(problem or (MOVED if moved else "")),
        **_in_words(shown),
    )


@router.post("/release/make/{name}", include_in_schema=False)
def make(request: Request, name: str, fields: Fields) -> Response:
    """Make the release that was confirmed; pressed twice, it is made once."""
    known = confirmations_of(request)
    pending = known.find(name)
    try:
        made = known.make(name, folder_of(request), again=fields.get("again") == "yes")
    except DiscreetError as error:
        return _confirming(request, name, pending, str(error))
    return RedirectResponse(f"/release/made/{made}", status_code=303)


# -- what was made


@router.get("/release/made/{release_id}", include_in_schema=False)
def made_page(request: Request, release_id: str) -> Response:
    """A stored release: shown, downloaded, never drawn again."""
    made = find_made(folder_of(request), release_id)
    state = state_of_text(made.spec)
    said = made.said
    return page(
        request,
        "made.html",
        status=422 if made.problem else 200,
        link=f"/release/made/{made.release_id}",
        yaml=f"/release/made/{made.release_id}/spec.yaml",
        made=made,
        said=said,
        again=state.link,
        ledger=_ledger_link(state),
        shown=SHOWN,
        spent=amount_words(said.get("spent"), "up"),
        account_spent=amount_words(said.get("account_spent"), "up"),
        remaining=amount_words(said.get("remaining"), "down"),
        how_learned=HOW_LEARNED,
        learned=learned_words(said.get("learned")),
    )


def _ledger_link(state: State) -> str:
    """Return where the ledger of a release is shown, if it is a file; else where one is chosen."""
    name = (state.form or {}).get("ledger", "")
    return link("/ledger", {"ledger": name.removeprefix("sqlite:///")} if "sqlite:" in name else {})


@router.get("/release/made/{release_id}/{name}", include_in_schema=False)
def made_file(request: Request, release_id: str, name: str) -> Response:
    """One file of a stored release, as a download."""
    if name not in DOWNLOADS:
        raise InputError(f"A release has no file {name[:80]!r}.")
    made = find_made(folder_of(request), release_id)
    return Response(
        download(made, name),
        media_type=DOWNLOADS[name],
        headers={"Content-Disposition": f'attachment; filename="{release_id}-{name}"'},
    )
