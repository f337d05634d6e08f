"""`python -m benchmarks`: measure, print, and write docs/benchmarks.md and docs/scale.md.

--only TOPIC     one topic (may be repeated); the others keep the figures that they have
--quick          a thousandth of the rows, one turn each: whether it runs, not how fast
--rows N         rows of the largest releases (default 20,000,000)
--no-install     leave out peers that are not installed yet
--docs FOLDER    where the tables go (default docs/; a quick run writes nothing without it)
--keep FOLDER    keep the data there, and use what is there already
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks import contest, tables
from benchmarks.contest import Size
from benchmarks.runner import ROOT, run

TOPICS = (*contest.TOPICS, "guesses")
RESULTS = Path(__file__).parent / "results"


def _measured(topic: str, size: Size, install: bool, docs: Path | None) -> None:
    module = contest.topic(topic)
    start = time.monotonic()
    print(f"\n== {module.TITLE}", flush=True)
    rows = run(topic, size, install=install, say=lambda line: print(line, flush=True))
    conclusion = module.conclude(rows, docs) if hasattr(module, "conclude") else ""
    RESULTS.mkdir(exist_ok=True)
    kept = json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False)
    (RESULTS / f"{topic}.json").write_text(kept, encoding="utf-8")
    if docs is not None:
        block = tables.section(module.TITLE, module.ABOUT, rows, conclusion)
        tables.write_section(docs / "benchmarks.md", topic, block)
    print(f"   {time.monotonic() - start:.0f} s", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--only", action="append", choices=TOPICS, metavar="TOPIC")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--no-install", action="store_true")
    parser.add_argument("--docs", type=Path, default=None)
    parser.add_argument("--keep", type=Path, default=None)
    asked = parser.parse_args(arguments)
    docs = asked.docs or (None if asked.quick else ROOT / "docs")
    if docs is not None and not (docs / "benchmarks.md").is_file():
        parser.error(f"there is no benchmarks.md in {docs}; give a folder where its tables can go")
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = asked.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        size = Size(asked.rows, asked.quick, str(folder.resolve()))
        start = time.monotonic()
        for topic in asked.only or TOPICS:
            _measured(topic, size, not asked.no_install, docs)
        print(f"\nAll of it took {(time.monotonic() - start) / 60:.1f} minutes.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
