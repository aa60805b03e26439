"""Proof that the suite works: every seeded fault is caught, for a reason that it gives, and no variant is."""
