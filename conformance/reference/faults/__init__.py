"""Seeded faults of the reference server, one family a module: each breaks the contract in one place."""
