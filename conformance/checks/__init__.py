"""The checks: each arranges a scene, exchanges with the target and lets the judge speak. One family a file."""
