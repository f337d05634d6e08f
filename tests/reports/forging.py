"""What a forger can do to a report: edit a file, and write anew all that vouches for it."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from discreet.reports import verifier


def verified(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the report's own verifier, with every check told; standard error would be a fault.

    It is the same file as ours, so it runs here, in this process.
    """
    assert (folder / "verify.py").read_bytes() == Path(verifier.__file__).read_bytes()
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as told:
        code = verifier.main([str(folder), "--all", *arguments])
    assert told.getvalue() == ""
    return code, out.getvalue()


def verified_alone(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run it as whoever gets the folder does: a process of its own, with nothing installed."""
    command = [sys.executable, "-I", str(folder / "verify.py"), "--all", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    return done.returncode, done.stdout


def rewritten(folder: Path) -> None:
    """Write the manifest anew, as whoever edits a file can."""
    (folder / "manifest.json").write_bytes(verifier.manifest_of(folder))


def edited(path: Path, change: Callable[[Any], Any]) -> None:
    """Change a JSON file, and write it as it was written."""
    said = json.loads(path.read_text(encoding="utf-8"))
    change(said)
    path.write_text(json.dumps(said, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def rechained(folder: Path, change: Callable[[Any], Any]) -> None:
    """Change entries, and write the whole chain and all that names it anew."""
    path = folder / "evidence.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    before, own, renamed = "0" * 64, "0" * 64, {}
    for row in said["chain"]:
        if row["body"] is not None:
            body = json.loads(row["body"])
            change(body)
            body["previous"] = before
            if "account_previous" in body:
                body["account_previous"] = own
            row["body"] = json.dumps(
                body, sort_keys=True, separators=(",", ":"), ensure_ascii=False
            )
            new = hashlib.sha256(row["body"].encode()).hexdigest()
            renamed[row["hash"]] = new
            row["hash"] = new
            own = new if "account" in body else own
        before = row["hash"]
    said["head"] = before
    edited(path, lambda old: old.update(said))
    texts = ("statement.json", "statement.md", "report.html", "registry.yaml")
    for name in (name for name in texts if (folder / name).exists()):
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in renamed.items():
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
