"""Make visits.parquet: invented visits to clinics, several a patient, skewed, some values missing.

    python examples/clinic/generate.py [FOLDER] [PATIENTS]

The same every time (seeded): nobody in it exists. Most patients come once or twice, a few come
fifty times; costs have a long tail; some rows lack a county, an age band, a cost or a patient.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

SEED = 20_261_115
BANDS = ("0-17", "18-64", "65+")
DIAGNOSES = ("A", "B", "C", "X")


def counties(folder: Path) -> list[str]:
    """Return the public list of counties that stands beside this file."""
    with (folder / "counties.csv").open(encoding="utf-8", newline="") as lines:
        return [row["county"] for row in csv.DictReader(lines)]


def visits(patients: int, places: list[str], seed: int = SEED) -> dict[str, list[object]]:
    """Return the visits, column by column."""
    draw = random.Random(seed)  # noqa: S311  (invented data, not noise)
    columns: dict[str, list[object]] = {
        name: [] for name in ("patient_id", "day", "county", "age_band", "diagnosis", "cost")
    }
    weights = [1 / (rank + 2) for rank in range(len(places))]
    for patient in range(patients):
        home = draw.choices(places, weights)[0]
        band = draw.choices(BANDS, (2, 6, 3))[0]
        times = min(50, 1 + int(draw.paretovariate(1.3) - 1))
        for _ in range(times):
            place = home if draw.random() < 0.9 else draw.choice(places)
            cost = round(min(20_000.0, draw.lognormvariate(4.2, 1.1)), 2)
            row = {
                "patient_id": f"P{patient:06d}" if draw.random() > 0.002 else None,
                "day": f"2026-10-{draw.randint(1, 31):02d}",
                "county": place if draw.random() > 0.01 else None,
                "age_band": band if draw.random() > 0.005 else None,
                "diagnosis": draw.choices(DIAGNOSES, (50, 30, 17, 3))[0],
                "cost": cost if draw.random() > 0.03 else None,
            }
            for name, value in row.items():
                columns[name].append(value)
    return columns


def main(arguments: list[str]) -> None:
    """Write visits.parquet into a folder, by default this one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    here = Path(__file__).parent
    folder = Path(arguments[0]) if arguments else here
    patients = int(arguments[1]) if len(arguments) > 1 else 5_000
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(visits(patients, counties(here))), folder / "visits.parquet")


if __name__ == "__main__":
    main(sys.argv[1:])
