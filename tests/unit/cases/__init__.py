"""Tests of what the suite sends and seeds."""
