"""The SQLite index: tables, rows, full text, usage sums. It can be rebuilt from the safe at any time.

The only room that speaks SQL. It never reads a source.
"""
