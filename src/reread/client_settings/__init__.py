"""The settings file of Claude Code: the one file of its own that reread changes, and only when asked to.

`text` changes JSON without touching what it does not change, `entries` knows which entries are ours, `file` reads,
backs up and writes.
"""
