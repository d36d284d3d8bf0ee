"""A small terminal: what a person sees after some text was written to it."""

from __future__ import annotations

import re

from reread.views.text import cells

FAR = "\x00"
"""The second cell of a wide character."""


def displayed(text: str, width: int = 80) -> list[str]:
    """The rows after the text was written; fails on anything but colours, erasing and moving left. The rows below
    the text, written between saving and restoring the cursor, are left out."""
    text = re.sub(r"\x1b7.*?\x1b8", "", text, flags=re.DOTALL)
    text = re.sub(r"\x1b\[J|(?:\x1bD)+\x1b\[\dA", "", text)
    rows: list[list[str]] = [[]]
    column = 0
    for step in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\x1b|.", text, re.DOTALL):
        if step.startswith("\x1b"):
            assert re.fullmatch(r"\x1b\[([0-9;]*m|K|\d+D)", step), f"{step!r} reached the terminal"
            if step.endswith("K"):
                del rows[-1][column:]
            elif step.endswith("D"):
                column = max(0, column - int(step[2:-1]))
        elif step == "\n":
            rows.append([])
            column = 0
        elif step == "\r":
            column = 0
        else:
            assert step.isprintable() or ord(step) > 0x9F, f"{step!r} reached the terminal"
            size = cells(step)
            if size == 0:
                if column:
                    rows[-1][column - 1] += step
                continue
            rows[-1][column : column + size] = [step, FAR][:size]
            column += size
            assert column <= width, f"a line is wider than {width}: {''.join(rows[-1])!r}"
    return ["".join(row).replace(FAR, "").rstrip() for row in rows]
