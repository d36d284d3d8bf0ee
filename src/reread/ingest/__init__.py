"""Imports sources into the archive: incremental, parallel, resumable.

It writes through `index` and `safe`, and prints nothing.
"""
