"""Print the tables of the papers, or put them into the page that is named."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers import filled, table
from papers.all import TABLES

if len(sys.argv) > 1:
    page = Path(sys.argv[1])
    page.write_text(filled(page.read_text(encoding="utf-8"), TABLES), encoding="utf-8")
else:
    for rows in TABLES.values():
        sys.stdout.write(table(rows()) + "\n\n")
