"""The safe: raw bytes of every source file, compressed in packs that are only appended to.

It knows no SQL and no meaning of a line; every piece can prove itself.
"""
