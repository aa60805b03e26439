"""Signed claims: what a run came to, as an in-toto statement in a DSSE envelope, and how others verify it offline."""
