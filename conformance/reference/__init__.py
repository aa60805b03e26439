"""The reference server: a real server that keeps every rule of the contract, and named ways to break one at a time."""
