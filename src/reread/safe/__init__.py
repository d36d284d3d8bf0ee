"""The safe: raw bytes of every source file, compressed in packs that are only appended to.

It knows nothing of SQL or of what a line means; every piece can prove itself.
"""
