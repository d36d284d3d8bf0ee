"""Runs the real client offline: an installer, a scripted API on loopback, a scratch home, a stripper."""
