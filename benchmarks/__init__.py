"""Speed, measured as a ratio against the thing named, in one run: `python -m benchmarks [NAME …]`.

Each module has `run() -> dict`. Machines are noisy; read ratios, never seconds.
"""
