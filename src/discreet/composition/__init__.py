"""Many releases, one guarantee: the theorems, the filters, and whole privacy curves."""
