"""Heads signed with an SSH key: what shows when a head, a signature or the ledger was changed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet.cli.ledger import app
from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.ledger.witness import NAMESPACE, sign, verify

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"
)


@dataclass
class Signed:
    """A ledger in a file whose head was signed, with the signer's list."""

    ledger: Ledger
    file: Path
    signers: Path
    key: Path

    def charged(self, epsilon: float = 0.1) -> None:
        self.ledger.charge("clinic", PureDP(epsilon), purpose="elsewhere", who="tests")


def _key(folder: Path, name: str, kind: str = "ed25519") -> Path:
    made = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", str(folder / name)]
    subprocess.run(made, check=True)
    return folder / name


def _listed(folder: Path, **keys: Path) -> Path:
    lines = [f"{name} {key.with_suffix('.pub').read_text()}" for name, key in keys.items()]
    (folder / "signers").write_text("".join(lines))
    return folder / "signers"


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    folder = tmp_path_factory.mktemp("signing")
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    ledger.open_account(
        "clinic",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1000.0),
        approver="tests",
        reason="signing",
    )
    key = _key(folder, "curator")
    one = Signed(ledger, folder / "head.json", _listed(folder, curator=key), key)
    one.charged()
    sign(ledger, key, one.file)
    return one


def test_a_signed_head_is_found_in_the_chain(signed: Signed) -> None:
    found, head = verify(signed.ledger, signed.file, signed.signers, "curator")
    assert found.verified
    assert head is not None
    assert head.head in found.hashes
    assert head.ledger_id == signed.ledger.id
    assert (head.signer, head.seq) == ("curator", found.hashes.index(head.head) + 1)
    assert head.key.startswith("SHA256:")
    again, unnamed = verify(signed.ledger, signed.file.with_name("head.json.sig"))
    assert again.verified
    assert unnamed is not None
    assert unnamed.signer is None


def test_ssh_keygen_alone_checks_it(signed: Signed) -> None:
    words = ["ssh-keygen", "-Y", "verify", "-f", str(signed.signers), "-I", "curator"]
    words += ["-n", NAMESPACE, "-s", f"{signed.file}.sig"]
    with signed.file.open() as head:
        assert subprocess.run(words, stdin=head, capture_output=True, check=False).returncode == 0
    changed = signed.file.read_text().replace("1", "2").encode()
    done = subprocess.run(words, input=changed, capture_output=True, check=False)
    assert done.returncode != 0


def test_entries_since_are_counted(signed: Signed) -> None:
    before = verify(signed.ledger, signed.file)[0].since_head
    signed.charged()
    found = verify(signed.ledger, signed.file)[0]
    assert found.since_head == (before or 0) + 1
    assert found.vouched_up_to == found.entries - found.since_head
    assert f"vouches for the entries up to {found.vouched_up_to}." in found.reach


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_changed_byte_passes(signed: Signed, data: st.DataObject) -> None:
    text = signed.file.read_bytes()
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[place]))
    forged = signed.file.with_name("forged.json")
    forged.write_bytes(text[:place] + bytes([other]) + text[place + 1 :])
    shutil.copy(f"{signed.file}.sig", f"{forged}.sig")
    found, head = verify(signed.ledger, forged, signed.signers, "curator")
    assert not found.verified
    assert head is None
    assert any("signature" in problem for problem in found.problems)


