"""What an adversary believes before a release, and may believe after it."""
