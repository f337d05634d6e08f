"""Every single edit of a report folder, by someone careless and by someone who knows the format.

An edit deletes or alters one leaf of a JSON file, one entry of the chain, or the bytes of one file,
or adds, removes or swaps files. It is tried

- `alone`: nothing else is touched;
- `manifest`: the manifest is written anew, so that it names the edited files;
- `chain`: of an entry, the whole chain after it is written anew as well, with all that names it.

`python tests/reports/mutations.py` makes and tries them all, on every story (`make soak`).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from forging import edited, rechained, rewritten

from discreet import __version__
from discreet.reports import verifier

# What the folder alone does not show, once the manifest was written anew to fit. All of it is text
# that explains a fact checked elsewhere, or how the page looks; the ledger holds the hash of the
# true manifest, so with the ledger every one is found. The same list stands in docs/report.md.
TEXTS = {
    "statement.json": re.compile(
        r"identity\.product|guarantee\.variant|unit\.(neighbours|subject)|data_domain"
        r"|bases\..*|invariants|model\..*|composition\.(rule|within)|processing\..*"
        r"|floating_point|biases\..*|not_covered\..*|texts\..*"
        r"|risk\.(method|strength|assumptions\..*)|promises\.\d+\.binding\..*"
    ),
}
# Of what people read, these numbers are in names and explanations: hashes, dates, names, versions,
# theorems, thresholds, and numbers of rows.
NO_FIGURES = re.compile(
    r"<style.*?</style>|<svg.*?</svg>|<[^>]*>|\w*[a-z_]\d\w*|\w*\d[a-z]\w*|[0-9a-f]{64}|SHA-256"
    r"|\d{4}-\d\d-\d\d(T[\d:+]+)?|(Discreet|discreet|opendp|Theorem) [\d.]+"
    r"|threshold of [\d,]+|(?<=<th scope=\"row\">)\d+(?=</th>)",
    re.DOTALL,
)
ACCOUNT = "account"  # the report of one, among those of releases
PROSE = ("participant.html", "report.html", "statement.md", "registry.yaml", "verify.py")


@dataclass(frozen=True)
class Edit:
    """One edit: what it is, where, and what does it."""

    what: str
    file: str
    place: str
    make: Callable[[Path], Any]
    entry: bool = False
    figure: bool = False

    def in_text(self) -> bool:
        """Whether it is in what the folder alone does not bind to a fact."""
        if self.figure:
            return False
        listed = TEXTS.get(self.file)
        return self.file in PROSE or (listed is not None and bool(listed.fullmatch(self.place)))


def leaves(said: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the leaves of a JSON value are; an empty list or object is one too."""
    inside = said.items() if isinstance(said, dict) else enumerate(said) if _many(said) else ()
    found = False
    for key, value in inside:
        found = True
        yield from leaves(value, (*at, key))
    if not found:
        yield at


def _many(said: Any) -> bool:
    return isinstance(said, list)


