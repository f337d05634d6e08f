"""`discreet init`, `check`, `rehearse`, `release` and `summarize`: from a spec to a release."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.flags import (
    Amounts,
    Json,
    OnAccount,
    PromiseFlags,
    SetKeys,
    Written,
    changes_in,
    described,
)
from discreet.cli.output import charted, emit, grid, progress, table
from discreet.errors import BudgetExceeded, InputError
from discreet.guarantees import side_by_side
from discreet.reading import write_new
from discreet.statements.presenter import (
    accuracy_lines,
    amount_text,
    cut_line,
    figures_spent,
    spends_text,
)
from discreet.words import catalogue, say

if TYPE_CHECKING:
    from discreet.releases import Preview
    from discreet.releases.source import Source

TEMPLATE = catalogue().file("release.yaml").read_text(encoding="utf-8")


@described("init")
def init(
    file: Annotated[Path, typer.Argument()] = Path("release.yaml"),
    from_: Annotated[str | None, typer.Option("--from")] = None,
    as_json: Json = False,
) -> None:
    """Write a commented spec to start from; an existing file is left alone."""
    text, columns = TEMPLATE, []
    if from_ is not None:
        from discreet.releases.checking import columns_in, proposed_source

        source = proposed_source(from_)
        columns = [{"name": n, "kind": kind} for n, kind in columns_in(source).items()]
        text = _template_for(source, file, columns)
    write_new(file, text)
    payload = {"file": str(file.resolve())} | ({"columns": columns} if from_ else {})
    emit(payload, [say("cli.init.wrote", file=file)], as_json)


def _template_for(source: Source, file: Path, columns: list[dict[str, str]]) -> str:
    """Return the template with a source, and its columns as comments."""
    import json
    import os

    from discreet.releases.checking import proposed_unit
    from discreet.releases.engines.files import shows_encoding

    path = source.path or ""
    if "://" not in path:
        path = os.path.relpath(Path(path).resolve(), file.resolve().parent)
    written = source.model_dump(exclude={"path"}, exclude_defaults=True)
    shown = shows_encoding(Path(source.path or ""))
    written |= {"encoding": source.encoding} if written and shown else {}
    said = json.dumps({"path": path} | written if written else path, ensure_ascii=False)
    names = [[json.dumps(one["name"], ensure_ascii=False), one["kind"]] for one in columns]
    notes = [say("cli.init.written")] if written else []
    notes += [say("cli.init.no_encoding")] if written and not shown else []
    listed = "\n".join(f"# {line}" for line in [*notes, say("cli.init.columns"), *table(names)])
    text = TEMPLATE.replace("discreet release release.yaml", f"discreet release {file.name}", 1)
    unit = proposed_unit(one["name"] for one in columns)
    # What names columns that are not in the file is there to be copied: it becomes a comment.
    if unit is not None:
        said_unit = json.dumps(unit, ensure_ascii=False)
        text = text.replace("column: person_id", f"column: {said_unit}", 1)
    text = re.sub(r"^  (?=[^#\n]*\b(person_id|region|amount)\b)", "# ", text, flags=re.MULTILINE)
    unit_last = sorted(columns, key=lambda one: one["name"] == unit)
    for key, value in _examples({"path": path} | written, unit_last).items():
        line = rf"(?<=^# {key}: ).*?(?=   #)" if value else rf"^# {key}: .*\n"
        example = json.dumps(value, ensure_ascii=False) if value else ""
        text = re.sub(line, lambda _, new=example: new, text, flags=re.MULTILINE)  # type: ignore[misc]
    text = text.replace("source: data.csv", f"source: {said}", 1)
    return text.replace("\nprotect:", f"\n{listed}\n\nprotect:", 1)


_MADE = {"moment": "month({})", "text": "lower({})", "truth": "if({}, 'yes', 'no')"}


def _examples(source: dict[str, Any], columns: list[dict[str, str]]) -> dict[str, Any]:
    """Return examples of keys, made from columns that are there; nothing for those without one."""
    from discreet.releases.formula import column_as_written

    usable = [one for one in columns if column_as_written(one["name"]) and one["kind"] != "other"]
    if not usable:
        return dict.fromkeys(("source", "where", "let"))
    used, *others = [one["name"] for one in (*usable, *(x for x in columns if x not in usable))]
    first, kind = column_as_written(used), usable[0]["kind"]
    made = next(name for name in ("group", "made", "made_too") if name not in (used, *others))
    types = {used: "number"} | dict.fromkeys(others[:1], "text")
    return {
        "source": source | {"types": types} if kind == "untyped" else None,
        "where": f"{first} is not null",
        "let": {made: _MADE.get(kind, "bin({}, [0, 10, 100])").format(first)},
    }


@described("check")
def check(
    file: Path,
    header: str | None = None,
    keys_from: Path | None = None,
    source: str | None = None,
    set_: SetKeys = None,
    as_json: Json = False,
) -> None:
    """Check a spec without its data and without a ledger, and show what it would cost.

    Public files are read: lists of keys and, where `types` or `--header` tell the columns, the
    public tables under `join`.
    """
    from discreet.releases.checking import check

    found = check(file, header=header, keys_from=keys_from, changes=changes_in(set_, source))
    said = found.to_dict()
    lines = [
        say("cli.check.fits", file=file, spent=amount_text(said["spent"], "up")),
        say(f"cli.check.{found.basis}", columns=", ".join(found.columns)),
        *_warned(said),
        *said["notes"],
        *_cost_lines(said),
    ]
    emit(said, lines, as_json)


@described("release")
def release(
    file: Path,
    dry_run: bool = False,
    yes: bool = False,
    plan: str | None = None,
    next_slot: Annotated[bool, typer.Option("--next")] = False,
    key: str | None = None,
    retry: bool = False,
    as_opendp: Path | None = None,
    keys_from: Path | None = None,
    source: str | None = None,
    set_: SetKeys = None,
    size: int | None = None,
    png: Path | None = None,
    who: str | None = None,
    as_json: Json = False,
) -> None:
    """Make the release that FILE describes: charge it, draw it once, store it."""
    from discreet.releases import Preview, Repeat, release

    if plan is not None and not next_slot:
        raise InputError("cli.plan_without_next")
    draw = charted(png, "error_chart")
    for flag, value in (("png", png), ("size", size)):
        if value is not None and not dry_run:
            raise InputError(f"cli.{flag}_without_dry_run")
    read: dict[str, Any] = {"keys_from": keys_from, "changes": changes_in(set_, source)}
    if as_opendp is not None:
        if next_slot or key is not None or retry:
            raise InputError("cli.script_of_plan")
        _write_script(file, as_opendp, read, as_json)
        return
    run: dict[str, Any] = {"plan_id": plan, "next_slot": next_slot, "key": key, "retry": retry}
    asks = not yes and at_terminal()
    made = release(
        file,
        dry_run=dry_run,
        confirm=yes or asks,  # what is asked before the charge names earlier runs, too
        say=_tell,
        progress=progress if sys.stderr.isatty() else None,
        before_charge=_asked if asks else _unasked,
        who=who,
        **read,
        **run,
    )
    if isinstance(made, Preview):
        made = made.in_groups_of(size)
    said = made.to_dict()
    if isinstance(made, Preview):
        if png is not None:
            draw(made)
            said["files"] = [str(png.resolve())]
        _looked(made, said, said["files"], as_json)
    elif isinstance(made, Repeat):
        emit(said, _repeat_lines(said), as_json)
    else:
        emit(said, _release_lines(said, made.figures), as_json)


def _write_script(file: Path, path: Path, read: dict[str, Any], as_json: bool) -> None:
    from discreet.releases.script import opendp_script, write_script

    write_script(opendp_script(file, **read), path)
    where = str(path.resolve())
    lines = [say("cli.release.script", file=where)]
    emit({"release_id": None, "dry_run": True, "files": [where]}, lines, as_json)


def at_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked(look: Preview) -> None:
    """Show what is about to be charged, and stop unless the person says to go on."""
    lines = [*_preview_lines(look.to_dict()), say("cli.go_on", notice="")]
    if not typer.confirm("\n".join(lines).rstrip(), default=False, err=True):
        raise typer.Abort


def _unasked(look: Preview) -> None:
    """Say on standard error what a person should have seen who is not asked."""
    for sentence in look.unasked:
        _tell(sentence)


def _tell(sentence: str) -> None:
    """Print a line on standard error, over the one that shows progress on a terminal."""
    progress.over(f"{sentence}\n")


def _left(said: dict[str, Any] | None) -> str:
    """Return what is left, rounded down."""
    if said is None:
        return say("cli.release.not_open")
    return say("cli.release.no_cap") if said.get("unbounded") else amount_text(said, "down")


def _call_lines(said: dict[str, Any]) -> list[str]:
    figures = figures_spent(said)
    rows = [call | {"price": _price(call, figures)} for call in said["calls"]]
    sizes = [f"{{{name}:.6g}}" for name in ("l1", "l2", "scale")]
    cells = ["{statistic}", "{part}", "{mechanism}", *sizes, "{price}"]
    from discreet.releases.pricing import SELECTIONS

    lines = grid(rows, cells, ["statistic", "part", "mechanism", "L1", "L2", "scale", "price"])
    chosen = any(call["mechanism"] in SELECTIONS for call in said["calls"])
    return [*lines, *([f"  {say('cli.release.choices')}"] if chosen else [])]


def _price(call: dict[str, Any], figures: int) -> str:
    paid = ("epsilon", "delta") if call["rho"] is None else ("rho", "delta")
    return amount_text({name: call.get(name) for name in paid}, "up", figures)


def _cost_lines(said: dict[str, Any], pay: str = "pay") -> list[str]:
    return [
        *_call_lines(said),
        "Accuracy:",
        *(f"  {line}" for line in accuracy_lines(said, pay)),
        f"Mechanism: {said['mechanism']}",
    ]


def _looked(
    made: Preview, said: dict[str, Any], more: list[str], as_json: bool, pay: str = "pay"
) -> None:
    """Print a dry run, and end as the release would; `pay` is how to publish what is cut."""
    refused = made.refused
    if refused is not None:
        said["refused"]["next"] = refused.flags or refused.next
    emit(said, [*_preview_lines(said, pay), *more], as_json)
    if refused is not None:
        raise refused


def _warned(said: dict[str, Any]) -> list[str]:
    return [say("cli.warning", text=text) for text in said["warnings"]]


def _preview_lines(said: dict[str, Any], pay: str = "pay") -> list[str]:
    left = _left(said["remaining"])
    if said["remaining"] is not None and not said["remaining"].get("unbounded"):
        _, left = side_by_side(said["spent"], said["remaining"])
    refused = None if said["refused"] is None else said["refused"]["message"]
    first = "would_spend" if said["paid"] is None else "paid"
    # What cannot be spent buys no noise; what would fit is in the message of the exit code.
    over = refused is not None and said["refused"]["exit_code"] == BudgetExceeded.exit_code
    return [
        *_warned(said),
        say(f"cli.release.{first}", spent=spends_text(said), left=left, paid=said["paid"]),
        *([say("cli.release.over")] if over else _cost_lines(said, pay)),
        # Why it would be refused is the message of the exit code, on standard error.
        *(
            note
            for note in said["notes"]
            if note != said["paid"] and (refused is None or refused not in note)
        ),
    ]


def _release_lines(said: dict[str, Any], figures: int) -> list[str]:
    spent, left = amount_text(said["spent"], "up", figures), _left(said["remaining"])
    return [
        say("cli.release.made", release_id=said["release_id"]),
        say("cli.release.spent", spent=spent, left=left)
        if said["series"] is None
        else say("cli.release.slot", spent=spent, left=left, **said["series"]),
        *(f"  {line}" for line in accuracy_lines(said)),
        say("cli.release.head", head=said["head"]),
        *(f"  {path}" for path in said["files"]),
    ]


def _repeat_lines(said: dict[str, Any]) -> list[str]:
    return [
        say(f"cli.release.repeated{'' if said['slot'] is None else '_slot'}", **said),
        say("cli.release.nothing_spent", left=_left(said["remaining"])),
        *(f"  {path}" for path in said["files"]),
    ]


# -- what limits and bounds cost beside the noise, on a twin of the data


@described("rehearse")
def rehearse(
    file: Path,
    twin: Annotated[Path, typer.Option("--twin")],
    limit: list[int] | None = None,
    repeats: int = 10,
    keys_from: Path | None = None,
    set_: SetKeys = None,
    png: Path | None = None,
    as_json: Json = False,
) -> None:
    """Try the spec on a public or invented twin of the data, with different limits of rows."""
    from discreet.releases.checking import rehearse

    draw = charted(png, "rehearsal_chart")
    how: dict[str, Any] = {"limits": limit, "repeats": repeats, "keys_from": keys_from}
    how["progress"] = progress if sys.stderr.isatty() else None
    found = rehearse(file, twin, **how, changes=changes_in(set_))
    progress.over("")
    draw(found)
    shown = []
    for row in found.rows:
        least = "drawn" if row["drawn"] else "least"
        mark = say(f"cli.rehearse.{least}", repeats=repeats)
        best = found.best.get(row["statistic"]) == row["limit"]
        own = {"counted": row["counted"] or "", "least": mark if best else ""}
        shown.append({**row, **own})
    sizes = ("{bias:.4g}", "{noise:.4g}", "{error:.4g}", "{least}")
    cells = ("{limit}", "{counted}", "{statistic}", *sizes)
    header = ["rows", say("cli.rehearse.counted"), "statistic", "bias", "noise", "error", ""]
    how_much = "noise" if found.releases is None else "noise_of_series"
    spent = amount_text(found.spent, "up")
    lines = [say(f"cli.rehearse.{how_much}", spent=spent, releases=found.releases)]
    lines += grid(shown, cells, header)
    lines.append(say("cli.rehearse.sizes"))
    for name in ("missing", "empty"):
        if named := getattr(found, name):
            names = ", ".join(map(repr, named))
            text = say(f"cli.rehearse.{name}", names=names, number=len(named))
            lines.append(say("cli.warning", text=text))
    for first, others in found.alike.items():
        alike = ", ".join(map(str, others))
        lines.append(say("cli.rehearse.alike", first=first, others=alike))
    listed = ", ".join(map(str, found.choices))
    says: dict[str, Any] = {"now": found.limit, "own": found.groups, "choices": listed}
    how_good = "chooses" if listed else "has" if found.least == found.recommended else "even"
    about = say(f"cli.rehearse.spec_{how_good}", **says)
    if found.best:
        lines.append(say("cli.rehearse.recommended", limit=found.least, spec=about))
        if found.try_next:
            lines.append(say("cli.rehearse.try_next", largest=found.least, next=found.try_next))
    if found.even:
        lines.append(say("cli.rehearse.even", limits=", ".join(map(str, found.even))))
    if found.by_groups and found.best:
        lines += ["", say("cli.rehearse.by_groups")]
        columns = ("{groups}", "{limit}", "{statistic}", *sizes[:3])
        lines += grid(found.by_groups, columns, ["groups", "rows", "statistic", *header[3:6]])
        together = found.least_together
        same = together == found.recommended_together
        how_good = "choose" if listed else "has" if same else "even"
        told = {"groups": together["groups"], "limit": together["rows"]}
        about = say(f"cli.rehearse.groups_{how_good}", **says)
        lines.append(say("cli.rehearse.together", **told, spec=about))
        if found.even_together:
            pairs = "; ".join(say("cli.rehearse.pair", **pair) for pair in found.even_together)
            lines.append(say("cli.rehearse.even_together", limits=pairs))
    lines += [say("cli.rehearse.weighed")] if len(found.best) > 1 else []
    emit(found.to_dict(), lines, as_json)


# -- every column with its public type and bounds, in one release


@described("summarize")
def summarize(
    source: str,
    promise: PromiseFlags,
    columns: Annotated[Path, typer.Option("--columns")],
    at: OnAccount,
    numbers: Amounts,
    written: Written,
    unit_column: list[str] | None = None,
    rows: int | None = None,
    cut: Annotated[float | None, typer.Option(metavar="WEIGHT")] = None,
    releases: Annotated[int | None, typer.Option(metavar="K")] = None,
    output: Path = Path("out"),
    write: Path | None = None,
    yes: bool = False,
    dry_run: bool = False,
    who: str | None = None,
    as_json: Json = False,
) -> None:
    """Release counts, missing values, quantiles and public keys of every column, in one charge."""
    from discreet.reading import text_of, yaml_values
    from discreet.releases.summary import Summary, summarize

    known = yaml_values(text_of(columns, "the columns"), f"the columns {columns}")
    if not (isinstance(known, dict) and known):
        raise InputError("cli.summarize.no_columns", file=columns)
    keys = promise.all_keys
    whom = {"unit": keys.pop("unit", "person"), "adjacency": keys.pop("adjacency", "add-remove")}
    own = {"name": keys.pop("unit_name", None), "column": unit_column, "rows": rows}
    budget = {key: value for key, value in numbers.given.items() if value is not None}
    allowed: dict[str, Any] = {"budget": budget} if budget else {}
    if write is None and not dry_run:
        write = Path("summary.yaml")
    if promise.says_what:
        allowed = {"tolerance": keys | {k: v for k, v in budget.items() if k == "delta"}}
    if cut is not None:
        allowed["cut"] = {"weight": cut}
    if releases is not None:
        allowed["series"] = {"releases": releases}
    made = summarize(
        {"path": source} | written.said if written.said else source,
        known,
        protect=whom | {key: value for key, value in own.items() if value is not None},
        **at.given,
        output=output,
        write=write,
        dry_run=dry_run,
        confirm=yes,
        say=_tell,
        before_charge=_unasked,
        who=who,
        **allowed,
    )
    said = made.to_dict() | {"spec": None if write is None else str(write.resolve())}
    if not isinstance(made, Summary):
        wrote = [] if write is None else [say("cli.init.wrote", file=write)]
        _looked(made, said, wrote, as_json, "pay_by_flag")
        return
    cells = [
        [str(one["column"] or "-"), row["what"], _label(one, row), *_numbers(row)]
        for one in made.columns
        for row in one["rows"]
    ]
    lines = table(cells, ["column", "what", "", "value", "from", "to"])
    spent = amount_text(said["spent"], "up")
    if rows is not None:
        lines.append(say("cli.summarize.limited", rows=rows))
    lines += map(cut_line, said["cut"] or ())
    lines += [say("cli.warning", text=text) for text in made.unclear]
    lines.append(say("cli.summarize.made", release_id=said["release_id"], spec=write, spent=spent))
    emit(said, lines, as_json)


def _label(column: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return the share or the key of a number; beside keys, what is missing has other texts too."""
    if row["what"] == "missing" and any(one["what"] == "keys" for one in column["rows"]):
        return say("cli.summarize.or_unlisted")
    return str(row["label"] or "")


def _numbers(row: dict[str, Any]) -> list[str]:
    ends = (row["value"], row["interval_low"], row["interval_high"])
    return ["" if number is None else f"{number:.10g}" for number in ends]
