"""The archive as a memory for Claude Code itself, over the Model Context Protocol.

A line in, a message out; it touches no stream.
"""
