"""What sessions amount to: pure measures, each in a module or package that could be deleted alone.

No files, no clock, no database.
"""
