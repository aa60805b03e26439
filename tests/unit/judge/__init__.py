"""The judge and the cases it is proved with."""
