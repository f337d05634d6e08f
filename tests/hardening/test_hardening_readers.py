"""Readers of files that others made, beyond those of `test_hardening_parsers`: anything at all.

Events and distributions of other libraries, tables of synthetic files, stored releases that an
upgrade looks through, heads that witnesses keep, report folders, uploads to the page, URLs.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from forked import clinic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import synthetic
from discreet.cli import main
from discreet.composition.events import (
    curve_of_distribution,
    curve_of_event,
    event_of,
    read_distribution,
    read_event,
)
from discreet.errors import DiscreetError
from discreet.ledger import Ledger, witness
from discreet.releases import release
from discreet.releases.engines import opened
from discreet.reports.verifier import examined
from discreet.web.workfolder import Workfolder
from soaking import examples

stable = settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
scalars = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers(-(10**40), 10**40)
    | st.text(max_size=8)
    | st.sampled_from([0, 1, -1, 0.5, 1e308, 5e-324, "", "\0", "a/../b"])
)
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
texts = st.text(max_size=60) | st.text(alphabet='[]{}",:0123456789eE+-.truefalsnN \n', max_size=60)


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


# -- events and distributions of dp-accounting

EVENTS = ["GaussianDpEvent", "LaplaceDpEvent", "SelfComposedDpEvent", "ComposedDpEvent"]
EVENTS += ["PoissonSampledDpEvent", "ZCDpEvent", "EpsilonDeltaDpEvent", "NoOpDpEvent", "DpEvent"]
FIELDS = ["noise_multiplier", "event_", "count", "events", "sampling_probability", "rho", "xi"]
FIELDS += ["epsilon", "delta", "event"]
numbers = st.floats() | st.integers(-2, 10**20) | st.sampled_from([0, 1, 0.01, 2.0, 1e15])
events = st.recursive(
    st.fixed_dictionaries(
        {"event": st.sampled_from(EVENTS) | st.text(max_size=5)},
        optional=dict.fromkeys(FIELDS[:1] + FIELDS[5:9], numbers | junk),
    ),
    lambda inner: st.fixed_dictionaries(
        {"event": st.sampled_from(EVENTS[2:5])},
        optional={
            "event_": inner,
            "count": numbers,
            "events": st.lists(inner, max_size=3),
            "sampling_probability": numbers,
        },
    ),
    max_leaves=3,
)


@stable
@given(events | junk)
def test_any_event_is_read_or_refused(said: Any) -> None:
    pytest.importorskip("dp_accounting")
    with only_ours(30):
        event_of(said)


@settings(stable, max_examples=examples(40))
@given(texts)
def test_any_file_of_an_event_is_read_or_refused(text: str) -> None:
    pytest.importorskip("dp_accounting")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "event.json"
        path.write_text(text, encoding="utf-8")
        with only_ours(30):
            read_event(path)
        with only_ours():
            read_distribution(path)


DISTRIBUTION: dict[str, Any] = {
    "pessimistic_estimate": True,
    "value_discretization_interval": 0.1,
    "rounded_probability_mass_function": {"-5": 0.4, "5": 0.6},
    "infinity_mass": 0.0,
}
masses = st.dictionaries(
    st.integers(-5, 5).map(str) | st.text(max_size=20), numbers | junk, max_size=4
)


@stable
@given(
    st.dictionaries(st.sampled_from(sorted(DISTRIBUTION)) | st.text(max_size=5), numbers | junk)
    | st.dictionaries(
        st.sampled_from(["rounded_probability_mass_function" + s for s in ("", "_add")]), masses
    )
)
def test_any_distribution_is_read_or_refused(changed: dict[str, Any]) -> None:
    with only_ours():
        curve = curve_of_distribution(DISTRIBUTION | changed)
        assert 0 <= curve.delta_at(1.0) <= 1


def test_what_the_properties_change_is_read() -> None:
    pytest.importorskip("dp_accounting")
    said = {"event": "GaussianDpEvent", "noise_multiplier": 2.0}
    assert curve_of_event(event_of(said)).delta_at(1.0) < 1
    assert curve_of_distribution(DISTRIBUTION).delta_at(1.0) < 1e-9


# -- synthetic files


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synthesized")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        clinic(folder, 40)
        made = synthetic.synthesize(
            {
                "account": "people",
                "purpose": "test",
                "source": "visits.parquet",
                "protect": {"unit": "person", "column": "person", "rows": 1},
                "budget": {"epsilon": 1.0},
                "columns": ["county"],
                "keys": {"county": ["c0", "c1"]},
                "n_synthetic": 5,
                "ledger": "sqlite:///ledger.db",
                "output": "out",
            },
            folder=folder,
        )
    return made.files[0].parent


cells = st.sampled_from(["county", "c0", "c1", ",", "\n", '"', "\r", "x", "é", "\0"])


@stable
@given(st.lists(cells, max_size=12).map("".join) | st.text(max_size=40) | st.binary(max_size=40))
def test_any_table_of_a_synthetic_file_is_read_or_refused(
    synthesized: Path, table: str | bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(synthesized, Path(folder) / "copy"))
        (place / "table.csv").write_bytes(
            table if isinstance(table, bytes) else table.encode("utf-8", "replace")
        )
        with only_ours():
            synthetic.read(place)


# -- stored releases and heads that the ledger looks at


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("released")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        made = release(clinic(folder, 40), folder=folder)
    return folder, str(made.to_dict()["release_id"])


@settings(stable, max_examples=examples(60))
@given(
    st.dictionaries(st.sampled_from(["spec", "release_id", "ledger_id", "head"]), junk)
    | st.fixed_dictionaries(
        {"spec": st.dictionaries(st.sampled_from(["tolerance", "promise"]), junk)}
    )
    | junk
)
def test_any_stored_release_is_looked_through(released: tuple[Path, str], said: Any) -> None:
    folder, name = released
    with tempfile.TemporaryDirectory() as other:
        there = Path(other)
        shutil.copy(folder / "ledger.db", there)
        (there / "out" / name).mkdir(parents=True)
        if isinstance(said, dict) and "spec" in said:
            said.setdefault("release_id", name)
        (there / "out" / name / "release.json").write_text(json.dumps(said))
        ledger = Ledger.open(f"sqlite:///{there / 'ledger.db'}")
        with only_ours():
            witness.heads_in_releases(there / "out", ledger.id)
        with only_ours():
            ledger.upgrade(there / "out")


@stable
@given(st.data())
def test_any_stored_table_is_shown_or_refused(
    released: tuple[Path, str], data: st.DataObject
) -> None:
    """`discreet table` reads a folder as it lies there, whoever wrote it."""
    folder, name = released
    said = json.loads((folder / "out" / name / "release.json").read_text(encoding="utf-8"))
    place = data.draw(st.sampled_from(["table", "labels", "plan", "spec", "interval", "unit"]))
    inside = data.draw(st.booleans())
    if inside and isinstance(said.get(place), dict) and said[place]:
        said[place][data.draw(st.sampled_from(sorted(said[place])))] = data.draw(junk)
    else:
        said[place] = data.draw(junk)
    with tempfile.TemporaryDirectory() as there:
        (Path(there) / "release.json").write_text(json.dumps(said), encoding="utf-8")
        for more in ([], ["--wide", "--csv", f"{there}/t.csv"], ["--xlsx", f"{there}/t.xlsx"]):
            with pytest.raises(SystemExit) as ended:
                main(["table", there, "--json", *more])
            assert ended.value.code in (0, None, 2)


@stable
@given(texts | junk.map(json.dumps))
def test_any_witness_is_read_or_left_alone(private_state: Path, text: str) -> None:
    (private_state / "heads").mkdir(mode=0o700, parents=True, exist_ok=True)
    (private_state / "heads" / f"{'a' * 64}.json").write_text(text, encoding="utf-8")
    assert all(isinstance(head, str) for head in witness.seen("a" * 64))


# -- report folders

PARTS = ["manifest.json", "statement.json", "evidence.json", "released/release.json"]


@settings(stable, max_examples=examples(60))
@given(st.dictionaries(st.sampled_from(PARTS), texts | junk.map(json.dumps)))
def test_any_report_folder_is_examined(parts: dict[str, str]) -> None:
    """Wrong, and told so in lines: no traceback, nothing that moves a terminal's cursor."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in parts.items():
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        with only_ours():
            assert examined(Path(folder)).answer()["verified"] is False


