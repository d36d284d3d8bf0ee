"""The archive as a memory for Claude Code itself, over the Model Context Protocol."""
