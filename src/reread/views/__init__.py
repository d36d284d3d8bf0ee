"""Values to text: terminal, Markdown, HTML, JSON and charts.

Nothing here reads a file, asks a database or knows a terminal.
"""
