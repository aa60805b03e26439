"""Schemathesis as a second engine: its data and its checks, over our transport, confirmed by our judge.

It generates inputs from the OpenAPI document without knowing our tables, and judges answers by its own reading of the
schemas. Nothing that it says becomes a finding by itself: it does not know what the contract leaves open.
Only ``engine`` imports it, so that the rest works, and is tested, where the extra ``schemathesis`` is not installed.
"""
