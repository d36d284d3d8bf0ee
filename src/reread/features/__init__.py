"""What sessions show when measured: each measure is a pure module or package that could be deleted alone.

No files, no clock, no database.
"""
