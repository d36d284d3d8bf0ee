"""What may happen to a sync and to what it took."""
