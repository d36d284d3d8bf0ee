"""Questions people ask of their sessions, as functions."""
