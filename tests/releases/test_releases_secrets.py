"""No data value in any message, log, traceback, file or table but the released ones.

A secret is planted in every column of bad data of every kind; whatever happens, it is looked for in
everything that a run leaves or says.
"""

from __future__ import annotations

import io
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import release

SECRET = "zebra7351"  # noqa: S105
LONG = SECRET * 1_200


def _lines(*rows: str) -> bytes:
    return ("person,county,cost\n" + "\n".join(rows) + "\n").encode()


CSV: dict[str, bytes] = {
    "text in a number column": _lines(f"a,north,{SECRET}", "b,south,3"),
    "secret people and counties": _lines(f"{SECRET},north,1", f"b,{SECRET},2", f"{SECRET},,"),
    "a date in a number column": _lines("a,north,2026-01-31", f"b,{SECRET},1"),
    "a ragged row": _lines(f"a,north,{SECRET},{SECRET},{SECRET}", "b,south,1"),
    "a short row": _lines(f"{SECRET}", "b,south,1"),
    "an unclosed quote": _lines(f'a,"{SECRET},1', "b,south,1"),
    "not UTF-8": _lines("a,north,1") + SECRET.encode() + b"\xff\xfe,north,1\n",
    "a NUL": _lines(f"a\0{SECRET},north,1"),
    "10,000 characters": _lines(f"{LONG},north,{LONG}", f"b,{LONG},1"),
    "numbers at the edges": _lines(f"a,north,1e308,{SECRET}", "b,north,-1e308"),
    "only a header": b"person,county,cost\n",
    "a secret column": f"person,county,cost,{'x' * 40}\na,north,1,{SECRET}\n".encode(),
    "an empty file": b"",
}


def _arrow() -> dict[str, pa.Table]:
    return {
        "nested": pa.table({"person": ["a"], "county": [[SECRET]], "cost": [1.0]}),
        "binary": pa.table({"person": ["a"], "county": [SECRET.encode()], "cost": [1.0]}),
        "missing column": pa.table({"person": [SECRET], "cost": [1.0]}),
        "cost is text": pa.table({"person": ["a"], "county": ["north"], "cost": [SECRET]}),
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


def _spec(spec: dict[str, Any], nulls: str) -> dict[str, Any]:
    keys = {"county": ["north", "south"]}
    spec["nulls"] = nulls
    spec["statistics"] = [
        {"count": "rows", "by": ["county"], "keys": keys},
        {"sum": "cost", "bounds": [0, 20], "resolution": 0.5, "by": ["county"], "keys": keys},
        {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 1},
        {"best": "county", "score": "count", "of": "county", "candidates": ["north", "south"]},
    ]
    return spec


def _told(run: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> tuple[str, bool]:
    """Run, and return everything that was said, and whether it was refused in our own words."""
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    logging.getLogger().addHandler(handler)
    refused = False
    try:
        run()
    except DiscreetError as error:
        refused = True
        heard.write("".join(traceback.format_exception(error)))
        heard.write(repr(error))
    finally:
        logging.getLogger().removeHandler(handler)
    out, err = capsys.readouterr()
    return heard.getvalue() + out + err, refused


def _left(folder: Path, besides: str) -> bytes:
    return b"".join(
        path.read_bytes() + str(path).encode()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != besides
    )


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("nulls", ["drop", "refuse"])
@pytest.mark.parametrize("content", CSV.values(), ids=CSV)
def test_no_csv_gives_its_secret_away(
    content: bytes,
    nulls: str,
    spec: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    asked = _spec(spec, nulls) | {"source": "data.csv"}
    said: list[str] = []
    told, _ = _told(lambda: release(asked, folder=tmp_path, say=said.append), capsys)
    assert SECRET not in told + "".join(said)
    assert SECRET.encode() not in _left(tmp_path, "data.csv")


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("nulls", ["drop", "refuse"])
@pytest.mark.parametrize("kind", _arrow())
def test_no_table_gives_its_secret_away(
    kind: str,
    nulls: str,
    spec: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pq.write_table(_arrow()[kind], tmp_path / "data.parquet")
    asked = _spec(spec, nulls) | {"source": "data.parquet"}
    told, _ = _told(lambda: release(asked, folder=tmp_path), capsys)
    assert SECRET not in told
    assert SECRET.encode() not in _left(tmp_path, "data.parquet")


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("text in a number column", False),
        ("secret people and counties", False),
        ("a ragged row", True),
        ("not UTF-8", True),
        ("10,000 characters", False),
        ("only a header", False),
        ("an empty file", True),
    ],
)
def test_bad_rows_are_handled_as_documented(
    kind: str,
    refused: bool,
    spec: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "data.csv").write_bytes(CSV[kind])
    asked = _spec(spec, "drop") | {"source": "data.csv"}
    _, was = _told(lambda: release(asked, folder=tmp_path), capsys)
    assert was == refused


@pytest.mark.usefixtures("opened")
def test_a_broken_parquet_file_is_refused_without_a_word_of_it(
    spec: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"person": [SECRET] * 999, "county": ["north"] * 999, "cost": [1.0] * 999})
    pq.write_table(table, tmp_path / "data.parquet", compression="none")
    whole = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "data.parquet").write_bytes(whole[: len(whole) // 2])
    asked = _spec(spec, "drop") | {"source": "data.parquet"}
    told, refused = _told(lambda: release(asked, folder=tmp_path), capsys)
    assert refused
    assert SECRET not in told
