"""Heads signed with an SSH key, by the `ssh-keygen` that people have; no cryptography of ours.

The file that is signed has one line, as a witness keeps it (`witness`):

    {"ledger_id": "<first hash>", "head": "<hash of the last entry>", "seq": 12}

Whoever has it, its signature and the signer's public key can check both without Discreet:

    ssh-keygen -Y verify -f signers -I curator -n discreet-ledger -s head.json.sig < head.json
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.errors import InputError, PolicyError
from discreet.frames import JsonReady
from discreet.ledger.book import Ledger
from discreet.ledger.verification import Verification
from discreet.words import say

NAMESPACE = "discreet-ledger"
"""What a signature is for: one that was made for e-mail or Git does not pass for a head's."""

_LONGEST = 2**16
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SignedHead(JsonReady):
    """A head as it was signed: of which ledger, after how many entries, by which key.

    `signer` is who the list of signers says has the key; None where no list was given.
    """

    ledger_id: str
    head: str
    seq: int
    key: str
    signer: str | None = None


def sign(book: Ledger, key: str | Path, file: str | Path) -> tuple[Verification, Path, Path]:
    """Verify the ledger, write its head to a file and the signature beside it; return all three.

    `key` is a private key, or the public one of a key that the SSH agent holds.
    """
    found = book.verify()
    if not found.verified or not found.hashes:
        raise PolicyError("ledger.not_signed", url=book.url)
    said = {"ledger_id": found.hashes[0], "head": found.head, "seq": found.entries}
    text = json.dumps(said) + "\n"
    private = Path(key).expanduser()
    if not private.is_file():
        raise InputError("ledger.no_key", path=private)
    done = _ssh("sign", "-f", str(private), given=text)
    if done.returncode != 0:
        raise InputError("ledger.key_refused", reason=_reason(done))
    head, beside = Path(file), _beside(Path(file))
    try:
        for path, content in ((head, text), (beside, done.stdout)):
            part = path.with_name(f".{path.name}.{os.getpid()}")
            part.write_text(content, encoding="ascii")
            part.replace(path)
    except OSError as problem:
        raise InputError("ledger.head_not_written", path=head, reason=problem.strerror) from None
    return found, head, beside


def verify(
    book: Ledger,
    file: str | Path,
    signers: str | Path | None = None,
    signer: str | None = None,
) -> tuple[Verification, SignedHead | None]:
    """Recompute the chain, look for a signed head in it, and check the signature.

    `file` is the head's or its signature's. `signers` is a file as `ssh-keygen` reads it
    (`allowed_signers`), and `signer` a name in it; without them the signature is checked against
    the key that it names, whoever has it. The head is None where its signature is wrong.
    """
    if (signers is None) != (signer is None):
        raise InputError("ledger.signer_alone")
    path = Path(file)
    path = path.with_suffix("") if path.suffix == ".sig" else path
    for needed in (path, _beside(path), *([] if signers is None else [Path(signers)])):
        if not needed.is_file():
            raise InputError("ledger.no_signature", path=needed)
    text = path.read_bytes()[:_LONGEST].decode("ascii", "replace")
    way = ("check-novalidate",) if signers is None else ("verify", "-f", str(signers))
    whose = () if signer is None else ("-I", signer)
    done = _ssh(*way, *whose, "-s", str(_beside(path)), given=text)
    signed = head_in(text, done.stdout.split()[-1:], signer)
    found = book.verify(None if signed is None else signed.head)
    problems = list(found.problems)
    if done.returncode != 0:
        problems.append(say("ledger.signature_wrong", path=path, reason=_reason(done)))
    elif signed is None:
        problems.append(say("ledger.not_a_head", path=path))
    elif signed.ledger_id not in found.hashes[:1]:
        problems.append(say("ledger.head_of_another", path=path))
    whole = replace(found, verified=not problems, problems=tuple(problems))
    return whole, signed if done.returncode == 0 else None


def head_in(text: str, key: list[str], signer: str | None) -> SignedHead | None:
    """Return the head that a text says, with the key that signed it; None if it says none."""
    try:
        said = json.loads(text)
        head = SignedHead(said["ledger_id"], said["head"], said["seq"], "".join(key), signer)
        return head if _HEX.fullmatch(head.head) and _HEX.fullmatch(head.ledger_id) else None
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".sig")


def _ssh(doing: str, *words: str, given: str) -> subprocess.CompletedProcess[str]:
    """Run ssh-keygen; it asks for a passphrase on the terminal, if the key has one."""
    program = shutil.which("ssh-keygen")
    if program is None:
        raise InputError("ledger.no_ssh_keygen")
    command = [program, "-Y", doing, "-n", NAMESPACE, *words]
    return subprocess.run(command, input=given, capture_output=True, encoding="utf-8", check=False)  # noqa: S603


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else str(done.returncode)
