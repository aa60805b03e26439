"""Arguments in, answer out: one interface over every binding, with the raw bytes kept."""
