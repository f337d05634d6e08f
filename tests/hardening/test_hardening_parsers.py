"""Whatever is written in a file: it is read, or refused in one sentence of ours, and soon.

Every parser is given text of all kinds, valid files with one part changed to anything at all, and
files made to cost time or memory. Nothing but a DiscreetError may come out.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import reading, synthetic
from discreet.errors import DiscreetError, InputError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.promises import promise_in
from discreet.promises.keys import load_yaml, read_text
from discreet.releases import load, planning, release
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.spec import keys_from_file
from discreet.reports import stored
from discreet.synthetic import spec as synthetic_spec
from discreet.synthetic.files import read_description
from soaking import examples

stable = settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers(-(10**40), 10**40)
    | st.text(max_size=8)
    | st.sampled_from([0, 1, -1, 1e308, 5e-324, "", "a/../b", "\0", "person", "county", "auto"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from(["count", "sum", "by", "keys", "delta"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@contextmanager
def only_ours(seconds: float = 10.0) -> Iterator[None]:
    """Let through success and our own errors, if they come in time and on one line."""
    start = time.process_time()
    try:
        yield
    except DiscreetError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 3_000
    assert time.process_time() - start < seconds


# -- YAML made to cost time or memory, or to be something else

HOSTILE = {
    "nine levels of ten": "\n".join(
        [f"a0: &a0 [{', '.join('x' * 10)}]"]
        + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    ),
    "a list in itself": "a: &a [*a]",
    "a mapping in itself": "&a {b: *a}",
    "five hundred thousand brackets": "a: " + "[" * 500_000,
    "closed brackets": "a: " + "[" * 250_000 + "]" * 250_000,
    "nine hundred brackets": "a: " + "{x: [" * 450,
    "ten thousand dashes": "- " * 10_000,
    "five thousand levels": "\n".join(" " * i + f"a{i}:" for i in range(1_000)),
    "a date that is none": "a: 2026-02-30",
    "a time that is none": "a: 2026-01-01 25:61:61",
    "five thousand digits": "a: " + "9" * 5_000,
    "a base that is none": "a: 0b",
    "a key twice": "a: 1\na: 2",
    "a list as a key": "? [1]\n: 2",
    "code": "a: !!python/object/apply:os.system ['true']",
    "bytes": "a: !!binary aGk=",
    "a set": "a: !!set {b}",
    "a false int": "a: !!int x",
    "a false bool": "a: !!bool x",
    "a false time": "a: !!timestamp x",
    "a merge of itself": "a: &a {<<: *a}",
    "a merge of text": "a: {<<: b}",
    "two documents": "a: 1\n---\nb: 2",
    "an equals sign": "a: =",
    "control characters": "a: \x01",
    "too long": "a: '" + "x" * (reading.LARGEST + 10) + "'",
    "many keys": "\n".join(f"k{i}: 1" for i in range(10_000)),
    "nothing": "",
    "a tab": "\ta: 1",
    "a surrogate": 'a: "\\ud800"',
}


def _spec_file(path: Path) -> None:
    load(path)


def _synthetic_file(path: Path) -> None:
    synthetic_spec.load(path)


def _promise_file(path: Path) -> None:
    promise_in(load_yaml(read_text(path)), path.parent)


def _parts_file(path: Path) -> None:
    from discreet.cli.compose import _listed, _part

    for words in _listed(path):
        _part(words, "add-remove")


READERS = [_spec_file, _synthetic_file, _promise_file, _parts_file]


def _hostile() -> list[Any]:
    """Every kind to the reader of specs and to one more: all read YAML by the same function."""
    return [
        pytest.param(kind, reader, marks=() if place in (0, 1 + turn % 3) else pytest.mark.soak)
        for turn, kind in enumerate(HOSTILE)
        for place, reader in enumerate(READERS)
    ]


@pytest.mark.parametrize(("kind", "reader"), _hostile())
def test_hostile_yaml_is_refused_soon(
    kind: str, reader: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "hostile.yaml"
    path.write_text(HOSTILE[kind], encoding="utf-8")
    start = time.process_time()
    with pytest.raises(InputError) as caught:
        reader(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 3_000
    assert time.process_time() - start < 10


def test_aliases_that_share_a_list_are_fine() -> None:
    said = reading.yaml_values("a: &keys [x, y]\nb: *keys\nc: {<<: {d: 1}, e: 2}", "it")
    assert said == {"a": ["x", "y"], "b": ["x", "y"], "c": {"d": 1, "e": 2}}


@pytest.mark.parametrize("reader", READERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00" * 50, b"a: \xe9"], ids=repr)
def test_what_is_no_text_is_refused(
    content: bytes, reader: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError):
        reader(path)


def test_a_folder_and_nothing_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.yaml"):
        with pytest.raises(SpecError, match="cannot be read"):
            load(path)


@stable
@given(st.text(alphabet="abc:-[]{}&*!|>'\"#?,.0123456789 \n\t%@`~=<", max_size=60))
def test_any_yaml_text_is_read_or_refused(text: str) -> None:
    with only_ours():
        reading.yaml_values(text, "it")
    with only_ours():
        reading.json_values(text, "it")


JSONS = ["[" * 200_000, '{"a":' * 200_000, "9" * 6_000, "NaN", "-Infinity", "", "nul", '"\\ud800"']


@pytest.mark.parametrize("text", JSONS, ids=range(len(JSONS)))
def test_hostile_json(text: str) -> None:
    with only_ours():
        reading.json_values(text, "it")


# -- specs with anything anywhere

KEYS = {"county": ["north", "south"]}
SPEC: dict[str, Any] = {
    "account": "people",
    "purpose": "test",
    "protect": {"unit": "person", "column": "person", "rows": 3, "groups": 2},
    "tolerance": {"posterior": 0.25, "unless_ratio": 3, "q": 1},
    "statistics": [
        {"count": "rows", "by": ["county"], "keys": KEYS, "weight": 2},
        {"sum": "cost", "bounds": [0, 20], "resolution": 0.5, "within": {"error": 500}},
        {"mean": "cost", "bounds": [0, 20], "resolution": 0.5},
        {"variance": "cost", "bounds": [0, 20], "resolution": 0.5},
        {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 1},
        {"histogram": "cost", "edges": [0, 5, 10]},
        {"best": "price", "score": "revenue", "of": "cost", "cap": 20}
        | {"candidates": {"from": 1, "to": 20, "step": 0.5}},
        {"randomized": "county", "answers": ["north", "south"], "keep": 0.75},
    ],
    "mechanism": "auto",
    "nulls": "drop",
    "interval": 0.95,
    "ledger": "sqlite:///ledger.db",
    "output": "out",
    "about": {"name": "n", "curators": ["c"]},
}
COLUMNS: dict[str, Any] = {"person": "text", "county": "text", "cost": "number"}


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*place, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _places(inner, (*place, position))


def _changed(value: Any, place: tuple[Any, ...], to: Any) -> Any:
    if not place:
        return to
    found = copy.deepcopy(value)
    where = found
    for step in place[:-1]:
        where = where[step]
    where[place[-1]] = to
    return found


def _fuzzed(valid: Any) -> st.SearchStrategy[Any]:
    places = st.sampled_from([place for place in _places(valid) if place])
    return st.lists(st.tuples(places, junk), min_size=1, max_size=2).map(
        lambda changes: _all(valid, changes)
    )


def _all(valid: Any, changes: list[tuple[tuple[Any, ...], Any]]) -> Any:
    for place, to in changes:
        try:
            valid = _changed(valid, place, to)
        except (KeyError, IndexError, TypeError):
            continue  # the first change took the second one's place away
    return valid


@settings(stable, max_examples=examples(400))
@given(_fuzzed(SPEC))
def test_any_change_of_a_spec_is_planned_or_refused(changed: dict[str, Any]) -> None:
    """Read, compiled, priced, its accuracy computed: nothing but our own errors."""
    with only_ours():
        spec = load(changed, folder="/nowhere")
        plan = planning.plan_of(spec, COLUMNS)
        json.dumps(plan.to_dict(), allow_nan=False)


BUDGETED = {k: v for k, v in SPEC.items() if k != "tolerance"} | {
    "budget": {"epsilon": 1.0, "delta": 1e-6},
    "mechanism": "gaussian",
    "statistics": [*SPEC["statistics"][:4]],
}


@settings(stable, max_examples=examples(200))
@given(_fuzzed(BUDGETED))
def test_any_change_of_a_budget_is_planned_or_refused(changed: dict[str, Any]) -> None:
    with only_ours():
        plan = planning.plan_of(load(changed, folder="/nowhere"), COLUMNS)
        json.dumps(plan.to_dict(), allow_nan=False)


ASKED: dict[str, Any] = {
    "account": "people",
    "purpose": "test",
    "source": {"path": "d.csv", "delimiter": ";", "types": {"cost": "number"}, "nulls": ["-"]},
    "protect": {"unit": "person", "column": "person", "rows": 3},
    "budget": {"epsilon": 1.0},
    "where": "cost > 2 and county in ('north', 'south')",
    "let": {"band": "bin(cost, [0, 5, 20])", "twice": "cost * 2"},
    "sample": {"rate": 0.5},
    "cut": {"weight": 0.05},
    "labels": {"people": "People", "north": "The north"},
    "statistics": [
        {"count": "rows", "margins": {"of": ["county"], "up_to": 1}, "keys": KEYS, "name": "rows"},
        {"count": "units", "by": ["band"], "name": "people", "where": "cost is not null"},
        {"count": "units", "name": "whole"},
        {"share": {"of": {"count": "units", "where": "cost > 3"}, "among": "whole"}},
        {"rate": {"events": "rows", "per": 1000, "times": 2}},
        {"quantiles": {"of": "cost", "at": [0.5, 0.9], "bounds": [0, 20], "resolution": 1}},
        {"median": "twice", "bounds": [0, 40], "resolution": 1},
        {"count": "rows", "weight_by": "cost", "bounds": [0, 5], "name": "weighed"},
    ],
    "ledger": "sqlite:///ledger.db",
    "output": "out",
}
FEATURES: dict[str, Any] = ASKED | {
    "protect": {"unit": "person", "column": "person"},
    "where": "cost >= 0",
    "per_unit": {"visits": "count", "spent": {"sum": "cost", "bounds": [0, 9]}}
    | {"ill": {"any": "county = 'north'"}, "most": {"max": "cost"}},
    "let": {"often": "bin(visits, [1, 2, 5])"},
    "statistics": [
        {"count": "units", "by": ["often"], "name": "people"},
        {"sum": "spent", "bounds": [0, 9], "resolution": 1, "where": "ill and most > 2"},
    ],
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which both questions can be asked."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "d.csv").write_text("person;county;cost\na;north;3\nb;south;4\n")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    said = {"approver": "a", "reason": "b"}
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    ledger.open_account("people", cap=PureDP(2.0), **terms, **said)  # type: ignore[arg-type]
    for question in (ASKED, FEATURES):
        release(question, folder=folder, dry_run=True)
    return folder


@settings(stable, max_examples=examples(80))
@given(_fuzzed(ASKED) | _fuzzed(FEATURES))
def test_any_change_of_a_question_is_planned_or_refused(
    asked: Path, changed: dict[str, Any]
) -> None:
    """Formulas, features, samples, margins, labels, options of the source: by a whole dry run."""
    with only_ours(20):
        told = release(changed, folder=asked, dry_run=True)
        json.dumps(told.to_dict(), allow_nan=False)


SYNTHETIC: dict[str, Any] = {
    "account": "people",
    "purpose": "test",
    "source": "d.csv",
    "protect": {"unit": "person", "column": "person", "rows": 1},
    "budget": {"epsilon": 2.0},
    "columns": ["sex", "county"],
    "keys": {"sex": ["f", "m"], "county": ["north", "south"]},
    "impossible": [{"sex": "m", "county": "north"}],
    "n_synthetic": 10,
    "copies": 2,
    "ledger": "sqlite:///ledger.db",
    "output": "out",
}


@stable
@given(_fuzzed(SYNTHETIC))
def test_any_change_of_a_synthetic_spec_is_read_or_refused(changed: dict[str, Any]) -> None:
    with only_ours():
        synthetic_spec.load(changed, folder="/nowhere").cells()


# -- CSV: the header of a source, a file of keys


@stable
@given(st.binary(max_size=60) | st.text(alphabet="ab,\"'\n\r\t;{}: é", max_size=60).map(str.encode))
def test_any_csv_is_opened_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with only_ours():
        engine = DuckDB.open("data.csv", lambda _: path)
        try:
            assert all(isinstance(name, str) for name in engine.columns)
        finally:
            engine.close()
    with only_ours():
        keys_from_file(path, "a")


def test_a_very_long_header_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(",".join(f"c{i}" for i in range(2_000)) + "\n")
    with only_ours(30):
        DuckDB.open("data.csv", lambda _: path).close()
    path.write_text("x" * 1_000_000 + "\n")
    with only_ours():
        DuckDB.open("data.csv", lambda _: path).close()


# -- the ledger's rows


def _opened(folder: Path) -> Path:
    path = folder / "ledger.db"
    ledger = Ledger.open(f"sqlite:///{path}")
    ledger.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(10.0),
        approver="tester",
        reason="test",
    )
    ledger.reserve("people", PureDP(1.0), purpose="one", who="me", spec_hash="0" * 64)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    _opened(folder)
    table = pa.table({"person": ["a", "b"], "county": ["north", "south"], "cost": [1.0, 2.0]})
    spec = SPEC | {
        "tolerance": None,
        "budget": {"epsilon": 1.0},
        "statistics": SPEC["statistics"][:1],
    }
    del spec["tolerance"]
    done = release(spec, data=table, folder=folder)
    (folder / "id").write_text(str(done.to_dict()["release_id"]))
    return folder


def _used(path: Path) -> None:
    """Everything that reads the ledger; each alone may refuse."""
    ledger = Ledger.open(f"sqlite:///{path}")
    for use in (
        lambda: ledger.verify().to_dict(),
        lambda: ledger.show("people").to_dict(),
        lambda: ledger.account("people"),
        lambda: list(ledger.entries()),
        lambda: ledger.unfinished("people"),
        lambda: ledger.reserve("people", PureDP(1.0), purpose="two", who="me", spec_hash="0" * 64),
    ):
        with only_ours():
            use()


@settings(stable, max_examples=examples(40))
@given(data=st.data())
def test_any_row_of_a_ledger_is_read_or_refused(made: Path, data: st.DataObject) -> None:
    """The text of an entry changed, with a hash that fits: signed nonsense."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(made / "ledger.db", folder))
        with sqlite3.connect(path) as base:
            for (name,) in base.execute("select name from sqlite_master where type='trigger'"):
                base.execute(f"drop trigger {name}")
            bodies = [
                json.loads(row[0])
                for row in base.execute("select body from discreet_entries order by seq")
            ]
            place = data.draw(st.integers(0, len(bodies) - 1))
            body = json.dumps(data.draw(_fuzzed(bodies[place]) | junk), allow_nan=True)
            digest = hashlib.sha256(body.encode()).hexdigest()
            base.execute(
                "update discreet_entries set body = ?, hash = ? where seq = ?",
                (body, digest, place + 1),
            )
        base.close()
        _used(path)


