"""Runs without a server: what was recorded of an earlier run answers in its place."""
