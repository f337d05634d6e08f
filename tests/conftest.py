"""What tests of every room may ask for, and what Hypothesis does in all of them.

On a busy machine, or with more code to take constants from, a strategy may be slow or filter much;
neither is a fault of what is tested.
"""

from hypothesis import HealthCheck, settings

pytest_plugins = ["servers", "browsers", "sharing"]

settings.register_profile(
    "steady", suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
settings.load_profile("steady")
