"""Write survey.csv: people above 65 of the Medical Expenditure Panel Survey, one row each.

The rows come with the package linearmodels (`pip install linearmodels`), from Cameron and Trivedi,
Microeconometrics Using Stata. Without it, rows of the same columns are invented.
"""

import csv
import random
from bisect import bisect_right
from pathlib import Path

AGES = ["65-69", "70-74", "75-79", "80-84", "85 and over"]
SCHOOL = ["none or primary", "some secondary", "secondary", "some college", "college"]
SEXES = ["male", "female"]
HEALTH = ["poor or fair", "good or better"]


def labelled(age: int, years: int, female: int, poor: int) -> list[str]:
    """Return a person's categories."""
    return [
        AGES[bisect_right([70, 75, 80, 85], age)],
        SCHOOL[bisect_right([8, 12, 13, 16], years)],
        SEXES[female],
        HEALTH[1 - poor],
    ]


def people() -> list[list[str]]:
    """Return every person's categories."""
    try:
        from linearmodels.datasets import meps
    except ImportError:
        print("linearmodels is not installed: the rows are invented.")
        some = random.Random(1)  # noqa: S311
        return [
            labelled(
                65 + min(int(some.expovariate(0.1)), 25),
                some.choice([6, 10, 12, 12, 14, 16]),
                int(some.random() < 0.58),
                int(some.random() < 0.26),
            )
            for _ in range(10_391)
        ]
    rows = meps.load()
    print(f"{len(rows):,} people of the Medical Expenditure Panel Survey.")
    return [
        labelled(int(row.age), int(row.educyr), int(row.female), int(row.fph))
        for row in rows.itertuples()
    ]


with Path("survey.csv").open("w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["age", "school", "sex", "health"])
    writer.writerows(people())