def test_a_ledger_turned_back_is_found_by_the_signed_head(
    signed: Signed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever turns back the ledger and every witness cannot turn back a signed head."""
    database = signed.file.with_name("ledger.db")
    copy = tmp_path / "ledger.db"
    shutil.copy(database, copy)
    signed.charged()
    newest, _, _ = sign(signed.ledger, signed.key, signed.file.with_name("newest.json"))
    old = Ledger.open(f"sqlite:///{copy}")
    assert not old.verify().verified  # a witness has seen more
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "elsewhere"))
    assert old.verify().verified
    found, _ = verify(old, signed.file.with_name("newest.json"), signed.signers, "curator")
    assert not found.verified
    assert any(newest.head in problem for problem in found.problems)


def test_others_do_not_pass_for_the_signer(signed: Signed, tmp_path: Path) -> None:
    mallory = _key(tmp_path, "mallory")
    _, file, _ = sign(signed.ledger, mallory, tmp_path / "head.json")
    assert verify(signed.ledger, file)[0].verified, "the signature fits; nobody said whose it is"
    both = _listed(tmp_path, curator=signed.key, mallory=mallory)
    found, head = verify(signed.ledger, file, both, "curator")
    assert not found.verified
    assert head is None
    mail = tmp_path / "mail.json"
    shutil.copy(signed.file, mail)
    words = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(signed.key), "-n", "email", str(mail)]
    subprocess.run(words, check=True, capture_output=True)
    assert not verify(signed.ledger, mail, signed.signers, "curator")[0].verified


def test_a_head_of_another_ledger_is_told(signed: Signed, tmp_path: Path) -> None:
    other = Ledger.open(f"sqlite:///{tmp_path / 'other.db'}")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(1.0)}
    other.open_account("clinic", approver="a", reason="b", **terms)  # type: ignore[arg-type]
    found, _ = verify(other, signed.file, signed.signers, "curator")
    assert not found.verified
    assert any("another ledger" in problem for problem in found.problems)
    _key(tmp_path, "curator")
    no_head = tmp_path / "x.json"
    for text in ("[]", "{", '{"head": 1}', "[" * 10_000):
        no_head.write_text(text)
        words = ["ssh-keygen", "-Y", "sign", "-f", str(tmp_path / "curator"), "-n", NAMESPACE]
        with no_head.open() as content, Path(f"{no_head}.sig").open("w") as made:
            subprocess.run(words, stdin=content, stdout=made, stderr=subprocess.PIPE, check=True)
        assert not verify(other, no_head)[0].verified


@pytest.mark.parametrize(
    ("what", "error", "says"),
    [
        (lambda one, away: sign(one.ledger, away / "none", away / "h"), InputError, "no key"),
        (lambda one, away: sign(one.ledger, one.signers, away / "h"), InputError, "could not sign"),
        (lambda one, away: sign(one.ledger, one.key, away / "no" / "h"), InputError, "written"),
        (lambda one, away: verify(one.ledger, away / "head.json"), InputError, "no file"),
        (lambda one, _: verify(one.ledger, one.file, one.signers), InputError, "go together"),
    ],
)
def test_what_is_missing_is_told(
    what: Callable[[Signed, Path], Any],
    error: type[DiscreetError],
    says: str,
    signed: Signed,
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=says):
        what(signed, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_ledger_is_not_signed(signed: Signed, tmp_path: Path) -> None:
    import sqlite3

    copy = tmp_path / "ledger.db"
    shutil.copy(signed.file.with_name("ledger.db"), copy)
    with sqlite3.connect(copy) as connection:
        for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'"):
            connection.execute(f'drop trigger "{name}"')
    with pytest.raises(PolicyError, match="not signed"):
        sign(Ledger.open(f"sqlite:///{copy}"), signed.key, tmp_path / "head.json")
    assert not (tmp_path / "head.json").exists()


def test_from_the_command_line(signed: Signed, tmp_path: Path) -> None:
    run = CliRunner().invoke
    where = ["--ledger", f"sqlite:///{signed.file.with_name('ledger.db')}"]
    head = tmp_path / "head.json"
    made = run(app, ["sign", *where, "--key", str(signed.key), "--output", str(head), "--json"])
    assert made.exit_code == 0, made.output
    files = [Path(path) for path in json.loads(made.stdout)["files"]]
    assert files == [head, tmp_path / "head.json.sig"]
    whose = ["--signers", str(signed.signers), "--signer", "curator"]
    told = run(app, ["verify", *where, "--signature", str(head), *whose])
    assert told.exit_code == 0, told.output
    assert "(curator)" in told.stdout
    head.write_text(head.read_text().replace('"seq": ', '"seq": 1'))
    told = run(app, ["verify", *where, "--signature", str(head), *whose, "--json"])
    assert told.exit_code == 1
    said = json.loads(told.stdout)
    assert (said["verified"], said["signature"]) == (False, None)
