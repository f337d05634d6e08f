"""Every page of the documentation does what it says."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from walkthrough import Reader, blocks

from discreet.laws import names, registry
from discreet.promises.tolerance import SHAPES
from discreet.releases.engines import ENGINES
from discreet.releases.statistics import KINDS
from discreet.words import texts

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
#: Pages with which a reader does something: if one of them loses its commands, that is a fault.
WALKED = {
    "start.md", "guides/curator.md", "guides/engineer.md", "guides/regulator.md",
    "guides/participant.md", "concepts.md", "extending.md", "strengths.md", "delta.md",
    "attacks.md", "cost.md", "ledger.md", "quantiles.md", "synthetic.md", "published.md",
}  # fmt: skip

#: Pages whose indented commands name files that only a reader has; their Python runs all the same.
SYNOPSIS = {"interchange.md"}


def name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def _forget_toys() -> None:
    for module in [module for module in sys.modules if module.startswith("toy_")]:
        del sys.modules[module]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored = shutil.ignore_patterns("*.parquet", "out", "*.db", "__pycache__", "notebooks")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.syspath_prepend(tmp_path)  # files that a page writes can be imported
    monkeypatch.setattr(registry, "KINDS", {name: registry.KINDS[name] for name in names()})
    monkeypatch.setattr(texts, "REGISTERED", {})
    with patch.dict(KINDS), patch.dict(ENGINES), patch.dict(SHAPES):  # gone afterwards
        _forget_toys()
        done = Reader(page, synopsis=name(page) in SYNOPSIS).follow()
        _forget_toys()
    assert done or name(page) not in WALKED


def test_the_reader_notices_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    for wrong in (
        "```console\n$ discreet explain --epsilon 1 --prior 0.5\nnothing of the kind\n```\n",
        "```console\n$ discreet explain --epsilon -1\n```\n",
        "```console\n$ discreet explain --epsilon -1\n$ echo $?\n3\n```\n",
        "```console\n$ false\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "    discreet nonsense\n",
    ):
        page.write_text(wrong)
        with pytest.raises(AssertionError):
            Reader(page).follow()
    page.write_text(
        '```text title="greeting.txt"\nhello\n```\n```console\n$ cat greeting.txt\nhello\n'
        "$ discreet explain --epsilon -1\ndiscreet: ...\n$ echo $?\n2\n```\n"
    )
    assert Reader(page).follow() == 3
    assert len(list(blocks(page.read_text()))) == 2
