"""Sessions as HTML: the parts of a page, and whole pages that need nothing but themselves.

Everything that comes from a transcript is text. It becomes markup in three places only, each of which makes all of it
itself: `words` (Markdown), `code` (colours of code) and the templates, which escape whatever they are given.
"""
