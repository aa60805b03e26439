"""A page for each family of requirements, with a right and a wrong exchange beside each requirement.

The pages lie in the contract bundle and are generated: ``python -m conformance.requirement_pages``.
"""
