"""Many releases under one promise: horizon, plan, split."""