def altered(value: Any) -> list[Any]:
    """Values that a leaf may be changed to."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1 if value else 7]
        case float():
            return [value * 0.5 if value else 0.1, value * 1.5 + 0.25, 0.0 if value else 0.5]
        case str():
            return [value + "x", value[1:]] if value else ["x"]
        case None:
            return [0, "x", {}]
    return [None, ["x"]] if _many(value) else [None, {"x": 1}]


def put(at: tuple[Any, ...], value: Any, said: Any) -> None:
    """Change one place of a JSON value."""
    for step in at[:-1]:
        said = said[step]
    said[at[-1]] = value


def dropped(at: tuple[Any, ...], said: Any) -> None:
    """Delete one place of a JSON value."""
    for step in at[:-1]:
        said = said[step]
    del said[at[-1]]


def in_json(folder: Path, name: str) -> Iterator[Edit]:
    """Delete and alter each leaf of a JSON file, and each of its parts as a whole."""
    said = json.loads((folder / name).read_text(encoding="utf-8"))
    places = list(dict.fromkeys(at[:n] for at in leaves(said) for n in range(1, len(at) + 1)))
    for at in places:
        value = _at(said, at)
        place = ".".join(map(str, at))
        yield Edit("delete", name, place, _json(name, partial(dropped, at)))
        for new in altered(value) if not isinstance(value, (dict, list)) or not value else [None]:
            yield Edit(f"alter to {new!r:.20}", name, place, _json(name, partial(put, at, new)))
        if isinstance(value, list) and len(value) > 1 and value[0] != value[1]:
            swapped = [value[1], value[0], *value[2:]]
            yield Edit("swap", name, f"{place}.0", _json(name, partial(put, at, swapped)))
        if isinstance(value, list) and value:
            more = [*value, value[-1]]
            yield Edit("repeat", name, f"{place}.0", _json(name, partial(put, at, more)))


def _json(name: str, change: Callable[[Any], Any]) -> Callable[[Path], Any]:
    return lambda folder: edited(folder / name, change)


def in_entries(folder: Path) -> Iterator[Edit]:
    """Delete and alter each leaf of each entry's body, its hash written anew."""
    said = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
    for row in said["chain"]:
        if row["body"] is None:
            continue
        body = json.loads(row["body"])
        for at in leaves(body):
            if at in (("seq",), ("previous",), ("account_previous",)):
                continue
            value = _at(body, at)
            place = ".".join(map(str, (row["seq"], *at)))
            for new in altered(value)[:1]:
                change = _in_entry(row["seq"], partial(put, at, new))
                yield Edit("entry", "evidence.json", place, change, entry=True)
            change = _in_entry(row["seq"], partial(dropped, at))
            yield Edit("entry less", "evidence.json", place, change, entry=True)


def _in_entry(seq: int, change: Callable[[Any], Any]) -> Callable[[Path], Any]:
    def entry(body: Any) -> None:
        if body["seq"] == seq:
            change(body)

    return lambda folder: rechained(folder, entry)


def in_files(folder: Path) -> Iterator[Edit]:
    """Change the bytes of each file; remove it; add others, links and folders; swap two."""
    names = [name for name, _ in verifier.listed(folder)]
    for name in names:
        data = (folder / name).read_bytes()
        middle = len(data) // 2
        changes = {
            "append": data + b"\n",
            "cut": data[:-1],
            "empty": b"",
            "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "prepend": b" " + data,
        }
        for what, new in changes.items():
            yield Edit(what, name, _place(data, new), partial(_write, name, new))
        yield Edit("remove", name, "removed", partial(_remove, name))
        yield Edit("link", name, "link", partial(_linked, name))
    for name in ("extra.txt", "released/extra.txt", "more.html", "é.md", "folder/inside.txt"):
        yield Edit("add", name, "", partial(_write, name, b"more"))
    for one, two in pairwise(names):
        yield Edit("swap", f"{one} and {two}", "", partial(_swapped, one, two))


def in_figures(folder: Path) -> Iterator[Edit]:
    """Change each figure that people read on the page and in the Markdown."""
    for name in ("report.html", "statement.md"):
        text = (folder / name).read_text(encoding="utf-8")
        skipped = {at for found in NO_FIGURES.finditer(text) for at in range(*found.span())}
        for found in re.finditer(r"\d+(?:[.,]\d+)*", text):
            if found.start() not in skipped:
                digit = str((int(text[found.start()]) + 1) % 10)
                new = text[: found.start()] + digit + text[found.start() + 1 :]
                place = " ".join(text[max(0, found.start() - 40) : found.end() + 20].split())
                yield Edit("figure", name, place, partial(_write, name, new.encode()), figure=True)


def _place(before: bytes, after: bytes) -> str:
    """Which leaf of a JSON file differs, if one alone does: a byte may lie within a text."""
    try:
        one, two = json.loads(before), json.loads(after)
    except ValueError:
        return ""
    places = list(leaves(one))
    differ = (
        [at for at in places if _at(one, at) != _at(two, at)] if places == [*leaves(two)] else []
    )
    return ".".join(map(str, differ[0])) if len(differ) == 1 else ""


def _at(said: Any, at: tuple[Any, ...]) -> Any:
    for step in at:
        said = said[step]
    return said


def _write(name: str, data: bytes, folder: Path) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


def _remove(name: str, folder: Path) -> None:
    (folder / name).unlink()


def _linked(name: str, folder: Path) -> None:
    beside = folder / f"{Path(name).parent}/.kept"
    (folder / name).rename(beside)
    (folder / name).symlink_to(beside.name)


