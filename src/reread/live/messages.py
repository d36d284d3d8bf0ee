"""A message as it streams: its blocks, what has been delivered of them, what was taken back."""
