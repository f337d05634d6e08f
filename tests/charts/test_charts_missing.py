"""What is said where the library that draws is not installed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["discreet.charts", "discreet.charts.synthetic"])
def test_without_altair_every_chart_says_what_to_install(module: str) -> None:
    code = (
        "import sys; sys.modules['altair'] = None\n"
        "from discreet.errors import InputError\n"
        "try:\n"
        f"    import {module}\n"
        "except InputError as refusal:\n"
        "    print(refusal)\n"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == (
        "A chart needs altair, which is not installed. Install discreet[charts]."
    )
