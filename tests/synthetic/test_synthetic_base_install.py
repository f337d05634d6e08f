"""With NumPy alone: the mathematics and the analyst's side work; the rest says what to install."""

from __future__ import annotations

import subprocess
import sys

BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in {"duckdb", "ibis", "opendp", "pyarrow", "pydantic", "scipy", "sqlalchemy"}:
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)

sys.meta_path.insert(0, Absent())
import discreet.synthetic as synthetic
from discreet.errors import InputError
"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_mathematics_and_analysis_need_numpy_alone():
    said = run(
        """
found = synthetic.risk([999, 1], [997, 3], epsilon=1000)
print(round(float(found.absolute(0.5)[1]), 2))
print(synthetic.assess([999, 1], [997, 3], epsilon=1000, region="RR <= 1.5").acceptable)
synthetic.expected_risk_increase(0.5, epsilon=1, n=20)
synthetic.posterior([7, 3], n=10, epsilon=5)
synthetic.read
"""
    )
    assert said.split() == ["0.88", "False"]


def test_the_rest_says_what_to_install():
    said = run(
        """
for action in (lambda: synthetic.synthesize("spec.yaml"),
               lambda: synthetic.assess("spec.yaml", "file.csv")):
    try:
        action()
    except InputError as error:
        print(error)
"""
    )
    assert said.count("Install discreet[release]") == 2
