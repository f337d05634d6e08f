"""The page on JSON names every key that the commands print, and no other."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet import errors
from discreet.cli import _COMMANDS, main
from discreet.errors import DiscreetError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
SMALL = """
account: clinic-patients
purpose: a small table
source: visits.parquet
protect: {unit: person, column: patient_id, rows: 2}
budget: {epsilon: 0.5}
statistics: [{count: rows}]
ledger: sqlite:///ledger.db
output: out/
"""
LEDGER = ["--ledger", "sqlite:///ledger.db"]
OPENED = ["--filter", "pure", "--epsilon", "9", "--approver", "a", "--reason", "b"]


def _below(kind: type[DiscreetError]) -> Iterator[type[DiscreetError]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def test_the_page_names_every_code_and_the_errors_have_one_home() -> None:
    for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = [one for one in _below(DiscreetError) if one.__module__.startswith("discreet.")]
    named = re.search(r"`code` is (.*?)\. `next`", PAGE, re.S)
    assert named is not None
    codes = set(re.findall(r"`([a-z-]+)`", named[1]))
    shell = (ROOT / "src/discreet/cli/__init__.py").read_text(encoding="utf-8")
    assert codes == {one.code for one in ours} | set(re.findall(r'"code": "(\w+)"', shell))
    # Whoever catches by code finds the class in discreet.errors; others only say more.
    homes = {one.code: one for one in ours if one.__module__ == "discreet.errors"}
    assert {one.code for one in ours} == set(homes)
    assert all(issubclass(one, homes[one.code]) for one in ours)
    assert {one.__name__ for one in homes.values()} | {"DiscreetError"} == set(errors.__all__)


def documented(command: str) -> tuple[set[str], set[str]]:
    """Return the keys that must be there, and those that may be missing."""
    section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert section is not None, command
    must, may = set(), set()
    for keys, said in re.findall(r"^\| (`[^|]+) \| (.*) \|$", section[1], re.M):
        (may if "may be missing" in said.lower() else must).update(re.findall(r"`(\w+)`", keys))
    return must, may


def inner(command: str, key: str) -> set[str]:
    """Return the keys inside another one that its line on the page names."""
    section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert section is not None, command
    line = re.search(rf"^\| `{key}` \| (.*) \|$", section[1], re.M)
    assert line is not None, (command, key)
    return set(re.findall(r"`(\w+)`", line[1])) - {"every_output", "on_average"}


def printed(*words: str) -> dict[str, Any]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as way_out:
        main([*words, "--json"])
    assert way_out.value.code in (0, 1, None), said.getvalue()
    return dict(json.loads(said.getvalue()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clinic and the patients, with data and open accounts."""
    where = tmp_path_factory.mktemp("json")
    for name, make in (("clinic", "generate.py"), ("synthetic", "make_patients.py")):
        shutil.copytree(ROOT / "examples" / name, where, dirs_exist_ok=True)
        subprocess.run([sys.executable, make], cwd=where, check=True, stdout=subprocess.DEVNULL)
    (where / "small.yaml").write_text(SMALL)
    return where


