"""Contract conformance test suite for the SoSo research API."""

__version__ = "0.1.0"
