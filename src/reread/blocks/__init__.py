"""Turns a conversation into blocks. Saved sessions and live streams give the same blocks, and every view writes them.

Pure, and below the views: nothing here knows about terminals, Markdown, HTML or JSON.
"""
