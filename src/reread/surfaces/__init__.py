"""Ways to use reread: parse, ask, show."""
