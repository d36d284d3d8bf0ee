"""Values to text: terminal, JSON. Nothing here reads a file or knows a terminal."""
