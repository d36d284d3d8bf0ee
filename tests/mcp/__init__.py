"""Tests of the memory for Claude Code."""
