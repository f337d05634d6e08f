"""What is PostgreSQL's own: rights, collations, odd types, and that nothing stays behind."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import psycopg
import pytest

from discreet.errors import DataError, SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines import postgresql
from discreet.releases.engines.base import Counting, KeySet, Number, Query, Summing, Tally
from discreet.releases.engines.postgresql import PostgreSQL
from discreet.releases.formula import parse, resolve
from discreet.releases.rows import Feature

ONE = Contribution()


def _run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


def _counted(engine: PostgreSQL, column: str, keys: list[str]) -> Any:
    cells = KeySet((column,), tuple((key,) for key in keys))
    return engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"]


def test_types_of_its_own(postgres_url: str) -> None:
    _run(
        postgres_url,
        "create type mood as enum ('sad', 'glad')",
        "create domain euros as numeric check (value < 1e6)",
        """create table t (u uuid, m mood, c char(5), v varchar(9), e euros, j jsonb, a int[],
           n numeric, b bytea, t time, ts timestamptz)""",
        """insert into t select gen_random_uuid(), 'sad', 'x', 'x', 12.5, '{}', '{1}',
           case i when 1 then 'NaN'::numeric when 2 then 'Infinity' when 3 then 1e400::numeric
           when 4 then 1e-400::numeric else -5 end, '', '10:00', '2026-01-31 12:00+02'
           from generate_series(1, 5) i""",
    )
    engine = PostgreSQL.open(f"{postgres_url}?table=t")
    assert list(engine.columns.values()) == [
        *["text"] * 4,
        *["number", "other", "other", "number", "other", "moment", "moment"],
    ]
    assert _counted(engine, "m", ["sad", "glad"]) == [5, 0]
    assert _counted(engine, "c", ["x", "x    "]) == [5, 0]
    assert _counted(engine, "t", ["10:00:00"]) == [5]
    assert _counted(engine, "ts", ["2026-01-31 10:00:00+00"]) == [5]
    number = Number("n", -2, 3, Fraction(1))
    cost = Number("e", 0, 1000, Fraction(1, 10))
    query = Query(("u",), None, ONE, (Tally("t", number), Summing("s", cost)))
    found = engine.measure(query)
    assert found == {"t": [[1, 0, 1, 0, 0, 2]], "s": [5 * 125]}
    assert engine.measure(Query(("j",), None, ONE, (Counting("n"),)))["n"] == [1]
    engine.close()


def test_texts_are_compared_byte_by_byte_whatever_the_collation(postgres_url: str) -> None:
    _run(
        postgres_url,
        "create collation blind "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "create table t (k text collate blind, u text collate blind)",
        "insert into t values ('a', 'x'), ('A', 'X'), ('a', 'x')",
    )
    engine = PostgreSQL.open(f"{postgres_url}?table=public.t")
    assert _counted(engine, "k", ["a", "A"]) == [2, 1]
    cells = KeySet(("k",), (("a",), ("A",)))
    assert engine.measure(Query(("u",), cells, ONE, (Counting("n"),)))["n"] == [1, 1]
    engine.close()


def test_texts_made_of_constants_are_ordered_by_bytes_too(postgres: Any) -> None:
    """They have the collation of the database, in which a comes before B."""
    postgres.execute(
        "create database in_english template template0 locale_provider icu icu_locale 'en'"
    )
    url = postgres.url("in_english")
    try:
        _run(url, "create table t (u int, x int)", "insert into t values (1, 1), (1, 2), (2, 2)")
        engine = PostgreSQL.open(f"{url}?table=t")
        word = "if(x = 1, 'B', 'a')"
        later = resolve(parse(f"{word} > 'C'"), engine.columns)
        assert _counted(engine.computed({"late": later}), "late", ["true", "false"]) == [2, 1]
        features = {"last": Feature(max=word).resolved(engine.columns, {})}
        assert _counted(engine.per_unit(("u",), features), "last", ["a", "B"]) == [2, 0]
        engine.close()
    finally:
        postgres.drop("in_english")


@pytest.mark.parametrize("apart", [1, 600_000])
def test_units_that_are_whole_numbers_keep_their_best_rows(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, apart: int
) -> None:
    """3,000 units, from far below zero on, with two rows of values 0 and 2^28: one is kept.

    Far apart, they leave one bit to the priority. Half of them tie then, and what decides are bits
    of the unit and of a secret: up to 32 more one way than the other. Beside that Bin(3000, 1/2) is
    off by 180 or more (6.5 sd) with probability below 1e-9.
    """
    monkeypatch.setattr(postgresql, "_LEAST_PRIORITY", 1)
    _run(
        postgres_url,
        "create table t (u int, k int, v float8)",
        f"insert into t select (i - 2000) * {apart}, 7 + i % 2, j * 2.0^28 "  # noqa: S608
        "from generate_series(1, 3000) i, generate_series(0, 1) j",
        "insert into t values (null, 7, 1), (1, 9, 1), (2, null, 1)",
    )
    engine = PostgreSQL.open(f"{postgres_url}?table=t")
    cells = KeySet(("k",), (("7",), ("8",)))
    tall = Number("v", 0, 2**28, Fraction(1))
    query = Query(("u",), cells, ONE, (Counting("n"), Summing("s", tall)))
    found = engine.measure(query)
    engine.close()
    assert found["n"] == [1500, 1500]
    assert sum(found["s"]) % 2**28 == 0
    assert abs(sum(found["s"]) // 2**28 - 1500) < 212


def test_nothing_stays_behind_and_all_passes_see_the_same_rows(postgres_url: str) -> None:
    _run(postgres_url, "create table t (u int, k text)", "insert into t values (1, 'a'), (2, 'b')")
    objects = (
        "select (select count(*) from pg_class) + (select count(*) from pg_proc) "
        "+ (select count(*) from pg_type)"
    )
    with psycopg.connect(postgres_url, autocommit=True) as other:
        before = other.execute(objects).fetchone()
        engine = PostgreSQL.open(f"{postgres_url}?table=t")
        assert _counted(engine, "k", ["a"]) == [1]
        other.execute("insert into t values (3, 'a')")
        assert _counted(engine, "k", ["a"]) == [1]
        assert len(engine.find_keys(("u",), ("k",), ONE).units) == 2
        process = engine._connection.info.backend_pid
        other.execute("select pg_terminate_backend(%s)", [process])
        with pytest.raises(DataError, match="PostgreSQL could not"):
            _counted(engine, "k", ["a"])
        engine.close()
        for _ in range(100):
            gone = "select count(*) from pg_stat_activity where pid = %s"
            if other.execute(gone, [process]).fetchone() == (0,):
                break
        assert other.execute(objects).fetchone() == before


def test_what_a_role_may_not_do_is_told(postgres: Any, postgres_url: str) -> None:
    name = postgres_url.rsplit("/", 1)[1]
    _run(
        postgres_url,
        "create table t (k text)",
        "insert into t values ('secret')",
        f"create role reader_{name} login password 'pw'",
        f"revoke temporary on database {name} from public",
    )
    url = f"postgresql://reader_{name}:pw@127.0.0.1:{postgres.port}/{name}"
    try:
        with pytest.raises(DataError, match="temporary tables"):
            PostgreSQL.open(f"{url}?table=t")
        _run(postgres_url, f"grant temporary on database {name} to public")
        with pytest.raises(DataError, match="grant SELECT"):
            PostgreSQL.open(f"{url}?table=t")
        with pytest.raises(SpecError, match="no table 'nothing'"):
            PostgreSQL.open(f"{url}?table=nothing")
    finally:
        _run(postgres_url, f"drop owned by reader_{name}", f"drop role reader_{name}")


def test_a_fault_is_told_without_the_data(postgres_url: str) -> None:
    _run(
        postgres_url,
        "create table raw (k text)",
        "insert into raw values ('secret')",
        "create view v as select k::int as k from raw",
    )
    engine = PostgreSQL.open(f"{postgres_url}?table=v")
    with pytest.raises(DataError, match="PostgreSQL could not") as told:
        _counted(engine, "k", ["1"])
    assert "secret" not in str(told.value)
    assert told.value.__cause__ is None
    engine.close()


def test_draws_do_not_depend_on_a_seed_that_someone_set(postgres_url: str) -> None:
    """Two engines with the same `setseed` keep different rows: 500 units of 10 rows, one each.

    That both keep the same rows by chance has probability 10^-500.
    """
    _run(
        postgres_url,
        "create table t as select i / 10 as u, (i % 10)::text as k from generate_series(0, 4999) i",
    )
    kept = []
    for _ in range(2):
        engine = PostgreSQL.open(f"{postgres_url}?table=t")
        engine._run("select setseed(0.5)")
        query = Query(("u",), KeySet(("u", "k"), _pairs()), ONE, (Counting("n"),))
        kept.append(engine.measure(query)["n"])
        engine.close()
    assert sum(kept[0]) == sum(kept[1]) == 500  # type: ignore[arg-type]
    assert kept[0] != kept[1]


def _pairs() -> tuple[tuple[str, ...], ...]:
    return tuple((str(u), str(k)) for u in range(500) for k in range(10))
