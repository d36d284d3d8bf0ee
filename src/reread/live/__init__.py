"""A running client: the frames it sends, what they amount to, and what can be said to it.

It prints nothing and knows no archive.
"""
