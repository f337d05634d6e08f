"""The main job, from a sentence to a published table, on invented data.

    make demo, or: python examples/demo.py [FOLDER]

Everything that is made lies in FOLDER (out/demo), which is made anew each time.
"""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE.parent / "out" / "demo"


def run(*words: str) -> str:
    """Show a command as one would type it, run it, and show what it says."""
    print(f"\n$ {shlex.join(['discreet', *words])}")
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *words], cwd=OUT, text=True, capture_output=True
    )
    print("\n".join(f"  {line}" for line in (done.stdout + done.stderr).splitlines()))
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def quietly(*words: str) -> dict[str, object]:
    """Run a command for its JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *words, "--json"],
        cwd=OUT,
        text=True,
        capture_output=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def title(text: str) -> None:
    """Say what comes next."""
    print(f"\n\n== {text}")


def main() -> None:
    """Go the whole way once."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(HERE / "clinic", OUT, ignore=shutil.ignore_patterns("*.parquet", "out"))
    shutil.copy(HERE / "tolerance.yaml", OUT)

    title("1. Nobody may become more than 12 % sure. Which budget is that?")
    run("choose", "--file", "tolerance.yaml")
    epsilon = f"{quietly('choose', '--file', 'tolerance.yaml')['epsilon']:.4f}"
    run("explain", "--epsilon", epsilon, "--prior", "0.3", "--audience", "public")
    charts(OUT)

    title("2. A year of it: how much may each of twelve monthly releases spend?")
    run("plan", "--file", "tolerance.yaml", "--releases", "12")

    title("3. An account with a promise, and a table that leaves the building under it")
    print("\n$ python generate.py   (invented visits: several a patient, some values missing)")
    subprocess.run([sys.executable, "generate.py"], cwd=OUT, check=True)
    run("release", "release.yaml", "--dry-run")
    account = ("--ledger", "sqlite:///ledger.db", "--account", "clinic-patients")
    run(
        "ledger", "open", *account,
        "--posterior", "0.25", "--unless-ratio", "3", "--about", "membership",
        "--approver", "the demo", "--reason", "to show how it works",
    )  # fmt: skip
    run("release", "release.yaml", "--yes")
    run("ledger", "verify", *account)
    made = next(iter(sorted((OUT / "out").iterdir())))
    run("report", made.name, "--ledger", "sqlite:///ledger.db")
    print(f"\nThe first lines of {made.relative_to(OUT)}/table.csv:")
    with (made / "table.csv").open(encoding="utf-8", newline="") as lines:
        for row, _ in zip(csv.reader(lines), range(6), strict=False):
            print("  " + "  ".join(f"{cell:>14}" for cell in row))

    title("Made")
    for path in sorted(OUT.rglob("*")):
        if path.is_file() and path.suffix in (".png", ".csv", ".parquet", ".json", ".html", ".md"):
            print(f"  {path.relative_to(OUT)}")
    print(f"\nOpen {made / 'report' / 'report.html'} in a browser.")
    print(f"Everything lies in {OUT}")


def charts(folder: Path) -> None:
    """Draw the tolerance and what it implies."""
    from discreet import choose
    from discreet.charts import implied_posterior, profile, save
    from discreet.promises import PosteriorUnlessRatio, priors

    promised = choose(posterior=0.12, p=0.05, about="membership")
    pictures = {
        "learned.png": implied_posterior(promised),
        "tolerated.png": profile(PosteriorUnlessRatio(0.25, 3, priors(q=1))),
    }
    print("\nAs pictures:")
    for name, chart in pictures.items():
        print(f"  {save(chart, folder / name).relative_to(folder)}")


if __name__ == "__main__":
    main()
