"""How state gets into a target: the test-control API, by HTTP or in the same process."""
