"""A conversation as the blocks that every view writes: one set of values for saved sessions and for streams.

Pure, and below the views: nothing here knows a terminal, Markdown, HTML or JSON.
"""
