"""What the data holder tolerates: risk profiles r*(p, q)."""
