"""Heads that were seen: what shows that a ledger was restored from an old copy.

Each write leaves the new head in a small file outside the ledger: in this user's private folder,
and in the folder that `DISCREET_WITNESS` names, which may be shared with another host. That folder
must be there: one that is made when it is missed would be on a disk of the ledger's own host. A
file has a line for each head. In the private folder it is begun anew when it is full; in the other
it keeps every line, since who may only add to it cannot turn it back. A charge looks at the newest
head, and who only reads looks at all of them. Stored releases carry the head at their charge.

A head that was seen and is not in the chain any more means that entries were lost, and charges with
them; then nothing is charged until someone has answered for it (`Ledger.restore`). A head names its
ledger by the ledger's first hash, so that other ledgers' heads are left alone.

The private folder is this user's, and nobody else can read it: heads, and work in progress. It is
`$DISCREET_STATE`, else `$XDG_STATE_HOME/discreet`, else `~/.local/state/discreet`; where none of
these can be made, a folder of this user among the temporary files.

A head can be signed with an SSH key, by the `ssh-keygen` that people have; no cryptography of ours.
The file that is signed has one line, as a witness keeps it:

    {"ledger_id": "<first hash>", "head": "<hash of the last entry>", "seq": 12}

Whoever has it, its signature and the signer's public key can check both without Discreet:

    ssh-keygen -Y verify -f signers -I curator -n discreet-ledger -s head.json.sig < head.json
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, PolicyError
from discreet.frames import JsonReady
from discreet.words import say

if TYPE_CHECKING:
    from discreet.ledger.book import Ledger
    from discreet.ledger.verification import Verification

NAMESPACE = "discreet-ledger"
"""What a signature is for: one that was made for e-mail or Git does not pass for a head's."""

LATEST = 5
"""So many of the newest stored releases of an output folder are looked at."""
_FULL = 3500
"""A file of so many bytes is begun anew: a line within one page is never seen half written."""
_LONGEST = 2**16
_HEX = re.compile(r"[0-9a-f]{64}")
_log = logging.getLogger("discreet")


def private_folder(*names: str) -> Path:
    """Return a folder below the private one, made if need be; refuse one that others can open."""
    for place in _places():
        try:
            folder = place.joinpath(*names)
            there = folder.is_dir()
            if not there:
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check(place)
            if not there:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        return folder
    raise PolicyError("ledger.no_private_folder")


def _places() -> Iterator[Path]:
    own, state = os.environ.get("DISCREET_STATE"), os.environ.get("XDG_STATE_HOME")
    if own:
        yield Path(own).absolute()
        return
    if state and os.path.isabs(state):
        yield Path(state) / "discreet"
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        yield Path(home) / ".local" / "state" / "discreet"
    yield Path(tempfile.gettempdir()) / f"discreet-{os.getuid()}"


def _check(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PolicyError("ledger.private_folder_of_another", folder=folder)
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)


def _folders() -> Iterator[tuple[Path, bool]]:
    """Yield the witness folders, and of each whether it is this user's alone."""
    shared = os.environ.get("DISCREET_WITNESS")
    if shared:
        yield Path(shared), False
    yield private_folder("heads"), True


def shared_folder() -> Path | None:
    """Return the folder that `DISCREET_WITNESS` names; refuse one that is not there."""
    named = os.environ.get("DISCREET_WITNESS")
    if named and not Path(named).is_dir():
        raise InputError("ledger.no_witness", folder=named)
    return Path(named) if named else None


def seen(ledger_id: str) -> tuple[str, ...]:
    """Return the newest head of a ledger in each witness folder, for who will write."""
    told = (_lines(folder / f"{ledger_id}.json", _LONGEST)[-1:] for folder, _ in _folders())
    return tuple(str(said["head"]) for (said,) in filter(None, told))


