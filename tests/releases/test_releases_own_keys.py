"""The protected data are not a list of public keys, under whatever name they come."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import release
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
