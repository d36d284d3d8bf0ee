"""Tests that run the real client."""
