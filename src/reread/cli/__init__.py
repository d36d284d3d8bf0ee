"""The command line: parse, ask, show. Errors become one sentence and an exit code.

It asks `archive` and never the index or the safe.
"""
