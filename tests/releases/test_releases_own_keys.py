"""The protected data are not a list of public keys, under whatever name they come."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
import yaml
from typer.testing import CliRunner

from discreet.cli import release as release_command
from discreet.cli.auditing import audit
from discreet.errors import PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import engines, release
from discreet.releases.engines import register_engine
from discreet.releases.engines.duckdb import DuckDB
from discreet.synthetic import synthesize

ROWS = "person,county\nanna,north\nbert,south\ncarl,north\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(ROWS)
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(10.0),
        approver="a",
        reason="r",
    )
    return tmp_path


def _spec(by: str, keys: Any, **more: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "test",
        "source": "data.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 1.0},
        "statistics": [{"count": "rows", "by": [by], "keys": {by: keys}}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | more


def _refused(spec: dict[str, Any], folder: Path, **how: Any) -> str:
    with pytest.raises(PolicyError) as refused:
        release(spec, folder=folder, **how)
    assert refused.value.exit_code == 4
    assert not Ledger.open(f"sqlite:///{folder / 'ledger.db'}").about("x")
    for value in ("anna", "bert", "carl"):
        assert value not in str(refused.value)
    return str(refused.value)


def _copied(folder: Path, how: str) -> str:
    source, name = folder / "data.csv", "keys.csv"
    if how == "itself":
        return "data.csv"
    if how == "another path":
        return "./out/../data.csv"
    if how == "a link":
        (folder / name).symlink_to(source)
    elif how == "a hard link":
        os.link(source, folder / name)
    else:
        shutil.copy(source, folder / name)
    return name


@pytest.mark.parametrize("how", ["itself", "another path", "a link", "a hard link", "a copy"])
@pytest.mark.parametrize("dry_run", [True, False])
def test_the_source_is_not_its_own_list_of_keys(folder: Path, how: str, dry_run: bool) -> None:
    (folder / "out").mkdir()
    keys = _copied(folder, how)
    assert "protected source" in _refused(_spec("county", keys), folder, dry_run=dry_run)


@pytest.mark.parametrize("how", ["itself", "a hard link", "a copy"])
def test_a_joined_table_is_no_list_of_keys(folder: Path, how: str) -> None:
    shutil.move(folder / "data.csv", folder / "other.csv")
    (folder / "data.csv").write_text("person,age\nanna,3\nbert,4\n", encoding="utf-8")
    keys = _copied(folder, how)  # of what is joined
    shutil.move(folder / "data.csv", folder / "more.csv")
    shutil.move(folder / "other.csv", folder / "data.csv")
    keys = "more.csv" if how == "itself" else keys
    join = {"source": "more.csv", "by": "person", "rows": 1}
    assert "protected source" in _refused(_spec("age", keys, join=join), folder, dry_run=True)
    public = {"source": keys, "by": "person", "columns": ["age"], "public": True}
    named = {"source": "more.csv", "by": ["person"], "columns": []}
    spec = _spec("county", ["north"], join=[public, named | {"rows": 1}])
    assert "protected" in _refused(spec, folder, dry_run=True)


def test_the_column_of_the_unit_is_no_group(folder: Path) -> None:
    assert "names the protected person" in _refused(_spec("person", ["anna", "dora"]), folder)


def test_a_synthetic_file_is_held_to_the_same(folder: Path) -> None:
    spec = _spec("county", "data.csv")
    del spec["statistics"]
    more = {"columns": ["county"], "keys": {"county": "data.csv"}, "n_synthetic": 5}
    with pytest.raises(PolicyError, match="protected source"):
        synthesize(spec | more, folder=folder)
    more = {"columns": ["person"], "keys": {"person": ["anna"]}, "n_synthetic": 5}
    with pytest.raises(PolicyError, match="names the protected person"):
        synthesize(spec | more, folder=folder)


def test_a_public_list_is_read(folder: Path) -> None:
    (folder / "counties.csv").write_text("county\nnorth\nsouth\nwest\n")
    made = release(_spec("county", "counties.csv"), folder=folder)
    assert len(made.table) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("how", ["absolute", "upward", "a link", "a linked folder"])
@pytest.mark.parametrize("dry_run", [True, False])
def test_no_file_outside_the_folder_of_the_spec_is_a_list_of_keys(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, how: str, dry_run: bool
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "passwd").write_text("county\nanna\nberta\n", encoding="utf-8")
    name = str(elsewhere / "passwd")
    if how == "upward":
        name = os.path.relpath(elsewhere / "passwd", folder)
    elif how == "a link":
        (folder / "keys.csv").symlink_to(elsewhere / "passwd")
        name = "keys.csv"
    elif how == "a linked folder":
        (folder / "keys").symlink_to(elsewhere)
        name = "keys/passwd"
    spec = _spec("county", name)
    assert "not below the folder of the spec" in _refused(spec, folder, dry_run=dry_run)
    synthetic = {k: v for k, v in spec.items() if k != "statistics"} | {
        "columns": ["county"],
        "keys": {"county": name},
        "n_synthetic": 3,
    }
    with pytest.raises(PolicyError, match="not below the folder"):
        synthesize(synthetic, folder=folder, dry_run=dry_run)
    # Said by whoever runs it, and not by the spec:
    assert release(spec, folder=folder, dry_run=True, keys_from=elsewhere)
    assert synthesize(synthetic, folder=folder, dry_run=True, keys_from=elsewhere)


def test_keys_from_another_folder_on_the_command_line(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "keys.csv").write_text("county\nnorth\n", encoding="utf-8")
    spec = folder / "spec.yaml"
    spec.write_text(yaml.safe_dump(_spec("county", str(elsewhere / "keys.csv"))), encoding="utf-8")
    app, runner = typer.Typer(), CliRunner()
    app.command()(release_command.release)
    refused = runner.invoke(app, [str(spec), "--dry-run"])
    assert isinstance(refused.exception, PolicyError)
    allowed = runner.invoke(app, [str(spec), "--dry-run", "--keys-from", str(elsewhere)])
    assert allowed.exit_code == 0, allowed.output
    auditing = typer.Typer()
    auditing.command()(audit)
    refused = runner.invoke(auditing, [str(spec), "--trials", "100"])
    assert isinstance(refused.exception, PolicyError)
    given = ["--trials", "100", "--keys-from", str(elsewhere)]
    assert runner.invoke(auditing, [str(spec), *given]).exit_code == 0


def test_another_account_on_the_same_source_is_named(folder: Path) -> None:
    """By the file and the column of the unit, under whatever path; other files are not named."""
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    how: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("others", cap=PureDP(10.0), approver="a", reason="r", **how)
    for copied in ("copy.csv", "fourth.csv"):
        shutil.copy(folder / "data.csv", folder / copied)
    spec = _spec("county", ["north"])
    said: list[str] = []
    release(spec, folder=folder, say=said.append)
    assert said == []
    (entry,) = [one for one in ledger.entries("people") if one.kind == "reserve"]
    assert str(entry.said["source_hash"]).isalnum()
    assert "data.csv" not in str(entry.said)
    unopened = release(spec | {"account": "not-open"}, folder=folder, dry_run=True)
    assert "also charged to 'people'" in str(unopened.outlook.elsewhere)  # type: ignore[union-attr]
    again = spec | {"account": "others", "source": "./out/../data.csv"}
    shown = release(again, folder=folder, dry_run=True)
    assert any("also charged to 'people'" in one for one in shown.warnings)  # type: ignore[union-attr]
    release(again, folder=folder, say=said.append)
    assert len(said) == 1
    assert "also charged to 'people'" in said[0]
    # The next month is in another file: what its account shares with the other one is told still.
    release(again | {"source": "copy.csv"}, folder=folder, say=said.append)
    assert len(said) == 2
    assert "Earlier releases of account 'others' and of 'people'" in said[1]
    ledger.open_account("third", cap=PureDP(10.0), approver="a", reason="r", **how)
    release(spec | {"account": "third", "source": "fourth.csv"}, folder=folder, say=said.append)
    assert len(said) == 2


SPARK = pytest.mark.xdist_group("spark_running")  # where it runs already


@pytest.mark.parametrize(
    "source",
    [
        "data.parquet",
        pytest.param("spark://data.parquet", marks=SPARK),
        pytest.param("spark://./data.parquet", marks=SPARK),
        pytest.param("spark://file://{}", marks=SPARK),
        "lines://data.parquet",
    ],
)
def test_the_protected_file_is_not_joined_as_public_under_any_scheme(
    folder: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "ENGINES", dict(engines.ENGINES))
    register_engine("lines", example="lines://name", file=lambda name: name[8:])(
        lambda source, path_of: DuckDB.open(source[8:], path_of)
    )
    pq.write_table(pa.table({"person": ["anna"], "county": ["north"]}), folder / "data.parquet")
    join = {"source": "data.parquet", "by": "person", "columns": ["county"]}
    spec = _spec("county", ["north"], source=source.format(folder / "data.parquet"))
    _refused(spec | {"join": [join | {"public": True}]}, folder)
