"""Builds wheel and sdist into dist/, checks them, and runs tests of the sdist from the sdist.

With the address of the repository as its argument, the links of the README are absolute and the metadata has `urls`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = [
    "tests/records",
    "tests/billing",
    "tests/sources",
    "tests/views/test_markdown_flow.py",
    "tests/test_conformance.py",
]
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def addressed(tree: Path, repository: str) -> None:
    readme, project = tree / "README.md", tree / "pyproject.toml"
    link = lambda m: f"{m[1]}[{m[2]}]({repository}/{'raw' if m[1] else 'blob'}/HEAD/{m[3]})"  # noqa: E731
    readme.write_text(LINK.sub(link, readme.read_text("utf-8")), "utf-8")
    pages = {"Documentation": "tree/HEAD/docs", "Changelog": "blob/HEAD/CHANGELOG.md", "Issues": "issues"}
    urls = "".join(f'{name} = "{repository}/{path}"\n' for name, path in pages.items())
    text = project.read_text("utf-8")
    project.write_text(
        text.replace("[project.scripts]", f'[project.urls]\nRepository = "{repository}"\n{urls}\n[project.scripts]'),
        "utf-8",
    )


def main() -> None:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        if sys.argv[1:]:
            addressed(tree, sys.argv[1].rstrip("/"))
        subprocess.run([sys.executable, "-m", "build", "--outdir", str(dist), str(tree)], check=True)
        made = sorted(map(str, dist.iterdir()))
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *made], check=True)
        with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        source = next(path for path in Path(folder).glob("reread-*"))
        path = str(source / "src")
        command = [sys.executable, "-m", "pytest", "-n", "auto", "-p", "no:cacheprovider", *TESTS]
        subprocess.run(["env", f"PYTHONPATH={path}", *command], cwd=source, check=True)
    print("\n".join(made))


if __name__ == "__main__":
    main()
