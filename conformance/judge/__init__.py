"""Judges what a server answered: decoding, schema, and what follows from them. Nothing here talks to a server."""
