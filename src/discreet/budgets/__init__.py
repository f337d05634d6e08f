"""From a tolerance to the largest budget that keeps it."""