# -- uploads, and names of sources and ledgers


@stable
@given(
    st.text(max_size=30) | st.sampled_from(["d.csv", "d.parquet", "../d.csv", ".csv", "a\0.csv"]),
    st.binary(max_size=80) | st.text(alphabet='ab,"\n\r\t;é', max_size=60).map(str.encode),
)
def test_any_upload_is_taken_or_refused_and_stays_inside(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as base:
        place = Path(base) / "work"
        place.mkdir()
        folder = Workfolder(place)
        with only_ours():
            folder.columns(folder.receive(name, io.BytesIO(content)))
        assert os.listdir(base) == ["work"]


SCHEMES = ["sqlite:///", "postgresql://", "duckdb://", "spark://", "mysql://", "file:", ""]


@stable
@given(st.sampled_from(SCHEMES), st.text(alphabet="ab/.:@?#=%&[]0 \\\0é", max_size=20))
def test_any_ledger_url_is_refused_or_none(scheme: str, rest: str) -> None:
    with tempfile.TemporaryDirectory() as folder, only_ours():
        if scheme == "postgresql://" and "/" in rest:
            return  # that may be a server
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            Ledger.open(scheme + rest).found("people")


@stable
@given(st.sampled_from(SCHEMES[2:]), st.text(alphabet="ab/.:@?#=%&[]0 '\"();é", max_size=20))
def test_any_source_is_refused(scheme: str, rest: str) -> None:
    if scheme == "spark://":
        return  # that would start one
    with tempfile.TemporaryDirectory() as folder, only_ours():
        opened(scheme + rest, lambda name: Path(folder) / name.replace("\0", "")).close()
