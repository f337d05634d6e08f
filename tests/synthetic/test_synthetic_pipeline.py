"""From spec to charged file, and from file to judgement: the whole way, on a small clinic."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml
from scipy import stats
from typer.testing import CliRunner

from discreet.errors import (
    BudgetExceeded,
    DataError,
    InputError,
    PolicyError,
    SpecError,
)
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import outputs
from discreet.releases.engines import opened
from discreet.rounding import percent
from discreet.synthetic import (
    Synthesizer,
    assess,
    posterior,
    read,
    risk,
    synthesize,
)
from discreet.synthetic.assessment import Assessment, Search
from discreet.synthetic.files import original_counts
from discreet.synthetic.law import draw_copies
from discreet.synthetic.pipeline import Synthesis
from discreet.synthetic.spec import load

PLANTED = "Zyx-Planted-Secret"
# No candidate at ε ≤ 1 can leave it, whatever is drawn: RR ≤ e^ε < 3.
REGION = "RR <= 3; RR <= 2.9 if R >= 0.321"


def people(size: int = 400, seed: int = 4) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], size)
    pregnant = np.where((sex == "f") & (rng.random(size) < 0.1), "yes", "no")
    return pa.table(
        {
            "id": np.arange(size),
            "sex": sex,
            "pregnant": pregnant,
            "age": rng.choice(["0-17", "18-64", "65+"], size, p=[0.2, 0.6, 0.2]),
            "note": [PLANTED] * size,
        }
    )


def words(**changes) -> dict:
    spec = {
        "account": "clinic",
        "purpose": "open microdata",
        "source": "people.parquet",
        "protect": {"unit": "person", "column": "id", "rows": 1, "adjacency": "replace"},
        "budget": {"epsilon": 20.0},
        "columns": ["sex", "pregnant", "age"],
        "keys": {"sex": ["f", "m"], "pregnant": ["no", "yes"], "age": ["0-17", "18-64", "65+"]},
        "impossible": [{"sex": "m", "pregnant": "yes"}],
        "n_synthetic": 300,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    return {key: value for key, value in (spec | changes).items() if value is not None}


def folder_of(
    tmp_path: Path, *, cap: float = 1000.0, adjacency: str = "replace", **changes
) -> Path:
    parquet.write_table(people(), tmp_path / "people.parquet")
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "clinic",
        unit="person",
        adjacency=adjacency,
        filter="pure",
        cap=PureDP(cap, adjacency=adjacency),
        approver="A. Curator",
        reason="test",
    )
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(words(**changes), sort_keys=False))
    return path


def counted(spec, data=None) -> np.ndarray:
    with closing(opened(spec.source, spec.path, data)) as engine:
        return original_counts(engine, spec, spec.cells())


def ledger_of(tmp_path: Path) -> Ledger:
    return Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_the_whole_way(tmp_path):
    made = synthesize(folder_of(tmp_path, copies=2, n=400))
    rows = parquet.read_table(tmp_path / "out" / made.release_id / "table.parquet").to_pylist()
    assert len(rows) == 600
    assert {row["copy"] for row in rows} == {1, 2}
    assert not any(row["sex"] == "m" and row["pregnant"] == "yes" for row in rows)
    with (tmp_path / "out" / made.release_id / "table.csv").open() as lines:
        assert [dict(row, copy=int(row["copy"])) for row in csv.DictReader(lines)] == rows
    described = json.loads((tmp_path / "out" / made.release_id / "release.json").read_text())
    assert described["release_id"] == made.release_id
    assert described["guarantee"]["epsilon"] == 20.0
    assert described["guarantee"]["adjacency"] == "replace"
    assert Synthesizer.from_dict(described["synthesizer"]) == made.synthesizer
    assert described["n"] == 400
    payload = made.to_dict()
    assert {"epsilon", "risk", "acceptable", "utility", "release_id", "files"} <= set(payload)
    assert {Path(path).name for path in payload["files"]} == {
        "table.csv",
        "table.parquet",
        "release.json",
        "statement.md",
    }
    assert all(Path(path).is_absolute() and Path(path).is_file() for path in payload["files"])
    assert payload["spent"] == {"epsilon": 20.0, "delta": None, "rho": None}
    ledger = ledger_of(tmp_path)
    kinds = [entry.kind for entry in ledger.entries("clinic")]
    assert kinds == ["open", "reserve", "commit"]
    assert ledger.verify().verified
    assert not ledger.unfinished("clinic")
    statement = Path(payload["statement"]).read_text()
    assert "one person" in statement
    assert "20-differential privacy (replace)" in statement
    blur = made.prior_share
    assert f"{percent(blur, 'up', 1)} of what the file shows is blur" in statement
    assert f"on average {percent(1 - blur, 'down', 1)} of the true share" in statement
    assert "regression coefficients computed from the records mostly come out weaker" in statement
    cells = made.synthesizer.cells
    for row in made.expected_shares():
        assert row["expected"] == pytest.approx((1 - blur) * row["share"] + blur / cells)


def test_the_blur_of_a_file_of_unknown_size_is_not_stated(tmp_path):
    statement = synthesize(folder_of(tmp_path)).statement.read_text()
    assert "is blur is not stated" in statement
    assert "mostly come out weaker" in statement


def test_nothing_of_the_data_but_the_file_is_written(tmp_path):
    made = synthesize(folder_of(tmp_path))
    for path in [*made.files, tmp_path / "ledger.db"]:
        content = path.read_bytes()
        assert PLANTED.encode() not in content
    described = json.loads((tmp_path / "out" / made.release_id / "release.json").read_text())
    # The size of the original is private under add-remove, and is never taken from the data.
    assert described["n"] is None
    assert "n" not in described["spec"]
    assert not {"source", "ledger", "output"} & set(described["spec"])


def test_dry_run_spends_and_draws_nothing(tmp_path):
    made = synthesize(folder_of(tmp_path), dry_run=True)
    assert made.release_id is None
    assert not (tmp_path / "out").exists()
    assert [entry.kind for entry in ledger_of(tmp_path).entries("clinic")] == ["open"]
    assert made.to_dict()["files"] == []
    closed = synthesize(words(account="elsewhere"), folder=tmp_path, dry_run=True)
    assert closed.remaining is None
    assert "ledger open" in closed.notes[1]


def test_a_dry_run_says_what_would_be_refused(tmp_path):
    path = folder_of(tmp_path, cap=30.0)
    first, learned = synthesize(path, dry_run=True).notes
    assert "nothing was spent" in first
    assert "No promise is made." in learned
    synthesize(path)
    first, again, refused, *_ = synthesize(path, dry_run=True).notes
    assert "nothing was spent" in first
    assert "already released 1 time" in again
    assert refused.startswith("It would be refused: Over budget")
    tolerant = words(budget=None, tolerance={"ratio": 3})
    assert "everything charged" in synthesize(tolerant, folder=tmp_path, dry_run=True).notes[-1]


def test_a_dry_run_says_what_a_promise_about_a_value_allows_under_replace(tmp_path):
    """The draws have one ε under both, and under add-remove a value counted as two steps."""

    def told(adjacency: str, folder: Path = tmp_path, **changes) -> tuple[Synthesis, list[str]]:
        protect = {"unit": "person", "column": "id", "rows": 1, "adjacency": adjacency}
        spec = words(protect=protect, **{"budget": None, "account": "new"} | changes)
        made = synthesize(spec, folder=folder, dry_run=True)
        return made, [note for note in made.notes if "adjacency: replace" in note]

    folder_of(tmp_path)
    asked = {"tolerance": {"posterior": 0.25, "p": 1, "q": 0.04}}
    here, notes = told("add-remove", **asked)
    there, none = told("replace", **asked)
    assert there.synthesizer.epsilon == pytest.approx(2 * here.synthesizer.epsilon)
    (note,) = notes
    shown, now = (float(one.rstrip(".")) for one in re.findall(r"[\d.]+", note))
    assert now == pytest.approx(here.synthesizer.epsilon, rel=1e-3)
    assert there.synthesizer.epsilon - 1e-5 < shown <= there.synthesizer.epsilon
    assert not none
    for other in ({"ratio": 3}, {"ratio": 3, "about": "membership"}):
        assert not told("add-remove", tolerance=other)[1]
    assert not told("add-remove", budget={"epsilon": 1})[1]
    # The promise of an account counts the same.
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "new", unit="person", filter="pure", promise=asked["tolerance"], approver="A", reason="r"
    )
    assert told("add-remove")[1] == notes


def test_a_second_run_is_a_new_charge_and_must_be_confirmed(tmp_path):
    path = folder_of(tmp_path)
    first = synthesize(path)
    with pytest.raises(PolicyError, match="already released 1 time"):
        synthesize(path)
    with pytest.raises(PolicyError, match="Nothing was spent"):
        synthesize(path, confirm=lambda _: False)
    asked = []
    second = synthesize(path, confirm=lambda notice: asked.append(notice) or True)
    assert len(asked) == 1
    assert second.release_id != first.release_id
    assert ledger_of(tmp_path).spent("clinic").to_dict()["epsilon"] == 40.0


@pytest.mark.parametrize("step", ["draw", "store", "commit", "show"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_is_shown_once_it_is_recorded_wherever_a_run_is_cut_off(
    tmp_path, monkeypatch, step, when
):
    path, out = folder_of(tmp_path), tmp_path / "out"

    class Cut(BaseException):
        pass

    def cut_off(real):
        def fatal(*given, **named):
            if when == "after":
                real(*given, **named)
            raise Cut

        return fatal

    place = {"draw": synthesize.__globals__, "commit": Ledger}.get(step, outputs.Work)
    with monkeypatch.context() as patched:
        if isinstance(place, dict):
            patched.setitem(place, "draw_copies", cut_off(place["draw_copies"]))
        else:
            patched.setattr(place, step, cut_off(getattr(place, step)))
        with pytest.raises(Cut):
            synthesize(path)
    ledger = ledger_of(tmp_path)
    entries = ledger.entries("clinic")
    (charged,) = [entry for entry in entries if entry.kind == "reserve"]
    recorded = [entry.release_id for entry in entries if entry.kind == "commit"]
    shown = [place.name for place in out.iterdir() if not place.name.startswith(".")]
    assert set(shown) <= set(recorded) <= {charged.release_id}
    said = []
    made = synthesize(path, confirm=lambda _: True, say=said.append)
    kept = step == "show" or (step, when) == ("commit", "after")
    finished = {str(charged.release_id), made.release_id} if kept else {made.release_id}
    assert {place.name for place in out.iterdir()} == finished
    for name in finished:
        recorded = ledger.about(name)[-1]
        assert recorded.kind == "commit"
        assert recorded.output_hash == outputs.hash_of(out / name)
    assert ledger.spent("clinic").to_dict()["epsilon"] == 40.0


def test_over_budget_is_refused_before_anything_is_read(tmp_path):
    path = folder_of(tmp_path, cap=30.0)
    synthesize(path)
    with pytest.raises(BudgetExceeded):
        synthesize(path, confirm=lambda _: True)
    assert len(list((tmp_path / "out").iterdir())) == 1


def test_account_must_be_open_and_of_the_same_kind(tmp_path):
    path = folder_of(tmp_path, account="elsewhere")
    with pytest.raises(PolicyError, match="open_account"):
        synthesize(path)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(PolicyError, match="adjacency"):
        synthesize(folder_of(other, adjacency="add-remove"))
    third = tmp_path / "third"
    third.mkdir()
    with pytest.raises(PolicyError, match="unit"):
        synthesize(folder_of(third, protect={"unit": "record", "adjacency": "replace"}))
    assert not any(list(place.glob("out/*")) for place in (tmp_path, other, third))


def test_a_tolerance_becomes_the_budget_and_speaks_of_the_whole_account(tmp_path):
    tolerance = {"ratio": 3}
    path = folder_of(tmp_path, budget=None, tolerance=tolerance)
    made = synthesize(path)
    # Replace-one, constant ratio: the closed form is log r̃.
    assert made.guarantee.epsilon == pytest.approx(np.log(3), rel=1e-12)
    assert made.guarantee.epsilon <= np.log(3)
    # log 3 = 1.098612…: a promise is never stated smaller than it is.
    assert "**Guarantee:** 1.09862-differential privacy" in made.statement.read_text()
    with pytest.raises(BudgetExceeded, match="everything charged"):
        synthesize(path, confirm=lambda _: True)
    assert len(list((tmp_path / "out").iterdir())) == 1
    with pytest.raises(InputError, match="pure DP"):
        synthesize(words(budget=None, tolerance=tolerance | {"delta": 1e-6}))


def test_add_remove_costs_the_same(tmp_path):
    protect = {"unit": "person", "column": "id", "rows": 1, "adjacency": "add-remove"}
    made = synthesize(folder_of(tmp_path, adjacency="add-remove", protect=protect))
    assert made.guarantee == PureDP(20.0, adjacency="add-remove")
    assert made.synthesizer.alpha == Synthesizer.of(20.0, n_synthetic=300, cells=9).alpha


def test_a_person_with_many_records_counts_only_as_allowed(tmp_path):
    folder_of(tmp_path)
    protect = {"unit": "person", "column": "id", "rows": 2, "adjacency": "replace"}
    spec = load(words(source=None, protect=protect), folder=tmp_path)
    many = pa.concat_tables([people(3)] * 50)
    made = synthesize(spec, data=many, dry_run=True)
    assert made.synthesizer == Synthesizer.of(20.0, n_synthetic=300, cells=9, records=2)
    assert counted(spec, many).sum() == 6
    protect |= {"rows": 20, "rows_per_group": 1}  # one record in each of nine cells
    spec = load(words(source=None, protect=protect), folder=tmp_path)
    assert synthesize(spec, data=many, dry_run=True).synthesizer.records == 9


@pytest.mark.parametrize("kind", ["csv", "duckdb", "arrow", "pandas", "polars"])
def test_every_source_gives_the_same_counts(tmp_path, kind):
    expected = counted(load(folder_of(tmp_path)))
    assert expected.sum() == 400
    data, name = people(), None
    if kind == "csv":
        import pyarrow.csv

        pyarrow.csv.write_csv(data, tmp_path / "people.csv")
        name = "people.csv"
    elif kind == "duckdb":
        import duckdb

        with duckdb.connect(str(tmp_path / "people.db")) as connection:
            connection.register("arrow", data)
            connection.execute("create table t as select * from arrow")
        name = "duckdb:///people.db?table=t"
    elif kind == "pandas":
        data = data.to_pandas()
    elif kind == "polars":
        data = import_module("polars").from_arrow(data)
    spec = load(words(source=name), folder=tmp_path)
    np.testing.assert_array_equal(counted(spec, None if name else data), expected)


def test_a_table_of_a_server_is_synthesized_and_assessed(tmp_path, postgres, postgres_url):
    """The way of a release, on the server where the rows are; levels of every type are matched."""
    import psycopg

    path = folder_of(tmp_path)
    columns = [people()[name].to_pylist() for name in ("id", "sex", "pregnant", "age")]
    with psycopg.connect(postgres_url) as connection:
        connection.execute("create table people (id int, sex text, pregnant text, age text)")
        with connection.cursor().copy("copy people from stdin") as copy:
            for row in zip(*columns, strict=True):
                copy.write_row(row)
    source = f"{postgres_url}?table=public.people"
    served = tmp_path / "served.yaml"
    served.write_text(yaml.safe_dump(words(source=source)))
    np.testing.assert_array_equal(counted(load(served)), counted(load(path)))
    made = synthesize(served)
    assert made.release_id
    password = postgres_url.split("://")[1].split("@")[0].partition(":")[2]
    assert password
    for file in [*made.files, tmp_path / "ledger.db"]:
        assert password.encode() not in file.read_bytes()
    judged = assess(served, tmp_path / "out" / made.release_id)
    assert judged.risk.records.sum() == 400
    np.testing.assert_array_equal(
        judged.risk.shift, assess(path, tmp_path / "out" / made.release_id).risk.shift
    )


@pytest.mark.parametrize("source", ["mysql://host/people", "https://host/people.csv"])
def test_a_source_without_an_engine_names_those_there_are(tmp_path, source):
    path = folder_of(tmp_path, source=source)
    for action in (synthesize, lambda spec: assess(spec, epsilons=[1], region=REGION)):
        with pytest.raises(SpecError, match=r"postgresql://.*spark://"):
            action(path)


def test_levels_from_a_file(tmp_path):
    (tmp_path / "ages.csv").write_text("code,age\n1,0-17\n2,18-64\n3,65+\n")
    keys = words()["keys"] | {"age": "ages.csv"}
    made = synthesize(folder_of(tmp_path, keys=keys), dry_run=True)
    assert made.cells.size == 9


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"keys": {"sex": ["f", "m"]}}, PolicyError, "no keys"),
        ({"keys": words()["keys"] | {"age": "none.csv"}}, SpecError, "cannot be read"),
        ({"keys": words()["keys"] | {"pregnant": [True, False]}}, SpecError, "quotes"),
        ({"keys": words()["keys"] | {"height": ["1"]}}, SpecError, "height"),
        ({"columns": ["sex", "sex"]}, SpecError, "twice"),
        ({"columns": ["copy"], "keys": {"copy": ["1", "2"]}}, SpecError, "copy"),
        ({"budget": None}, SpecError, "tolerance"),
        ({"budget": {"rho": 0.1}}, SpecError, "epsilon, not rho"),
        ({"budget": {"epsilon": 1.0, "delta": 0.1}}, SpecError, "delta"),
        ({"budget": {"epsilon": 1e-300}}, InputError, "overflows"),
        ({"n_synthetic": 0}, SpecError, "n_synthetic"),
        ({"n_synthetic": None}, SpecError, "missing"),
        ({"n_synthetic": 10**12}, InputError, "the most"),
        ({"colours": "w"}, SpecError, "not a key"),
        ({"let": {"a": "b"}}, SpecError, "keys of a release alone: make such columns"),
        ({"where": "a"}, SpecError, "keys of a release alone: make such columns"),
        ({"join": []}, SpecError, "keys of a release alone: make such columns"),
        ({"per_unit": {"a": "b"}}, SpecError, "keys of a release alone: make such columns"),
        ({"impossible": [{"hair": "red"}]}, InputError, "no column"),
        ({"source": "absent.parquet"}, SpecError, "no such file"),
        ({"source": None}, SpecError, "source"),
        (
            {
                "columns": ["sex", "height"],
                "keys": {"sex": ["f", "m"], "height": ["1", "2"]},
                "impossible": None,
            },
            DataError,
            "height",
        ),
        (
            {"columns": ["sex"], "keys": {"sex": ["f"]}, "impossible": None},
            InputError,
            "one cell",
        ),
    ],
)
def test_a_bad_spec_is_one_clear_sentence_and_costs_nothing(tmp_path, changes, error, match):
    path = folder_of(tmp_path, **changes)
    with pytest.raises(error, match=match) as caught:
        synthesize(path)
    assert PLANTED not in str(caught.value)
    assert [entry.kind for entry in ledger_of(tmp_path).entries("clinic")] == ["open"]


def test_missing_values_are_dropped_and_never_refused(tmp_path):
    data = people(30).to_pandas()
    data.loc[0, "sex"] = None
    rest = {"source": None}
    folder_of(tmp_path)
    spec = words(**rest) | {
        "ledger": f"sqlite:///{tmp_path / 'ledger.db'}",
        "output": str(tmp_path / "out"),
    }
    assert synthesize(spec, data=data).release_id
    with pytest.raises(SpecError, match="nulls: drop, or leave it out"):
        synthesize(spec | {"nulls": "refuse"}, data=data)


def test_an_analyst_needs_the_published_folder_alone(tmp_path):
    made = synthesize(folder_of(tmp_path, copies=2, budget={"epsilon": 900.0}))
    file = read(tmp_path / "out" / made.release_id)
    assert file.synthesizer == made.synthesizer
    assert file.counts.sum() == 600
    with pytest.raises(InputError, match="Give n"):
        file.share({"sex": "f"})
    women = file.share({"sex": "f"}, n=400)
    truth = people()["sex"].to_pylist().count("f") / 400
    assert abs(women.mean - truth) < 6 * women.sd  # chance of failing below 1e-6
    young = file.share({"age": ["0-17", "18-64"], "pregnant": "no"}, n=400)
    low, high = young.interval()
    assert 0 < low < young.mean < high < 1
    with pytest.raises(InputError, match="no level"):
        file.share({"sex": "x"}, n=400)
    table = tmp_path / "out" / made.release_id / "table.csv"
    table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(DataError, match="not the published file"):
        read(table.parent)
    header, *rows = table.read_text().splitlines()
    for lines in ([header], [header, "f", *rows], [header, "f", *rows[1:]], [header, "", *rows]):
        table.write_text("\n".join(lines) + "\n")
        with pytest.raises(DataError, match="not the published file"):
            read(table.parent)
    table.write_text("a,b,c\n1,2,3\n")
    with pytest.raises(DataError, match="other columns"):
        read(table.parent)
    table.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        read(table.parent)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_levels_with_commas_and_quotes_survive_every_file(tmp_path, kind):
    """A line break inside a level survives in Parquet; a CSV file is read line by line."""
    odd = ['a,"b"', "line\nbreak" if kind == "parquet" else "x\ty", "ü ' ;", " lead"]
    folder_of(tmp_path)
    data = pa.table({"id": range(40), "odd": odd * 10})
    spec = words(columns=["odd"], keys={"odd": odd}, impossible=None, source=None)
    made = synthesize(spec, data=data, folder=tmp_path)
    folder = tmp_path / "out" / made.release_id
    file = read(folder)
    assert file.counts.sum() == 300
    if kind == "csv":
        (tmp_path / "data.csv").write_text(
            "id,odd\n" + "".join(f'{i},"{t.replace(chr(34), chr(34) * 2)}"\n' for i, t in
                                 enumerate(odd * 10))
        )  # fmt: skip
    else:
        parquet.write_table(data, tmp_path / "data.parquet")
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump(spec | {"source": f"data.{kind}"}))
    places = [folder / "table.parquet"] + ([folder / "table.csv"] if kind == "csv" else [])
    for place in places:
        judged = assess(path, place)
        assert judged.risk.records.tolist() == [10, 10, 10, 10]
        expected = risk([10] * 4, file.counts, synthesizer=made.synthesizer)
        np.testing.assert_array_equal(judged.risk.shift, expected.shift)


# -- the draw itself


@pytest.mark.slow
def test_the_draw_follows_its_law():
    """Chi-square against (x + α)/(n + Kα); fails by chance with probability 1e-7."""
    law = Synthesizer.of(900.0, n_synthetic=50_000, cells=5, copies=4)
    x = np.array([0, 3, 50, 400, 1000])
    drawn = draw_copies(law, x)
    assert drawn.shape == (4, 5)
    assert (drawn.sum(axis=1) == 50_000).all()
    shares = (x + float(law.alpha)) / (x.sum() + 5 * float(law.alpha))
    assert stats.chisquare(drawn.sum(axis=0), shares * law.draws).pvalue > 1e-7


def test_the_schema_is_published_and_the_example_keeps_it():
    import jsonschema

    from discreet.synthetic import spec as module

    published = json.loads(Path(module.__file__).with_name("spec.schema.json").read_text())
    assert published == module.json_schema()
    example = Path(__file__).parents[2] / "examples" / "synthetic" / "patients.yaml"
    written = yaml.safe_load(example.read_text())
    jsonschema.validate(written, published)
    assert module.load(example).cells().size == 28
    again = module.load(module.load(example).to_dict(), folder=example.parent)
    assert again.hash == module.load(example).hash


def test_shares_before_the_draw_have_the_blur_of_the_weights(tmp_path):
    """A cell that has its share of the blur keeps its share, whatever the weights are."""
    weights = {"sex": {"f": 7, "m": 1}}
    made = synthesize(folder_of(tmp_path, n=400, weights=weights), dry_run=True)
    (row,) = made.expected_shares([1 / made.cells.size])
    assert row["expected"] == pytest.approx(row["share"])
    (row,) = made.expected_shares([0.0])
    assert row["expected"] == pytest.approx(made.prior_share / made.cells.size)


def test_results_show_themselves_in_notebooks():
    judged = assess([999, 1], [997, 3], epsilon=1000)
    found = assess([995, 5], epsilons=[1], region="RR <= 9", n_synthetic=10, candidates=1)
    for shown in (judged, found):
        assert "Confidential" in shown._repr_html_()
        assert "\n" not in repr(shown)
    assert "2.5 %" in posterior([7, 3], n=10, epsilon=5)._repr_html_()


# -- assess


def test_a_file_of_ours_is_judged_with_its_own_description(tmp_path):
    path = folder_of(tmp_path, budget={"epsilon": 600.0})
    made = synthesize(path)
    folder = tmp_path / "out" / made.release_id
    judged = [
        assess(path, place, region=REGION)
        for place in (folder, folder / "table.csv", folder / "table.parquet")
    ]
    assert all(isinstance(one, Assessment) for one in judged)
    np.testing.assert_array_equal(judged[0].risk.shift, judged[1].risk.shift)
    np.testing.assert_array_equal(judged[0].risk.shift, judged[2].risk.shift)
    found = judged[0].to_dict()
    assert found["epsilon"] == 600.0
    assert found["risk"]["records"] == 400
    assert "Confidential" in found["confidential"]
    assert set(found["utility"]["marginals"]) == {"sex", "pregnant", "age"}
    assert judged[0].risk.largest_shift <= 600
    before = [entry.kind for entry in ledger_of(tmp_path).entries("clinic")]
    assert before == ["open", "reserve", "commit"]
    sexes = assess(path, folder, region=REGION, known=["sex"], alternatives="worst")
    assert sexes.risk.alternatives == "worst"


def test_candidates_that_do_not_fit_are_refused(tmp_path):
    path = folder_of(tmp_path)
    made = synthesize(path)
    folder = tmp_path / "out" / made.release_id
    table = parquet.read_table(folder / "table.parquet")
    with pytest.raises(DataError, match="columns differ"):
        assess(path, table.drop_columns("age"), synthesizer=made.synthesizer)
    with pytest.raises(DataError, match="columns differ"):
        assess(path, table.append_column("x", table["age"]), synthesizer=made.synthesizer)
    strange = table.set_column(0, "sex", pa.array(["f"] * 299 + ["x"]))
    with pytest.raises(DataError, match="outside the possible cells"):
        assess(path, strange, synthesizer=made.synthesizer)
    with pytest.raises(InputError, match="do not belong together"):
        assess(path, table.slice(0, 200), synthesizer=made.synthesizer)
    with pytest.raises(InputError, match="how it was made"):
        assess(path, table)
    parquet.write_table(table, tmp_path / "elsewhere.parquet")
    with pytest.raises(InputError, match="log_likelihood"):
        assess(path, tmp_path / "elsewhere.parquet")
    with pytest.raises(InputError, match="Give a candidate"):
        assess(path)
    other = yaml.safe_load(path.read_text())
    other["keys"]["age"] = ["0-17", "18-64", "65+", "?"]
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump(other))
    with pytest.raises(InputError, match="other columns or levels"):
        assess(changed, folder)


def test_a_file_from_elsewhere_with_its_law(tmp_path):
    path = folder_of(tmp_path)
    made = synthesize(path)
    table = parquet.read_table(tmp_path / "out" / made.release_id / "table.parquet")
    own = assess(path, table, synthesizer=made.synthesizer)
    labels = [tuple(made.cells.label(k).values()) for k in range(made.cells.size)]
    rows = list(zip(*(table[c].to_pylist() for c in made.cells.columns), strict=True))
    hits = np.array([rows.count(label) for label in labels])
    alpha = float(made.synthesizer.alpha)
    given = assess(path, table, log_likelihood=lambda counts: float(hits @ np.log(counts + alpha)))
    # Differences of sums of some hundreds, known to 1e-13: one of them may be near 0.
    np.testing.assert_allclose(given.risk.shift, own.risk.shift, rtol=1e-9, atol=1e-11)
    assert given.epsilon is None


def test_budgets_are_searched_in_memory_and_cost_nothing(tmp_path, monkeypatch):
    path = folder_of(tmp_path)
    rare = 4  # pregnant, 18-64

    def draw(law, counts):
        """Above ε = 1 a file that gives a rare cell away, else an ordinary one."""
        return draw_copies(law, counts) if law.epsilon <= 1 else 300 * np.eye(9, dtype=int)[[rare]]

    monkeypatch.setattr("discreet.synthetic.assessment.draw_copies", draw)
    found = assess(path, epsilons=[1, 0.1, 5000], region=REGION, candidates=3)
    assert isinstance(found, Search)
    assert [row["epsilon"] for row in found.rows] == [0.1, 1, 5000]
    assert [row["inside"] for row in found.rows] == [3, 3, 0]
    assert found.epsilon == 1
    assert found.chosen.sum() == 300
    assert [entry.kind for entry in ledger_of(tmp_path).entries("clinic")] == ["open"]
    assert not (tmp_path / "out").exists()


def test_no_guarantee_charges_every_candidate_and_says_none(tmp_path):
    path = folder_of(tmp_path)
    made = assess(path, epsilons=[1, 0.5], region=REGION, candidates=3, no_guarantee=True)
    assert isinstance(made, Synthesis)
    assert made.guarantee is None
    assert made.synthesizer.epsilon == 1
    ledger = ledger_of(tmp_path)
    assert ledger.spent("clinic").to_dict()["epsilon"] == 4.5
    folder = tmp_path / "out" / made.release_id
    described = json.loads((folder / "release.json").read_text())
    assert described["guarantee"] == "none"
    assert "budget" not in described["spec"]
    assert "no budget bounds" in described["reason"]
    assert "Guarantee: none" in (folder / "statement.md").read_text()
    assert made.to_dict()["guarantee"] == "none"
    # The region is secret: it is in no file and in no entry.
    for place in [*folder.iterdir(), tmp_path / "ledger.db"]:
        assert b"0.321" not in place.read_bytes()
    entries = json.dumps([entry.to_dict() for entry in ledger.entries("clinic")])
    assert "RR" not in entries
    assert "guarantee: none" in entries
    assert [e.guaranteed for e in ledger.entries("clinic") if e.kind == "reserve"] == [False]


@pytest.mark.parametrize(
    "wrong",
    [
        {"region": None},
        {"region": "RR <= "},
        {"region": REGION, "known": ["hat"]},
        {"region": REGION, "priors": [2.0]},
        {"region": REGION, "alternatives": "some"},
        {"region": REGION, "prior_range": (0.5, 0.5)},
        {"region": REGION, "epsilons": []},
        {"region": REGION, "hats": 3},
    ],
)
def test_what_cannot_be_judged_is_not_charged(tmp_path, wrong):
    path = folder_of(tmp_path)
    with pytest.raises((InputError, TypeError)):
        assess(path, **{"epsilons": [0.5], "candidates": 2, "no_guarantee": True} | wrong)
    assert [entry.kind for entry in ledger_of(tmp_path).entries("clinic")] == ["open"]


def test_a_tolerance_speaks_of_candidates_as_well(tmp_path):
    """It is about everything charged to the account, and all candidates are charged."""
    path = folder_of(tmp_path, budget=None, tolerance={"ratio": 3})  # together at most log 3
    asked = {"epsilons": [0.2], "region": REGION, "no_guarantee": True}
    with pytest.raises(BudgetExceeded, match="everything charged"):
        assess(path, candidates=6, **asked)
    assert [entry.kind for entry in ledger_of(tmp_path).entries("clinic")] == ["open"]
    assert assess(path, candidates=5, **asked).release_id


def test_no_guarantee_over_the_cap_draws_nothing(tmp_path):
    path = folder_of(tmp_path, cap=4.4)
    with pytest.raises(BudgetExceeded):
        assess(path, epsilons=[1, 0.5], region=REGION, candidates=3, no_guarantee=True)
    assert not list(tmp_path.glob("out/*"))


def test_no_acceptable_candidate_is_charged_and_not_written(tmp_path):
    path = folder_of(tmp_path)
    found = assess(path, epsilons=[5], region="RR <= 1", candidates=2, no_guarantee=True)
    assert isinstance(found, Search)
    assert not found.acceptable
    assert not list(tmp_path.glob("out/*"))
    assert ledger_of(tmp_path).spent("clinic").to_dict()["epsilon"] >= 10


@pytest.mark.parametrize(
    ("region", "how"),
    [
        ("R <= 0.9", {}),
        ("RR <= 3 if R <= 0.1; R <= 0.95", {}),
        ("R <= 0.9", {"prior_range": (0.2, 0.91)}),
        ("R <= 0.9", {"priors": [0.5, 0.91]}),
        ("RR < 1", {"priors": [0.5]}),
    ],
)
def test_a_region_that_learning_nothing_leaves_is_refused_first(tmp_path, region, how):
    """No budget is small enough: nothing is read, drawn or charged, and no rule is told."""
    path = folder_of(tmp_path, cap=4.4)
    (tmp_path / "people.parquet").unlink()
    asked = {"epsilons": [1], "candidates": 2, "region": region, **how}
    for more in ({}, {"no_guarantee": True}):
        with pytest.raises(InputError, match="learns nothing") as refused:
            assess(path, **asked, **more)
        assert "0.9" not in str(refused.value)
    with pytest.raises(InputError, match="learns nothing"):
        assess([90, 10], [9, 1], epsilon=1, region=region, **how)
    assert assess([90, 10], [9, 1], epsilon=1, region="R <= 0.9", prior_range=(0, 0.7)).acceptable


def test_what_assess_refuses(tmp_path):
    path = folder_of(tmp_path)
    with pytest.raises(InputError, match="no_guarantee"):
        assess(path, "x.csv", no_guarantee=True)
    with pytest.raises(InputError, match="acceptable region"):
        assess(path, epsilons=[1])
    with pytest.raises(InputError, match="not both"):
        assess(path, "x.csv", epsilons=[1], region=REGION)
    with pytest.raises(InputError, match="epsilons is empty"):
        assess(path, epsilons=[], region=REGION)


def test_counts_are_judged_directly():
    region = "RR <= 1.6"
    judged = assess([999, 1], [997, 3], epsilon=1000, region=region)
    assert judged.acceptable is False
    assert judged.records_outside == 1
    at_points = assess([999, 1], [997, 3], epsilon=1000, region=region, priors=[0.1, 0.99])
    assert at_points.outside[0].priors == ((0.1, 0.1),)
    narrow = assess([999, 1], [997, 3], epsilon=1000, region=region, prior_range=(0.98, 0.99))
    assert narrow.acceptable
    assert assess([999, 1], [997, 3], epsilon=1000).acceptable is None
    found = assess([995, 5], epsilons=[1, 10], region="RR <= 2", n_synthetic=100, candidates=2)
    assert isinstance(found, Search)


# -- crashes


@pytest.mark.soak  # the test of cut-off runs cuts them at every step that matters
def test_a_crash_may_lose_the_file_never_the_charge(tmp_path):
    """Killed at six moments: every finished file has its charge, and no half file is there."""
    path = folder_of(tmp_path, n_synthetic=200_000, budget={"epsilon": 1.0})
    program = (
        "from discreet.synthetic import synthesize; "
        f"synthesize({str(path)!r}, confirm=lambda _: True)"
    )
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    whole = time.perf_counter() - started
    for i in range(6):
        child = subprocess.Popen([sys.executable, "-c", program])
        time.sleep(whole * (0.5 + 0.09 * i))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    ledger = ledger_of(tmp_path)
    assert ledger.verify().verified
    charged = {entry.release_id for entry in ledger.entries("clinic") if entry.kind == "reserve"}
    published = {
        place.name for place in (tmp_path / "out").iterdir() if not place.name.startswith(".")
    }
    assert published
    assert published <= charged
    for name in published:
        names = {file.name for file in (tmp_path / "out" / name).iterdir()}
        assert names == {"table.csv", "table.parquet", "release.json", "statement.md"}
    assert ledger.spent("clinic").to_dict()["epsilon"] == float(len(charged))


# -- command line


def run(command, *arguments):
    import typer

    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_command_synthesize(tmp_path):
    from discreet.cli.synthetic import synthesize as command

    path = folder_of(tmp_path, n=400, source="people.csv")
    people().to_pandas().to_csv(tmp_path / "people.csv", index=False)
    dry = run(command, path, "--dry-run")
    assert dry.exit_code == 0
    assert "Not drawn" in dry.stdout
    assert dry.stdout.count("taken to be in UTF-8") == 1
    assert "declare what is different" in dry.stdout
    blur = synthesize(path, dry_run=True).prior_share  # as the statement has it, rounded up
    assert f"share of the file that is blur  {percent(blur, 'up', 1)}\n" in dry.stdout
    done = run(command, path, "--yes", "--json")
    assert done.stderr.count("taken to be in UTF-8") == 1
    assert "declare what is different" not in done.stderr  # a dry run says how
    assert done.exit_code == 0, done.output
    payload = json.loads(done.stdout)
    assert {"epsilon", "risk", "acceptable", "utility"} <= set(payload)
    assert len(payload["release_id"]) == 26
    readable = run(command, path, "--yes")
    assert "Release" in readable.stdout
    assert "statement.md" in readable.stdout


def test_command_assess(tmp_path):
    from discreet.cli.synthetic import assess as command

    path = folder_of(tmp_path)
    made = synthesize(path)
    folder = tmp_path / "out" / made.release_id
    one = run(command, path, "--candidate", folder, "--region", "RR <= 1e12", "--json")
    assert one.exit_code == 0, one.output
    payload = json.loads(one.stdout)
    assert {"epsilon", "risk", "acceptable", "utility"} <= set(payload)
    bad = run(command, path, "--candidate", folder, "--relative", "1.0")
    assert bad.exit_code == 1
    assert "Not acceptable" in bad.stdout
    assert "Confidential" in bad.stdout
    assert "RR is R divided by the prior" in bad.stdout
    some = run(
        command, path, "--epsilon", 1, "--epsilon", 0.1, "--region", REGION, "--candidates", 2,
        "--prior", 0.5, "--known", "sex", "--json",
    )  # fmt: skip
    assert some.exit_code == 0, some.output
    assert json.loads(some.stdout)["epsilon"] == 1.0
    (tmp_path / "region.txt").write_text(REGION.replace("; ", "\n"))
    kept = run(command, path, "--epsilon", 1, "--region-file", tmp_path / "region.txt")
    assert kept.exit_code == 0, kept.output
    span = run(command, path, "--epsilon", 1, "--absolute", 0.75, "--priors", 0.1, 0.5)
    assert span.exit_code == 0, span.output
    assert "Largest acceptable" in span.stdout
    assert "RR is R divided by the prior" in span.stdout
    assert "of 10 drawn at each budget. The distance is between the shares" in span.stdout
    assert "a prior of 30 %" in span.stdout
    assert "The largest R is from the middle of the priors" in span.stdout
    unmet = run(command, path, "--epsilon", 1, "--absolute", 0.9)
    assert "--priors LOW HIGH" in unmet.exception.on_the_command_line
    wrote = run(
        command, path, "--epsilon", 1, "--region", REGION, "--candidates", 2, "--no-guarantee",
        "--yes", "--json",
    )  # fmt: skip
    assert wrote.exit_code == 0, wrote.output
    payload = json.loads(wrote.stdout)
    assert payload["guarantee"] == "none"
    assert payload["acceptable"] is True
    for arguments in (
        ["--region", "RR <= 2", "--absolute", 0.5],
        ["--prior", 0.5, "--priors", 0.1, 0.2],
        ["--region-file", tmp_path / "absent.txt"],
    ):
        refused = run(command, path, "--epsilon", 1, *arguments)
        assert isinstance(refused.exception, InputError)


def test_assess_prints_the_distances_and_says_what_u_is(tmp_path):
    """Only `--json` had them, and a single U was printed that nothing defined."""
    from discreet.cli.synthetic import assess as command

    path = folder_of(tmp_path)
    asked = [path, "--candidate", tmp_path / "out" / synthesize(path).release_id]
    said = json.loads(run(command, *asked, "--json").stdout)["utility"]
    out = run(command, *asked).stdout
    worst = {row["column"]: row for row in sorted(said["lost"], key=lambda row: row["lost"])}
    for column, apart in said["marginals"].items():
        level = f"{worst[column]['lost']:.2f} ({worst[column]['level']})"
        assert re.search(rf"^  {column} +{apart:.3f} +{re.escape(level)}$", out, re.M)
    for pair in said["pairs"]:
        assert re.search(rf"^  {', '.join(pair['columns'])} +{pair['distance']:.3f}$", out, re.M)
    assert re.search(rf"^  all columns together +{said['table']:.3f}$", out, re.M)
    assert "U says by how many powers of ten its expected squared error is larger" in out
    assert "The inferred share of a level is what an analyst of the file takes" in out


def test_a_dry_run_tells_a_belief_by_one_rounding(tmp_path):
    """It said "at most 99.6 %" in one place, and 100 % in another."""
    from discreet.cli.synthetic import synthesize as command

    out = run(command, folder_of(tmp_path, budget={"epsilon": 9.0}), "--dry-run").stdout
    rows = dict(re.findall(r"^  from (\S+ %) to at most (\S+ %)$", out, re.M))
    assert len(rows) > 2
    assert dict(re.findall(r"from (\S+ %) to ([\d.]+ %)", out)) == rows
    assert "100 %" not in rows.values()
