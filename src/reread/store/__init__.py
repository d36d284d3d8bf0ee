"""Where everything is kept: the safe of raw bytes, and the database that can be rebuilt from it."""
