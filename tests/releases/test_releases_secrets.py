"""No data value in any message, log, traceback, file or table but the released ones.

A secret is planted in every column of bad data of every kind; whatever happens, it is looked for in
everything that a run leaves or says.
"""

from __future__ import annotations

import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import release
from hunting import CSV, SECRET, Hunt, lines, tables

MORE = {
    "a date in a number column": lines("a,north,2026-01-31", f"b,{SECRET},1"),
    "only a header": b"person,county,cost\n",
    "a secret column": f"person,county,cost,{'x' * 40}\na,north,1,{SECRET}\n".encode(),
    "an empty file": b"",
}
CSV = CSV | MORE


def _arrow() -> dict[str, pa.Table]:
    return tables() | {
        "cost is a date": pa.table(
            {"person": [SECRET], "county": ["north"], "cost": pa.array([1], pa.date32())}
        ),
        "cost is a dictionary": pa.table(
            {
                "person": ["a"],
                "county": pa.array([SECRET]).dictionary_encode(),
                "cost": pa.array([SECRET]).dictionary_encode(),
            }
        ),
    }


@pytest.fixture
def opened(tmp_path: Path) -> None:
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(100.0),
        approver="tester",
        reason="test",
    )


def _spec(spec: dict[str, Any]) -> dict[str, Any]:
    keys = {"county": ["north", "south"]}
    spec["statistics"] = [
        {"count": "rows", "by": ["county"], "keys": keys},
        {"sum": "cost", "bounds": [0, 20], "resolution": 0.5, "by": ["county"], "keys": keys},
        {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 1},
        {"best": "county", "score": "count", "of": "county", "candidates": ["north", "south"]},
    ]
    return spec


def _released(asked: dict[str, Any], folder: Path, **more: Any) -> object:
    """Release, or refuse in our own words; anything else fails the test."""
    try:
        return release(asked, folder=folder, **more)
    except DiscreetError:
        raise
    except Exception as error:
        pytest.fail(f"not refused in our words: {type(error).__name__}")


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("content", CSV.values(), ids=CSV)
def test_no_csv_gives_its_secret_away(content: bytes, spec: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    asked = _spec(spec) | {"source": "data.csv"}
    said: list[str] = []
    hunt = Hunt(tmp_path)
    told = hunt.told(lambda: _released(asked, tmp_path, say=said.append))
    assert hunt.found(told, *said) == []


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("kind", _arrow())
def test_no_table_gives_its_secret_away(kind: str, spec: dict[str, Any], tmp_path: Path) -> None:
    pq.write_table(_arrow()[kind], tmp_path / "data.parquet")
    asked = _spec(spec) | {"source": "data.parquet"}
    hunt = Hunt(tmp_path)
    assert hunt.found(hunt.told(lambda: _released(asked, tmp_path))) == []


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("text in a number column", False),
        ("secret people and counties", False),
        ("a ragged row", False),
        ("not UTF-8", False),
        ("10,000 characters", False),
        ("only a header", False),
        ("an empty file", True),
    ],
)
def test_bad_rows_are_handled_as_documented(
    kind: str, refused: bool, spec: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_bytes(CSV[kind])
    asked = _spec(spec) | {"source": "data.csv"}
    with pytest.raises(DiscreetError) if refused else nullcontext():
        release(asked, folder=tmp_path)


@pytest.mark.usefixtures("opened")
def test_a_broken_parquet_file_is_refused_without_a_word_of_it(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    table = pa.table({"person": [SECRET] * 999, "county": ["north"] * 999, "cost": [1.0] * 999})
    pq.write_table(table, tmp_path / "data.parquet", compression="none")
    whole = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "data.parquet").write_bytes(whole[: len(whole) // 2])
    asked = _spec(spec) | {"source": "data.parquet"}
    with pytest.raises(DiscreetError) as told:
        release(asked, folder=tmp_path)
    assert SECRET not in "".join(traceback.format_exception(told.value))


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("kind", ["mixed and used", "mixed and not used", "twice", "twice, mixed"])
def test_no_frame_gives_its_secret_away(
    kind: str, dry_run: bool, spec: dict[str, Any], tmp_path: Path
) -> None:
    frame = pd.DataFrame({"person": ["a", "b"], "county": ["north", "south"], "cost": [1, 2]})
    mixed = pd.Series([1, SECRET], dtype=object)
    frame["cost" if kind == "mixed and used" else "other"] = mixed
    if kind.startswith("twice"):
        frame = pd.concat([frame, mixed.rename("cost")], axis=1)
        frame["cost"] = frame["cost"].astype(object) if "mixed" in kind else frame["cost"]
    asked = {name: value for name, value in _spec(spec).items() if name != "source"}
    hunt = Hunt(tmp_path)
    told = hunt.told(lambda: _released(asked, tmp_path, data=frame, dry_run=dry_run))
    assert hunt.found(told) == []
    assert ("DataError" in told) == kind.startswith("twice")


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_file_without_a_header_does_not_tell_its_first_person(
    sign: str, dry_run: bool, spec: dict[str, Any], tmp_path: Path
) -> None:
    rows = [(SECRET, "north", "3"), ("b", "south", "4")]
    content = "".join(sign.join(row) + "\n" for row in rows)
    (tmp_path / "data.csv").write_text(content, encoding="utf-8")
    asked = _spec(spec) | {"source": "data.csv"}
    hunt = Hunt(tmp_path)
    told = hunt.told(lambda: _released(asked, tmp_path, dry_run=dry_run))
    assert hunt.found(told) == []
    assert "DataError" in told