def recalled(ledger_id: str) -> tuple[str, ...]:
    """Return all that were left, for who only reads: no folder is made."""
    own = (place / "heads" for place in _places())
    there = next((folder for folder in own if folder.is_dir()), None)
    newest = [] if there is None else _lines(there / f"{ledger_id}.json")[-1:]
    return tuple(str(said["head"]) for said in (*kept(ledger_id), *newest))


def kept(ledger_id: str) -> list[dict[str, Any]]:
    """Return what the shared folder has of a ledger: each head with its number, oldest first."""
    shared = shared_folder()
    return [] if shared is None else _lines(shared / f"{ledger_id}.json")


def newest_in(hashes: Sequence[str]) -> int | None:
    """Return the last entry of a chain whose head the shared folder has; None if it has none."""
    heads = {str(said["head"]) for said in kept(hashes[0])} if hashes else set()
    return max((seq for seq, one in enumerate(hashes, 1) if one in heads), default=None)


def _lines(path: Path, end: int | None = None) -> list[dict[str, Any]]:
    """Return what the lines of a file say, or those at its end; one half written says nothing."""
    found: list[dict[str, Any]] = []
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                file.seek(0 if end is None else max(0, path.stat().st_size - end))
                found = [_read(line) for line in file.read().splitlines()]
    return [said for said in found if "head" in said]


def _told(path: Path) -> dict[str, Any]:
    """Return what a file says; nothing of one that cannot be read."""
    with suppress(OSError):
        return _read(path.read_bytes() if path.is_file() else b"")
    return {}


def _read(text: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        said = json.loads(text)
        return said if isinstance(said, dict) else {}
    return {}


def _add(path: Path, line: str) -> bool:
    """Add a line to a file, if there is a plain one: no link is followed, no pipe waited for."""
    how = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    with suppress(OSError), open(os.open(path, how), "ab", buffering=0) as file:
        found = os.fstat(file.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return file.write(f"\n{line}".encode()) > 0  # whatever it ended with
    return False


def leave(ledger_id: str, head: str, seq: int) -> None:
    """Leave the head of a ledger in every witness folder; tell where the shared one gets none."""
    told = json.dumps({"ledger_id": ledger_id, "head": head, "seq": seq})
    for folder, ours in _folders():
        try:
            path = folder / f"{ledger_id}.json"
            if not (ours and path.is_file() and path.stat().st_size >= _FULL) and _add(path, told):
                continue
            old = [] if ours or path.is_symlink() else _lines(path)  # of another user, perhaps
            lines = [json.dumps(said) for said in old if said.get("ledger_id") == ledger_id]
            part = folder / f".{ledger_id}.{os.getpid()}"
            part.unlink(missing_ok=True)
            with part.open("x", encoding="utf-8") as file:  # follows no link that lies there
                file.write("\n".join([*lines, told]))
            part.replace(path)
        except OSError as fault:  # what was charged stays charged
            if not ours:
                why = {"folder": folder, "seq": seq, "reason": fault.strerror}
                _log.warning(say("ledger.head_not_left", **why))


def released_below(base: Path, name: str = "*") -> Iterator[Path]:
    """Yield the stored releases in a folder and up to three levels below: each its own folder."""
    for depth in ("", "*/", "*/*/", "*/*/*/"):
        for path in sorted(base.glob(f"{depth}{name}/release.json")):
            yield path.parent


def heads_in_releases(output: Path, ledger_id: str) -> tuple[str, ...]:
    """Return the heads that the newest releases in an output folder carry, of this ledger."""
    stored: list[Path] = [path for path in output.glob("*/release.json") if path.is_file()]
    told = map(_told, _newest(stored))
    return tuple(str(said.get("head")) for said in told if said.get("ledger_id") == ledger_id)


def _newest(paths: Iterable[Path]) -> list[Path]:
    def age(path: Path) -> float:
        with suppress(OSError):
            return path.stat().st_mtime
        return 0.0

    return sorted(paths, key=age)[-LATEST:]


# -- signatures


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
    alone = found.head_answered and len(problems) == len(found.problems)
    whole = replace(found, verified=not problems, problems=tuple(problems), head_answered=alone)
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
