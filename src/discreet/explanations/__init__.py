"""The numbers in words. No new mathematics."""
