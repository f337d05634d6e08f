"""The states that the page can be in: tests look at each of them, and let requests fail in each.

Every page of the application is found by its route; the states below are what a person can come to
beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import discreet
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.web import create_app
from discreet.web.release.spec_form import written

PROMISE = {"posterior": 0.12, "p": 0.05, "about": "membership", "every_output": True}
COUNTS = {"count": "rows", "by": ["county"], "keys": {"county": ["north", "south"]}}
MARGINS = {
    "count": "rows",
    "margins": {"up_to": 2, "of": ["county", "cost"]},
    "keys": {"county": ["north", "south"], "cost": ["1", "2", "3"]},
}
OLDER = {"path": "older.csv", "delimiter": ";", "encoding": "latin-1", "types": {"Jahr": "integer"}}
MEAN = {"mean": "cost", "bounds": [0, 500], "resolution": 1}
SPEC: dict[str, Any] = {
    "account": "looked-at",
    "purpose": "monthly open data",
    "source": "looked.csv",
    "protect": {"unit": "person", "column": "patient", "rows": 1},
    "budget": {"epsilon": 0.5},
    "statistics": [COUNTS, MEAN],
    "ledger": "sqlite:///looked.db",
    "output": "out-looked",
}
LONG = "Number-of-registered-outpatient-visits-by-municipality-of-residence"
LONG_KEYS = ["Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch", "Ü", "north, by the sea"]
UNLESS = "/tolerate?kind=unless&after=25&fold=3"


def spec_link(**changes: Any) -> str:
    """The address of a spec: the one above, with changes."""
    told = SPEC | changes
    if "tolerance" in changes:
        del told["budget"]
    return f"/release?spec={quote(written(told), safe='')}"


FILE = {name: SPEC[name] for name in SPEC if name != "statistics"} | {
    "columns": ["county"], "keys": COUNTS["keys"], "n_synthetic": 20, "n": 90,
}  # fmt: skip
KEPT = quote("tolerance: {ratio: 3, about: membership}")

STATES = {
    "tolerate-profile": f"{UNLESS}&worry=in",
    "tolerate-map": f"{UNLESS}&worry=both",
    "tolerate-two": f"{UNLESS}&worry=in&kind2=difference&worry2=value&points2=20&known2=100",
    "tolerate-compared": f"{UNLESS}&worry=in&frozen={KEPT}",
    "tolerate-more": f"{UNLESS}&worry=in&odds=2&neighbours=3",
    "tolerate-approval": f"/approval?promise={KEPT}",
    "tolerate-refused": "/tolerate?kind=posterior&before=5&after=2",
    "cost-budgets": "/cost?kind=epsilon&epsilon=0.5&kind2=epsilon&epsilon2=2&count=100&limit=90",
    "cost-refused": "/cost?kind=epsilon&epsilon=0&count=-1",
    "series-promise": "/series?mechanism=epsilon&budget=0.01&about=difference&limit=20",
    "series-refused": "/series?budget=-1",
    "explain-delta": "/explain?kind=approximate&epsilon=2&delta=1e-6&audience=regulator&value=10",
    "explain-refused": "/explain?epsilon=-1&before=",
    "explain-me": "/explain/me?epsilon=0.5",
    "explain-me-unpromised": "/explain/me",
    "explain-me-replace": "/explain/me?epsilon=0.5&adjacency=replace",
    "explain-me-refused": "/explain/me?epsilon=-1",
    "attack-draining": "/attack?name=draining",
    "attack-refused": "/attack?before=100&times=1.5",
    "release-along": "/release?promise=tolerance%3A%20%7Bratio%3A%203%7D",
    "release-begun": "/release?source=looked.csv",
    "release-ready": spec_link(),
    "release-over": spec_link(budget={"epsilon": 9}),
    "release-over-promise": spec_link(account="promised", tolerance=PROMISE | {"posterior": 0.3}),
    "release-no-account": spec_link(account="nobody-yet", tolerance=PROMISE),
    "release-margins": spec_link(statistics=[MARGINS]),
    "release-older-file": spec_link(
        source=OLDER, statistics=[COUNTS | {"by": ["Ort"], "keys": {"Ort": ["Köln"]}}]
    ),
    "release-approval": spec_link().replace("/release", "/approval"),
    "release-long-names": spec_link(
        account=LONG,
        purpose=LONG.replace("-", " "),
        source="long.csv",
        statistics=[{"count": "rows", "by": [LONG], "keys": {LONG: LONG_KEYS}}],
    ),
    "release-wrong": spec_link(budget={"epsilon": -1}, protect={"unit": "person", "rows": 0}),
    "release-unreadable": "/release?spec=account%3A%20%5B",
    "release-not-made": "/release/made/nothing-of-the-kind",
    "synthetic-begun": "/synthetic?source=looked.csv",
    "synthetic-ready": f"/synthetic?spec={quote(written(FILE), safe='')}",
    "ledger-accounts": "/ledger?ledger=looked.db",
    "ledger-verified": "/ledger?ledger=looked.db&verify=true",
    "ledger-altered": f"/ledger?ledger=looked.db&verify=true&head={'0' * 64}",
    "ledger-grant-refused": "/ledger/grant?ledger=looked.db&account=looked-at&epsilon=x",
    "ledger-unknown": "/ledger?ledger=unknown.db",
    "nowhere": "/nowhere",
}
MADE = ("release-made", "ledger-grant", "release-altered")
"""States that `prepare` gives."""


def _routes(known: Iterable[Any]) -> Iterator[Any]:
    for route in known:
        included = getattr(route, "original_router", None)  # FastAPI keeps a router whole
        yield from (route,) if included is None else _routes(included.routes)


@cache
def pages() -> Mapping[str, str]:
    """The pages that take no name, by what a state is called: found, so that none is forgotten."""
    found, app = {}, create_app()
    app.whole()
    for route in _routes(app.routes):
        path = getattr(route, "path", "")
        shown = "GET" in getattr(route, "methods", ()) and not re.search(r"[{.]|^/$|^/api", path)
        if shown and path not in ("/release/look", "/release/open", "/ledger/grant"):
            found[path.strip("/").replace("/", "-")] = path
    return found


def prepare(folder: Path) -> dict[str, str]:
    """Put the data, the ledgers and a release into a folder; return the states that it gives."""
    rows = "".join(f"p{i},{'north' if i % 3 else 'south'},{i}\n" for i in range(90))
    (folder / "looked.csv").write_text(f"patient,county,cost\n{rows}", encoding="utf-8")
    (folder / "long.csv").write_text(f"patient,{LONG}\np1,Ü\n", encoding="utf-8")
    (folder / "older.csv").write_bytes("patient;Ort;Jahr\np1;Köln;1980\n".encode("latin-1"))
    ledger = Ledger.open(f"sqlite:///{folder / 'looked.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    terms |= {"approver": "A. Curator", "reason": "review"}
    for name in ("looked-at", LONG):
        ledger.open_account(name, cap=PureDP(3.0), **terms)
    ledger.open_account("promised", promise=PROMISE, **terms)
    made = discreet.release(SPEC, folder=folder)
    more = LONG.replace("-", " ")
    raised = f"/ledger/grant?ledger=looked.db&account=looked-at&epsilon=1&approver=A&reason={more}"
    changed = discreet.release(SPEC | {"purpose": "to be altered"}, folder=folder)
    links = [f"/release/made/{one.to_dict()['release_id']}" for one in (made, changed)]
    table = folder / SPEC["output"] / changed.to_dict()["release_id"] / "table.csv"
    table.chmod(0o600)
    table.write_bytes(table.read_bytes().replace(b"north", b"South"))
    return dict(zip(MADE, (links[0], raised, links[1]), strict=True))
