"""Invent 2,000 patients (seeded) for the example: `python make_patients.py` writes patients.csv."""

from __future__ import annotations

import csv
import random
from pathlib import Path


def patients(size: int = 2000, seed: int = 2012) -> list[dict[str, str]]:
    """Return invented patients: one row each, one rare diagnosis, and no pregnant man."""
    draw = random.Random(seed)  # noqa: S311  (invented people)
    rows = []
    for number in range(size):
        sex = draw.choice("fm")
        age = draw.choices(["0-17", "18-64", "65+"], [2, 6, 2])[0]
        fertile = sex == "f" and age == "18-64"
        rows.append(
            {
                "patient_id": str(number),
                "sex": sex,
                "age": age,
                "pregnant": "yes" if fertile and draw.random() < 0.08 else "no",
                "diagnosis": draw.choices(["none", "asthma", "diabetes", "rare"], [75, 14, 10, 1])[
                    0
                ],
            }
        )
    return rows


def main() -> None:
    """Write patients.csv beside this file."""
    rows = patients()
    path = Path(__file__).parent / "patients.csv"
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
