"""Sessions as HTML: the parts of a page, and whole self-contained pages.

Everything from a transcript is text. It becomes markup in three places only, each of which makes all of its markup
itself: `content.words` (Markdown), `content.coloured` (code) and the templates, which escape every value.
"""
