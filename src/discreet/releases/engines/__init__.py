"""Engines: where the rows are. Only aggregates leave them."""
