"""Data that checks are made of: valid values, small breakages of them, timestamps. Nothing here talks to a server."""
