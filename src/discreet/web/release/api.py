"""The screen Release for programs: a spec in both forms, its dry run, the schema of a file."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from discreet.errors import InputError
from discreet.statements.presenter import accuracy_lines
from discreet.web.release.drafts import missing
from discreet.web.release.dry_run import look, read
from discreet.web.release.spec_form import Draft, draft_of, form_of, readable, written
from discreet.web.release.synthetic import accuracy_of_file
from discreet.web.screens import REFUSED
from discreet.web.workfolder import folder_of

for_programs = APIRouter()


class SpecText(BaseModel):
    """A spec as YAML."""

    spec: str = Field(max_length=2**20)


class FormFields(BaseModel):
    """A spec as the fields of the form."""

    form: dict[str, str]


class Drafted(BaseModel):
    """A spec in both forms, and what is still to be said before it can be looked at."""

    spec: str
    form: dict[str, str]
    missing: list[str]
    problems: dict[str, str]


class Refused(BaseModel):
    """Why the account does not take the charge."""

    code: str
    message: str
    amounts: dict[str, str]


class Previewed(BaseModel):
    """A dry run: nothing was read but the schema, nothing was spent."""

    spec_hash: str
    spent: dict[str, float | None]
    remaining: dict[str, float | bool | None] | None
    accuracy: list[str]
    mechanism: str
    notes: list[str]
    account: dict[str, Any] | None
    head: str
    ready: bool
    refusal: Refused | None
    learned: dict[str, Any] | None
    promises: list[dict[str, Any]]


class Column(BaseModel):
    """A column and the kind of its values, from the schema."""

    name: str
    kind: str


class Columns(BaseModel):
    """The schema of a file in the working folder."""

    source: str
    columns: list[Column]


@for_programs.post("/api/release/spec", responses=REFUSED)
def draft_of_form(sent: FormFields) -> Drafted:
    """Turn the fields of the form into a spec."""
    return _drafted(draft_of(sent.form))


@for_programs.post("/api/release/form", responses=REFUSED)
def draft_of_spec(sent: SpecText) -> Drafted:
    """Turn a spec into the fields of the form."""
    values = readable(sent.spec)
    if values is None:
        raise InputError("web.spec.mapping")
    return _drafted(Draft(values, draft_of(form_of(values)).problems))


def _drafted(draft: Draft) -> Drafted:
    values = draft.values
    return Drafted(
        spec=written(values),
        form=form_of(values),
        missing=missing(values),
        problems=draft.problems,
    )


@for_programs.post("/api/release/preview", responses=REFUSED)
def preview(request: Request, sent: SpecText) -> Previewed:
    """Run a spec dry: what it would cost, how accurate it would be, whether it fits."""
    folder = folder_of(request)
    found = look(folder, read(folder, sent.spec))
    refusal = found.refusal
    return Previewed(
        spec_hash=found.spec.hash,
        spent=found.said["spent"],
        remaining=found.said["remaining"],
        accuracy=accuracy_lines(found.said)
        if "accuracy" in found.said
        else accuracy_of_file(found.preview),  # type: ignore[arg-type]
        mechanism=found.said.get("mechanism", ""),
        notes=list(found.preview.notes),
        account=None if found.account is None else found.account.to_dict(),
        head=found.head,
        ready=found.ready,
        refusal=None
        if refusal is None
        else Refused(code=refusal.code, message=refusal.message, amounts=dict(refusal.amounts)),
        learned=found.learned,
        promises=[one.to_dict() for one in found.outlook.promises],
    )


@for_programs.get("/api/release/columns", responses=REFUSED)
def columns(request: Request, source: Annotated[str, Query(max_length=1000)]) -> Columns:
    """Return the columns of a file in the working folder; no row is read."""
    found = folder_of(request).columns(source)
    return Columns(
        source=source, columns=[Column(name=name, kind=kind) for name, kind in found.items()]
    )
