"""``sosoapi-conformance doctor``: what the target and its test control can do, tried one thing at a time."""
