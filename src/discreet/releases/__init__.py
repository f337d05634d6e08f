"""One spec → reservation → contribution bounding → aggregation → noise → commit → tables."""