def _swapped(one: str, two: str, folder: Path) -> None:
    first, second = (folder / one).read_bytes(), (folder / two).read_bytes()
    (folder / one).write_bytes(second)
    (folder / two).write_bytes(first)


def edits(folder: Path) -> list[Edit]:
    """Every edit of a report folder."""
    found = [*in_files(folder), *in_entries(folder), *in_figures(folder)]
    for name in ("statement.json", "evidence.json", "manifest.json", "released/release.json"):
        found += in_json(folder, name) if (folder / name).exists() else ()
    return found


@dataclass
class Tried:
    """How many edits were tried and found; those that were not."""

    alone: int = 0
    manifest: int = 0
    chain: int = 0
    texts: int = 0
    missed: tuple[str, ...] = ()

    @property
    def edits(self) -> int:
        """All of them."""
        return self.alone + self.manifest + self.chain


def tried(folder: Path, ledger: str, chosen: list[Edit]) -> Tried:
    """Make each edit in a copy of the folder, and see whether it is found."""
    found, missed = Tried(), []
    rows = verifier.sqlite_rows(ledger)
    head = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))["head"]
    with tempfile.TemporaryDirectory() as place:
        for edit in chosen:
            for how in ("chain",) if edit.entry else ("alone", "manifest"):
                if how == "manifest" and "manifest.json" in edit.file:  # written anew anyway
                    continue
                copy = Path(place) / "report"
                shutil.copytree(folder, copy)
                edit.make(copy)
                if how != "alone":
                    rewritten(copy)
                setattr(found, how, getattr(found, how) + 1)
                kept = head if how == "chain" else None
                good = verifier.examined(copy, kept).answer()["verified"]
                if good and how == "manifest" and edit.in_text():
                    found.texts += 1
                    good = verifier.examined(copy, None, lambda: rows).answer()["verified"]
                if good:
                    missed.append(f"{how}: {edit.what} {edit.file} {edit.place}")
                shutil.rmtree(copy)
    found.missed = tuple(missed)
    return found


def recorded(rows: dict[str, Tried], every: int) -> str:
    """Return the counts as the page on quality shows them."""
    which = "each edit" if every == 1 else f"one of {every} edits"
    lines = [f"Run on {date.today().isoformat()}, version {__version__}, {which}:", ""]
    lines += ["| promise of the report | edits | found | of these only with the ledger |"]
    lines += ["|---|---:|---:|---:|"]
    counts = {
        name: (one.edits, one.edits - len(one.missed), one.texts) for name, one in rows.items()
    }
    counts["together"] = tuple(map(sum, zip(*counts.values(), strict=True)))  # type: ignore[assignment]
    lines += [f"| {name} | {e:,} | {f:,} | {t:,} |" for name, (e, f, t) in counts.items()]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Try every edit of every story."""
    from kept import STORIES, history

    from discreet.reports.folder import report

    stories = STORIES | {ACCOUNT: history}

    parser = argparse.ArgumentParser(description="Edit reports in every way; see what is found.")
    parser.add_argument("--every", type=int, default=1, help="only every n-th edit")
    parser.add_argument("--stories", nargs="*", choices=stories, default=list(stories))
    parser.add_argument("--record", action="store_true", help="write the counts to docs/quality.md")
    asked = parser.parse_args(arguments)
    rows = {}
    for name in asked.stories:
        with tempfile.TemporaryDirectory() as place:
            made = stories[name](Path(place))
            which = {"account": "people"} if name == ACCOUNT else {"release_id": made.release_id}
            folder = report(**which, ledger=made.ledger).folder
            # One belief of `both` takes seconds to recompute: there only every thirtieth edit.
            chosen = edits(folder)[:: asked.every * (30 if name == "both" else 1)]
            rows[name] = found = tried(folder, made.ledger, chosen)
        sys.stdout.write(f"{name}: {found.edits} edits, {len(found.missed)} not found\n")
        sys.stdout.writelines(f"  {one}\n" for one in found.missed)
        sys.stdout.flush()
    sys.stdout.write(recorded(rows, asked.every) + "\n")
    if asked.record:
        from benchmarks.tables import QUALITY, write_section

        write_section(QUALITY, "edits", recorded(rows, asked.every))
    return 1 if any(one.missed for one in rows.values()) else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.exit(main())
