"""Discreet measured beside others: the same work on both sides, in one run.

    python -m benchmarks [--only TOPIC] [--quick] [--rows N]

A topic is a module with `contenders(size)`; `contest` says what a contender is and runs one in a
process of its own, `environments` installs peers apart from each other, `runner` runs them in turn,
and `tables` writes what was found to docs/benchmarks.md. Machines are noisy: read ratios, never
seconds. `benchmarks.audit` and `benchmarks.soak` are commands of their own.
"""
