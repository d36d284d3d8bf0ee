"""What went wrong in sessions, what repeats, and what to change."""
