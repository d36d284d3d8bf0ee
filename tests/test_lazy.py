"""What makes start-up quick behaves like what it stands for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reread import lazy


def test_a_pattern_is_compiled_when_first_tried() -> None:
    words, octets = lazy.pattern(r"a+"), lazy.pattern(rb"a+")
    broken = lazy.pattern("(")  # nobody tries it
    assert (words.findall("aab a"), octets.sub(b"-", b"aab")) == (["aa", "a"], b"-b")
    assert broken is not None


def test_a_file_has_the_modules_of_its_block_without_importing_them(tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text(
        '''"""A file that may need others."""
from reread import lazy
from reread.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    import colorsys
    from email import (
        charset,
        policy as manners,
    )

    from reread.index import schema  # said once
else:
    lazy.bind(globals())
later = "from wave import open"
'''
    )
    names = "assert not {'colorsys', 'email.policy', 'reread.index.schema'} & set(sys.modules)"
    used = "assert (quick.colorsys.rgb_to_hsv, quick.manners.SMTP, quick.charset.QP, quick.schema.sql_of)"
    script = f"import sys, quick; {names}; {used}; assert not hasattr(quick, 'open')"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
