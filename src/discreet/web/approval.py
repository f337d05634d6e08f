"""One page for someone to sign: the promise in words, its budget, what is protected, lines to sign.

It says what Tolerate, or a dry run, shows, on one sheet of paper; nothing is computed here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.budgets import choose
from discreet.reports.sentences import not_protected
from discreet.statements import learned
from discreet.statements.presenter import (
    assumption_rows,
    budget_text,
    learned_facts,
    spends_text,
)
from discreet.web.release.dry_run import in_words, look, read
from discreet.web.screens import page
from discreet.web.thread import Thread, link
from discreet.web.workfolder import folder_of
from discreet.words import say

router = APIRouter()


@router.get("/approval", include_in_schema=False)
def approval_page(request: Request, spec: str = "", file: str = "", promise: str = "") -> Response:
    """A promise, or a release as its dry run sees it, for approval."""
    if not (spec or file or Thread.of({"promise": promise}).keys()):
        return RedirectResponse("/tolerate", status_code=303)  # nothing to approve yet
    shown = _of_spec(request, spec, file) if spec or file else _of_promise(promise)
    today = datetime.now(UTC).date().isoformat()
    return page(request, "approval.html", today=today, **shown)


def _of_promise(text: str) -> dict[str, Any]:
    thread = Thread.of({"promise": text})
    choice = choose(thread.keys())
    most = learned(choice.guarantee, choice.promise.unit, [choice.promise])
    after = learned_facts(None if most is None else most.to_dict()) or {}
    return {
        "back": thread.to("/tolerate"),
        "thread": thread,
        "sentences": [choice.promise.sentence()],
        "budget": f"ε = {budget_text(choice.epsilon)}",
        "of": say("web.approval.largest"),
        "facts": assumption_rows(choice.assumptions.to_dict()),
        "names": after.get("names"),
        "rows": after.get("rows"),
        "open_to": not_protected(
            "public",
            choice.promise.unit.kind,
            name=choice.promise.unit.name,
            promises=[choice.promise],
        ),
        "source": text,
    }


def _of_spec(request: Request, text: str, file: str) -> dict[str, Any]:
    folder = folder_of(request)
    found = look(folder, read(folder, text or folder.spec_text(file), from_file=not text))
    spec, after, promises = found.spec, found.learned or {}, found.outlook.promises
    account = spec.account
    if found.outlook.account is None:
        account = say("web.approval.not_open", account=account)
    return {
        "back": link("/release", {"spec": text, "file": file}),
        "released": in_words(found, {})["accuracy"],
        "learned": say("web.approval.learned_after"),
        "thread": Thread.in_spec(spec.to_dict()),
        "sentences": [one.sentence for one in promises],
        "budget": spends_text(found.said),
        "of": say("web.approval.spends"),
        "facts": [
            (say("web.spec.purpose"), spec.purpose),
            (say("web.spec.account"), account),
            (say("web.approval.file"), str(spec.located)),
            (say("web.approval.rows"), str(spec.protect.rows or say("web.approval.all_rows"))),
            (say("web.approval.unit"), str(spec.unit)),
            (say("web.spec.adjacency"), spec.protect.adjacency),
            *((say("web.approval.share"), o.used) for o in promises),
            (say("web.ledger.head"), found.head),
        ],
        "names": after.get("names"),
        "rows": after.get("rows"),
        "open_to": not_protected("public", spec.unit.kind, name=spec.unit.name),
        "source": f"spec {spec.hash}",
        "refused": found.outlook.refused,  # then there are no lines to sign
    }
