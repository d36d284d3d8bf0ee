"""Drives a running client: reads its frames, turns them into events, and sends prompts and answers.

It prints nothing and does not use the archive.
"""
