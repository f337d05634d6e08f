"""The working folder: nothing beyond it is reached, and no hostile file gets in or shows a row."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.errors import DataError, DiscreetError, InputError, PolicyError
from discreet.releases import load
from discreet.web import workfolder
from discreet.web.workfolder import Workfolder

PERSON = "Zebulon-Quagmire"
CSV = f"person,county\n{PERSON},north\nB,south\n".encode()


@pytest.fixture
def folder(tmp_path: Path) -> Workfolder:
    """A working folder with a secret beside it."""
    inside = tmp_path / "work"
    inside.mkdir()
    (tmp_path / "secret.csv").write_bytes(CSV)
    (inside / "visits.csv").write_bytes(CSV)
    return Workfolder(inside)


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "test",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 1.0},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | changes


WAYS_OUT = [
    "../secret.csv", "a/../../secret.csv", "/etc/passwd", "/etc/hosts.csv", "link.csv",
    "linked/secret.csv", "..", "a\\..\\..\\secret.csv", "visits.csv\0.png", "*.csv", "vis[i]ts.csv",
    "file:///etc/hosts.csv", "duckdb:///x.db?table=t", "", "a" * 300 + ".csv", "x/" * 800 + "y.csv",
    "\n.csv",
]  # fmt: skip


@pytest.mark.parametrize("name", WAYS_OUT)
def test_no_name_leads_out(folder: Workfolder, name: str) -> None:
    (folder.root / "link.csv").symlink_to(folder.root.parent / "secret.csv")
    (folder.root / "linked").symlink_to(folder.root.parent)
    for reach in (folder.inside, folder.screened, folder.columns, folder.spec_text):
        with pytest.raises((InputError, PolicyError)):
            reach(name)


def _change(against: str) -> dict[str, Any]:
    return {"change": {"of": "n", "against": against}}


def test_a_link_that_stays_inside_is_followed(folder: Workfolder) -> None:
    (folder.root / "same.csv").symlink_to(folder.root / "visits.csv")
    assert dict(folder.columns("same.csv")) == {"person": "untyped", "county": "untyped"}


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "../secret.csv"},
        {"source": "/etc/hosts.csv"},
        {"source": "duckdb:///x.db?table=t"},
        {"source": "postgresql://localhost/x"},
        {"source": "notes.txt"},
        {"ledger": "sqlite:////tmp/ledger.db"},
        {"ledger": "sqlite:///../ledger.db"},
        {"ledger": "postgresql://localhost/x"},
        {"output": "../out"},
        {"output": "/tmp/out"},  # noqa: S108
        {"statistics": [{"count": "rows", "by": ["c"], "keys": {"c": "../secret.csv"}}]},
        {"statistics": [{"count": "rows", "name": "n"}, _change("../out/01")]},
        {"statistics": [{"count": "rows", "name": "n"}, _change("/var/out/01")]},
        {"budget": None, "tolerance": {"table": "../t.csv"}},
        {"budget": None, "tolerance": {"groups": {"a": {"all": [{"table": "/t.csv"}]}}}},
        {"budget": None, "tolerance": {"ratio": 3, "sensitive": {"shares": "../s.csv"}}},
        {"join": [{"source": "../secret.csv", "by": ["county"], "public": True}]},
        {"join": [{"source": {"path": "/etc/hosts.csv"}, "by": ["county"], "public": True}]},
        {"join": [{"source": "postgresql://localhost/x", "by": ["county"], "public": True}]},
    ],
)
def test_a_spec_from_the_browser_is_confined(folder: Workfolder, changes: dict[str, Any]) -> None:
    with pytest.raises((InputError, PolicyError)):
        folder.confine(load(spec(**changes), folder=folder.root))


def test_a_spec_file_in_the_folder_may_name_a_database_and_no_path_outside(
    folder: Workfolder,
) -> None:
    named = {"source": "postgresql://localhost/x", "ledger": "postgresql://localhost/y"}
    folder.confine(load(spec(**named), folder=folder.root), from_file=True)
    with pytest.raises(PolicyError):
        folder.confine(load(spec(source="../secret.csv"), folder=folder.root), from_file=True)


def test_what_is_listed_is_what_may_be_named(folder: Workfolder) -> None:
    (folder.root / "link.csv").symlink_to(folder.root.parent / "secret.csv")
    (folder.root / ".hidden.csv").write_bytes(CSV)
    (folder.root / "clinic.yaml").write_text("account: a\nstatistics: []\nledger: sqlite:///b.db\n")
    (folder.root / "other.yaml").write_text("- not a spec\n")
    (folder.root / "bomb.yaml").write_text("a: &a [1]\n" + "b: [*a, *a]\n")
    (folder.root / "b.db").write_bytes(b"SQLite format 3\0")
    (folder.root / "c.db").write_bytes(b"something else")
    assert [file.name for file in folder.data()] == ["visits.csv"]
    assert list(folder.specs()) == ["clinic.yaml"]
    assert folder.ledgers() == ("b.db",)


# -- uploads


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("visits 2026.csv", "visits-2026.csv"),
        ("../../etc/cron.d/x.CSV", "x.csv"),
        ("C:\\data\\Zahlen übersicht.parquet.csv", "Zahlen-übersicht-parquet.csv"),
        (".bashrc.csv", "bashrc.csv"),
        ("-rf.csv", "rf.csv"),
        ("=cmd|'/c calc'!A1.csv", "c-calc-A1.csv"),
        ("a" * 400 + ".csv", "a" * 80 + ".csv"),
        ("<script>alert(1)</script>.csv", "script.csv"),
        (".csv", "data.csv"),
    ],
)
def test_an_upload_gets_a_safe_name(folder: Workfolder, given: str, stored: str) -> None:
    assert folder.receive(given, io.BytesIO(CSV)) == stored
    path = folder.root / stored
    assert path.read_bytes() == CSV
    assert path.stat().st_mode & 0o177 == 0


def test_an_upload_overwrites_nothing_and_runs_nothing(folder: Workfolder) -> None:
    before = (folder.root / "visits.csv").read_bytes()
    assert folder.receive("visits.csv", io.BytesIO(CSV + b"C,west\n")) == "visits-2.csv"
    assert (folder.root / "visits.csv").read_bytes() == before
    (folder.root / "target.csv").symlink_to(folder.root.parent / "elsewhere.csv")
    assert folder.receive("target.csv", io.BytesIO(CSV)) == "target-2.csv"
    assert not (folder.root.parent / "elsewhere.csv").exists()


@pytest.mark.parametrize("name", ["run.sh", "page.html", "a.csv.gz", "spec.yaml", "noending", ""])
def test_only_csv_and_parquet_come_in(folder: Workfolder, name: str) -> None:
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        folder.receive(name, io.BytesIO(CSV))


def _table(**columns: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


HOSTILE: dict[str, tuple[str, bytes]] = {
    "gzip": ("a.csv", gzip.compress(CSV)),
    "zip": ("a.csv", b"PK\x03\x04" + b"\0" * 64),
    "nul in the header": ("a.csv", b"a,b\0\n1,2\n"),
    "utf-16 without its mark": ("a.csv", "a,b\n1,2\n".encode("utf-16-le")),
    "empty": ("a.csv", b""),
    "no names": ("a.csv", b"\n1,2\n"),
    "no header": ("a.csv", f"{PERSON},1980-02-29,3.5\n".encode()),
    "two of a name": ("a.csv", b"a,a\n1,2\n"),
    "one long line": ("a.csv", b"a," * 100_000),
    "an open quote": ("a.csv", b'"a,b\n' + b"1,2\n" * 50_000),
    "many columns": ("a.csv", ",".join(f"c{i}" for i in range(2000)).encode() + b"\n"),
    "a line in a name": ("a.csv", b'"a\nb",c\n1,2\n'),
    "no parquet": ("a.parquet", CSV),
    "parquet without an end": ("a.parquet", _table(a=[1])[:-3]),
    "parquet with a long footer": ("a.parquet", b"PAR1" + b"\0" * 32 + b"\xff\xff\xff\x7fPAR1"),
    "parquet with a broken footer": ("a.parquet", b"PAR1" + b"\xff" * 64 + b"\x20\0\0\0PAR1"),
    "parquet with a bad name": ("a.parquet", _table(**{"a\x1b[31m": [1]})),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_in_words_and_leaves_nothing(
    folder: Workfolder, what: str
) -> None:
    name, body = HOSTILE[what]
    before = sorted(os.listdir(folder.root))
    with pytest.raises(DiscreetError) as refused:
        folder.receive(name, io.BytesIO(body))
    assert PERSON not in str(refused.value)
    assert "\x1b" not in str(refused.value)
    assert sorted(os.listdir(folder.root)) == before


def test_utf_16_is_known_by_its_mark(folder: Workfolder) -> None:
    name = folder.receive("a.csv", io.BytesIO("größe;ort\n1,5;Köln\n".encode("utf-16")))
    assert list(folder.columns(name)) == ["größe", "ort"]


class Endless(io.RawIOBase):
    """A file without end that says how much of it was read."""

    def __init__(self) -> None:
        self.taken = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        chunk = (b"a,b\n" if not self.taken else b"1,2\n") * (size // 4)
        self.taken += len(chunk)
        return chunk


def test_a_file_beyond_the_bound_is_not_read_to_its_end(folder: Workfolder) -> None:
    stream: Any = Endless()
    with pytest.raises(InputError, match="64 MB"):
        folder.receive("large.csv", stream)
    assert stream.taken <= workfolder.MOST_BYTES + 2**20
    assert sorted(os.listdir(folder.root)) == ["visits.csv"]


def test_a_parquet_bomb_is_known_by_its_footer(
    folder: Workfolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = _table(a=pa.array([7] * 200_000, pa.int8()))
    assert len(body) < 2_000
    assert folder.receive("fine.parquet", io.BytesIO(body)) == "fine.parquet"
    monkeypatch.setattr(workfolder, "MOST_ROWS", 100_000)
    with pytest.raises(DataError, match="unpacks"):
        folder.receive("rows.parquet", io.BytesIO(body))
    monkeypatch.setattr(workfolder, "MOST_ROWS", 10**9)
    monkeypatch.setattr(workfolder, "MOST_EXPANDED", 1_000)
    zeros = _table(a=pa.array([bytes(50_000)] * 3, pa.binary()))
    with pytest.raises(DataError, match="unpacks"):
        folder.receive("bytes.parquet", io.BytesIO(zeros))


@pytest.mark.parametrize(
    ("header", "said", "encoding"),
    [
        ("Größe;Ort", "", "windows-1252"),
        ("Groesse;Ort", "latin-1", "latin-1"),
        ("Größe;Ort", "utf-16", "utf-16"),
    ],
)
def test_an_upload_in_another_encoding_is_read_as_its_header_or_its_curator_says(
    folder: Workfolder, header: str, said: str, encoding: str
) -> None:
    body = f"{header}\n1,5;Köln\n".encode(encoding)
    name = folder.receive("orte.csv", io.BytesIO(body), said)
    found = folder.proposed(name, said)
    assert (found.delimiter, found.decimal, found.encoding) == (";", ",", encoding)
    assert list(folder.columns(name, found)) == header.split(";")
    with pytest.raises(DiscreetError):
        folder.receive("orte.csv", io.BytesIO(body), "ebcdic")


@pytest.mark.parametrize(
    "row",
    ["Zoë,y\n".encode("latin-1"), "é".encode()[:1], b"1,\0\n", b'"1,2\n', b"\xff\xfe,1\n", b"\n"],
)
@pytest.mark.parametrize("before", [0, 50_000])
def test_no_line_but_the_header_decides_whether_a_file_is_taken(
    folder: Workfolder, row: bytes, before: int
) -> None:
    body = b"person,county\n" + b"x,y\n" * before + row
    (folder.root / "there.csv").write_bytes(body)
    for name in ("there.csv", folder.receive("sent.csv", io.BytesIO(body))):
        assert folder.proposed(name).encoding == "utf-8"
        assert list(folder.columns(name)) == ["person", "county"]


def test_odd_but_honest_headers_are_kept(folder: Workfolder) -> None:
    body = '\ufeff"<script>alert(1)</script>","=1+1","it\'s","größe"\n1,2,3,4\n'.encode()
    name = folder.receive("odd.csv", io.BytesIO(body))
    assert list(folder.columns(name)) == ["<script>alert(1)</script>", "=1+1", "it's", "größe"]