@pytest.mark.slow
def test_every_key_is_on_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, brief_audits: None
) -> None:
    monkeypatch.chdir(folder)
    clinic = [*LEDGER, "--account", "clinic-patients"]
    seen: dict[str, list[set[str]]] = {}

    def run(*words: str) -> dict[str, Any]:
        out = printed(*words)
        seen.setdefault(words[0], []).append(set(out))
        return out

    run("choose", "--difference", "0.1")
    read = run("choose", "--posterior", "0.12", "--q", "0.05", "--about", "value")
    assert inner("choose", "readings") == set(read["readings"][0]) - {"reading"}
    priced = run("cost", "--ratio", "3", "--target", "20", "--away", "2", "--gap", "3")
    assert inner("cost", "promises") == {*priced["promises"][0], "unbounded", "null"}
    run("choose", "--ratio", "3", "--about", "membership", "--converse")
    run("choose", "--posterior", "0.4", "--p", "0.25", "--population", "1,2,3,10")
    run("explain", "--epsilon", "1", "--prior", "0.5")
    run("explain", "--epsilon", "1", "--p", "0.5", "--q", "0.1")
    run("explain", "--epsilon", "1", "--mechanism", "exponential", "--score", "1", "--score", "2")
    run("explain", "--rho", "0.1", "--sampled", "0.05", "--join")
    run("compose", "--epsilon", "0.1", "--times", "3")
    run("horizon", "--rho", "0.01", "--prior", "0.5", "--posterior-limit", "0.9")
    run("plan", "--releases", "3", "--difference", "0.2")
    run("deployments")
    run("init", "new.yaml")
    run("init", "listed.yaml", "--from", "visits.parquet")
    run("check", "small.yaml")
    run("doctor")
    (folder / "twin.csv").write_text("patient_id\n1\n1\n1\n2\n")
    tried = run("rehearse", "small.yaml", "--twin", "twin.csv", "--limit", "1", "--repeats", "1")
    assert inner("rehearse", "rows") == set(tried["rows"][0])
    run("ledger", "open", *clinic, *OPENED)
    run("release", "small.yaml", "--dry-run")
    made = run("release", "small.yaml", "--yes")
    run("table", str(Path(made["statement"]).parent), "--wide")
    run("ledger", "grant", *clinic, "--epsilon", "1", "--approver", "a", "--reason", "b")
    run("ledger", "charge", *clinic, "--epsilon", "0.1")
    slots = run("ledger", "plan", *clinic, "--epsilon", "0.5", "--releases", "2", "--purpose", "x")
    taken = ["--plan", slots["plan_id"], "--next", "--key", "2026-11"]
    first, again = (run("release", "small.yaml", *taken) for _ in range(2))
    assert first["release_id"] == again["release_id"]
    run("ledger", "show", *LEDGER)
    with monkeypatch.context() as patched:
        patched.setenv("DISCREET_WITNESS", str(folder))
        run("ledger", "verify", *LEDGER)
    if shutil.which("ssh-keygen"):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", str(folder / "key")], check=True)
        signed = run("ledger", "sign", *LEDGER, "--key", "key")
        checked = run("ledger", "verify", *LEDGER, "--signature", signed["files"][0])
        assert inner("ledger", "signature") == set(checked["signature"])
    made_of = [*LEDGER, "--account", "with-a-promise"]
    opened = run("ledger", "open", *made_of, "--ratio", "3", *OPENED[-4:])
    assert inner("ledger", "promises") == set(opened["promises"][0])
    gone = ["--promise", opened["promises"][0]["id"], "--approver", "a", "--reason", "b"]
    ended = run("ledger", "withdraw", *made_of, *gone)
    assert ended["promises"] == []
    (told,) = ended["withdrawn"]
    assert inner("ledger", "withdrawn") == {*told, *told["withdrawn"]}
    (folder / "columns.yaml").write_text("age: {bounds: [0, 120]}\n")
    (folder / "aged.csv").write_text("patient_id,age\n1,30\n2,40\n")
    of = ["--columns", "columns.yaml", "--unit-column", "patient_id", "--rows", "1"]
    summed = ["summarize", "aged.csv", *of, *clinic, "--epsilon", "0.1"]
    run(*summed, "--dry-run")
    run(*summed)
    run("ledger", "upgrade", *LEDGER)
    run("compose", "--accounts", "clinic-patients", "with-a-promise", *LEDGER)
    run("ledger", "backup", *LEDGER, "--to", "copy.db")
    run("ledger", "move", "--ledger", "sqlite:///copy.db", "--to", "moved.db")
    before = (folder / "ledger.db").read_bytes()
    run("ledger", "charge", *clinic, "--epsilon", "0.1")
    (folder / "ledger.db").write_bytes(before)
    assert run("ledger", "restore", *LEDGER, *OPENED[-4:])["lost"]
    (folder / "promised.yaml").write_text(
        SMALL.replace("budget: {epsilon: 0.5}", "promise: {ratio: 1000}\nseries: {releases: 12}")
    )
    tried = run("release", "promised.yaml", "--dry-run")
    assert inner("release", "promises") == set(tried["promises"][0])
    reported = run("report", made["release_id"], *LEDGER)
    run("verify", str(Path(reported["report"]).parent), *LEDGER)
    shown = run("attack", "averaging", "--times", "5", "--repeats", "2")
    assert inner("attack", "steps") - {"null"} == set(shown["steps"][0])
    run("audit", "small.yaml", "--trials", "100")
    run("ledger", "open", *LEDGER, "--account", "patients", "--adjacency", "replace", *OPENED)
    run("synthesize", "patients.yaml", "--dry-run")
    drawn = run("synthesize", "patients.yaml")
    region = ["--absolute", "0.9", "--priors", "0", "0.6"]
    run("assess", "patients.yaml", "--candidate", f"out/{drawn['release_id']}", *region)
    run("assess", "patients.yaml", "--epsilon", "1", "--candidates", "2", *region)

    (folder / "survey.yaml").write_text("question: x\nanswers: [a, b]\nepsilon: 1\n")
    run("randomize", "survey.yaml", "--answer", "a")

    def at_once(folder: Path, *, announce: Any, **_: Any) -> None:
        announce("http://127.0.0.1:1/?token=x")

    monkeypatch.setattr("discreet.web.serving.serve", at_once)
    run("serve", "--no-browser")

    assert set(seen) == set(_COMMANDS), (
        "a new command: run it here, and say on the page what it prints"
    )
    for command, outputs in seen.items():
        must, may = documented(command)
        everywhere, anywhere = set.intersection(*outputs), set.union(*outputs)
        if command == "ledger":  # show and verify without an account have no terms to show
            terms = {"account", "unit", "unit_name", "adjacency", "filter", "cap"}
            terms |= {"promises", "unfinished"}
            must, may = must - terms, may | terms
            may -= set() if shutil.which("ssh-keygen") else {"files", "signature"}
        assert must <= everywhere, (command, must - everywhere)
        assert anywhere <= must | may, (command, anywhere - must - may)
        assert may <= anywhere, (command, may - anywhere)
