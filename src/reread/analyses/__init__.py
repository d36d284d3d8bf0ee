"""Pure measures over sessions: what they amount to."""