# -- stored releases and descriptions


@settings(stable, max_examples=examples(60))
@given(data=st.data())
def test_any_stored_release_is_found_or_refused(made: Path, data: st.DataObject) -> None:
    name = (made / "id").read_text()
    path = made / "out" / name / "release.json"
    whole = path.read_text()
    try:
        changed = data.draw(_fuzzed(json.loads(whole)) | junk)
        path.write_text(json.dumps(changed))
        for how in ({"output": made / "out"}, {"ledger": f"sqlite:///{made / 'ledger.db'}"}):
            with only_ours():
                stored.find(name, **how)  # type: ignore[arg-type]
    finally:
        path.write_text(whole)


@stable
@given(junk | st.dictionaries(st.sampled_from(["synthesizer", "columns", "kind"]), junk))
def test_any_description_is_read_or_refused(tmp_path: Path, said: Any) -> None:
    (tmp_path / "release.json").write_text(json.dumps(said))
    with only_ours():
        found = read_description(tmp_path)
        synthetic.Synthesizer.from_dict(found["synthesizer"])


@settings(stable, max_examples=examples(150))
@given(st.text(max_size=40) | st.text(alphabet="R<=>.0123456789 ifand()*+-/p", max_size=40))
def test_any_region_is_read_or_refused(text: str) -> None:
    with only_ours():
        synthetic.Region.parse(text)
