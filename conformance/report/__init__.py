"""Shows what a run came to: on the terminal, as JSON, as a command that repeats an exchange."""
