"""Pages of the web application, as ratios to the same views of agentsview, and to an empty page of the same server.

    python bench/pages.py [--bytes 1GB | --tree FOLDER] [--home FOLDER] [--peer-data FOLDER] [--no-peer]

Each page is asked for several times; a session of 10,000 messages and the retrospective also right after a start, when
nothing of them was read, and a search each time for something else, because answers are kept. Milliseconds are those of
this machine, busy or not: the ratios say more. Of agentsview it is the requests that its own page makes for the view:
the list in its side bar, and the first thousand messages of a session. It takes minutes to read 1 GB; `--peer-data`
keeps what it made of it. Then both in Chromium, where there is one: requests and kilobytes of a view, how long until
it shows what was asked for, and how long until hits stand below a word that was typed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from generate import byte_count
from peers import AGENTSVIEW, CACHE, install_agentsview, listening, run_timed
from reader import make_tree
from reread.archive import Archive
from reread.testing import a_prompt, a_reply, a_session, a_thought, a_tool_call, a_tool_result
from reread.web.guard import Credentials

LONG = "ten-thousand"
ROUNDS = 7
PEER_LIST = "/api/v1/sessions/sidebar-index?timezone=UTC&include_one_shot=true&limit=500"
PEER_MESSAGES = "messages?from=0&limit=1000&direction=asc"
"""As agentsview 0.46 asks for them."""
COLD_ROUNDS = 5
MOST_WEIGHED = 40
BROWSED = 3
SETTLES = 2_500
"""Milliseconds after which a page has asked for all it wants."""
PATIENCE = 200_000
"""Milliseconds: on a busy machine the first screen of agentsview 0.46 keeps the browser for more than half a minute."""
TYPED = "error"
NOT_OUT = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
IS_THERE = """where => [...document.querySelectorAll(where)]
  .some(each => !each.matches(".kind") || each.textContent === "text")"""
"""In our list a hit of the text says so; in theirs it has marks."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
PAGES = {
    "home": ("/", None),
    "sessions": ("/sessions", 100.0),
    "sessions by project": ("/sessions?group=1", 100.0),
    "sessions by cost": ("/sessions?sort=cost&page=3", 100.0),
    "search of a common word, facets of all hits": ("/search?q=error+-zq{n}", None),
    "usage by day": ("/usage?since=all", None),
    "retrospective, again": ("/retro?since=all", 100.0),
    "projects, cache and limits beside it": ("/usage/sidebar?since=all", None),
    "a session of 10,000 messages, again": (f"/s/{LONG}", 300.0),
    "what comes after its first screen": (f"/s/{LONG}/turns?from=20", None),
    "letters found in it, each time others": (f"/s/{LONG}/hits?find=question+{{n}}", 200.0),
}
"""Where each is, and within how many milliseconds it is wanted."""


class Server(NamedTuple):
    port: int
    cookie: str

    def milliseconds(self, path: str) -> float:
        return self.screen_and_page(path)[1]

    def screen_and_page(self, path: str) -> tuple[float, float]:
        """Until the browser has what it shows first, and until it has everything."""
        connection = HTTPConnection("127.0.0.1", self.port)
        start = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        assert answer.status == (404 if path == "/empty" else 200), (path, answer.status)
        body, screen = b"", 0.0
        while part := answer.read1():
            body += part
            screen = screen or ((time.perf_counter() - start) * 1000 if b'<p class="end' in body else 0.0)
        took = (time.perf_counter() - start) * 1000
        connection.close()
        return screen, took

    def kilobytes(self, path: str) -> tuple[float, float]:
        """Of what the browser shows first, and of everything."""
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", path, headers={"Cookie": self.cookie})
        body = connection.getresponse().read()
        connection.close()
        end = body.find(b'<p class="end')
        return (end if end >= 0 else len(body)) / 1000, len(body) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=byte_count, default=byte_count("1GB"))
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--home", type=Path, help="an archive of the tree that is there already")
    parser.add_argument("--peer-data", type=Path, help="what agentsview read of the tree, or where it shall go")
    parser.add_argument("--no-peer", action="store_true", help="ratios to an empty page only")
    given = parser.parse_args()
    tree = given.tree or make_tree(given.bytes)
    with tempfile.TemporaryDirectory(prefix="reread-bench-") as folder:
        sources = [tree, write_long(Path(folder))]
        home = given.home or Path(folder) / "home"
        with Archive(home, sources) as archive:
            archive.sync()
        colds, retros = [], []
        for _ in range(COLD_ROUNDS):
            with serving(home, sources) as server:
                server.milliseconds("/sessions")
                time.sleep(1.5)  # templates are compiled meanwhile, as they are while a person looks for a session
                colds.append(server.screen_and_page(f"/s/{LONG}"))
                retros.append(server.milliseconds("/retro?since=all"))
        with serving(home, sources) as server:
            report(server, min(colds), min(retros))
            weigh(server, sources)
            if not given.no_peer:
                compare(server, tree.resolve(), given.peer_data or Path(folder) / "agentsview")


def compare(server: Server, tree: Path, data: Path) -> None:
    """Both servers at once, asked in turn."""
    peers = install_agentsview(CACHE)
    data.mkdir(parents=True, exist_ok=True)
    run_timed(*peers.agentsview_sync(tree, data))
    longest = max((tree / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_size).stem
    views = {
        "sessions": ("/sessions", PEER_LIST),
        "the largest session of the tree": (f"/s/{longest}", f"/api/v1/sessions/{longest}/{PEER_MESSAGES}"),
    }
    print(f"\n{'':42} {'reread':>11} {'agentsview':>11}")
    with listening(peers, tree, data) as address:
        theirs = Server(urlsplit(address).port or 0, "")
        for name, (ours, same) in views.items():
            pairs = [(server.milliseconds(ours), theirs.milliseconds(same)) for _ in range(ROUNDS + 1)][1:]
            mine, other = (min(column) for column in zip(*pairs, strict=True))
            print(f"{name:42} {mine:8.1f} ms {other:8.1f} ms {mine / other:7.2f}x")
        browse(server, address, longest)


class View(NamedTuple):
    """What a browser opens and waits for; the same for both."""

    name: str
    ours: tuple[str, str]
    """The path, and what stands there when it has come."""
    theirs: tuple[str, str]


def browse(server: Server, address: str, session: str) -> None:
    """Both in a browser that knows nothing yet; whatever asks for another machine is not let out."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium here: nothing to see what a browser waits for")
        return
    views = (
        View("first screen of all", ("/", "main .list a"), ("/", ".session-row")),
        View("the largest session", (f"/s/{session}", ".turn"), (f"/sessions/{session}", ".message")),
    )
    name, _, value = server.cookie.partition("=")
    own = f"http://127.0.0.1:{server.port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, NOT_OUT])
        print(f"\n{'in Chromium, the best of ' + str(BROWSED):42} {'reread':>29} {'agentsview ' + AGENTSVIEW:>29}")
        for view in views:
            cells = []
            for base, (path, shown) in ((own, view.ours), (address, view.theirs)):
                cookies = [{"name": name, "value": value, "url": own}] if base == own else []
                cells.append(min(_opened(browser, f"{base}{path}", shown, cookies) for _ in range(BROWSED)))
            print(f"{view.name:42} {'  '.join(f'{ms:6.0f} ms {n:4} req {kb:6.0f} kB' for ms, n, kb in cells)}")
        typed = []
        for base, path, field, hits in (
            (own, views[-1].ours[0], ".palette input", ".palette li .kind"),
            (address, views[-1].theirs[0], ".palette-input", ".palette-item mark"),
        ):
            cookies = [{"name": name, "value": value, "url": own}] if base == own else []
            typed.append(min(_typed(browser, f"{base}{path}", field, hits, cookies) for _ in range(BROWSED)))
        told = "  ".join(f"{ms:6.0f} ms".ljust(29) for ms in typed)
        print(f"{'a word typed into Ctrl-K until a hit shows':42} {told}")
        browser.close()


def _tab(browser: Browser, cookies: list[Any]) -> Page:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    context.add_cookies(cookies)
    return context.new_page()


def _opened(browser: Browser, address: str, shown: str, cookies: list[Any]) -> tuple[float, int, float]:
    """Milliseconds until it shows that, requests and kilobytes until nothing comes any more."""
    page = _tab(browser, cookies)
    sizes: dict[str, float] = {}
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.on("Network.requestWillBeSent", lambda told: sizes.update({told["requestId"]: 0.0}))
    wire.on("Network.loadingFinished", lambda told: sizes.update({told["requestId"]: told["encodedDataLength"]}))
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_function(IS_THERE, arg=shown, polling=10)
    took = (time.perf_counter() - start) * 1000
    page.wait_for_timeout(SETTLES)
    page.context.close()
    return took, len(sizes), sum(sizes.values()) / 1000


def _typed(browser: Browser, address: str, field: str, hits: str, cookies: list[Any]) -> float:
    page = _tab(browser, cookies)
    page.goto(address)
    page.wait_for_timeout(SETTLES)
    page.keyboard.press("Control+k")
    page.wait_for_selector(field)
    page.keyboard.type(TYPED)
    start = time.perf_counter()
    page.wait_for_function(IS_THERE, arg=hits, polling=10)
    took = (time.perf_counter() - start) * 1000
    page.context.close()
    return took


def weigh(server: Server, sources: list[Path]) -> None:
    """Kilobytes of HTML, before compression: of a session its first screen and the whole, the heaviest of all."""
    print(f"\n{'weight of HTML':42} {'first':>8} {'whole':>8}")
    for name, (path, _) in PAGES.items():
        screen, whole = server.kilobytes(path.format(n=0))
        print(f"{name:42} {screen:5.0f} kB {whole:5.0f} kB")
    files = [path for each in sources for path in each.glob("projects/*/*.jsonl")]
    largest = sorted(files, key=lambda path: -path.stat().st_size)[:MOST_WEIGHED]
    weights = {path.stem: server.kilobytes(f"/s/{path.stem}") for path in largest}
    screen, whole = max(weights.values())
    name = f"the heaviest of the {len(weights)} largest sessions"
    print(f"{name:42} {screen:5.0f} kB {whole:5.0f} kB   wanted: 150 kB at first")


def report(server: Server, cold: tuple[float, float], retro: float) -> None:
    empty = min(server.milliseconds("/empty") for _ in range(ROUNDS))
    screen, whole = cold
    print(f"{'an empty page':42} {empty:8.1f} ms")
    print(f"{'a session of 10,000 messages, first screen':42} {screen:8.1f} ms {screen / empty:7.1f}x   wanted: 300 ms")
    print(f"{'the same with its outline and its map':42} {whole:8.1f} ms {whole / empty:7.1f}x")
    print(f"{'retrospective, first':42} {retro:8.1f} ms {retro / empty:7.1f}x   wanted: 2000 ms")
    for name, (path, wanted) in PAGES.items():
        best = min([server.milliseconds(path.format(n=n)) for n in range(ROUNDS + 1)][1:])
        print(f"{name:42} {best:8.1f} ms {best / empty:7.1f}x{f'   wanted: {wanted:.0f} ms' if wanted else ''}")


@contextmanager
def serving(home: Path, sources: list[Path]) -> Iterator[Server]:
    named = [word for source in sources for word in ("--source", str(source))]
    command = [sys.executable, "-m", "reread", "serve", "--no-browser", "--home", str(home), *named]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().decode().split()[-1])
        yield Server(address.port or 0, f"reread-{address.port}={Credentials(address.query.partition('=')[2]).cookie}")
    finally:
        process.terminate()
        process.wait()


def write_long(folder: Path) -> Path:
    """1,250 turns of eight messages."""
    entries = []
    for n in range(1_250):
        entries += [
            a_prompt(f"question {n}: why does part {n} not work as I would like it to?"),
            a_reply(a_thought("I should look at it. " * 8), "Let me look."),
            a_reply(a_tool_call("Read", {"file_path": f"/p/mod_{n % 50}.py"}, id=f"r{n}")),
            a_tool_result("def f():\n    return 1\n" * 20, of=f"r{n}"),
            a_reply(a_tool_call("Edit", {"file_path": f"/p/mod_{n % 50}.py", "old_string": "1", "new_string": "2"})),
            a_tool_result("ok"),
            a_reply(a_tool_call("Bash", {"command": "pytest -q"}, id=f"b{n}")),
            a_tool_result("1 passed\n" * 10, of=f"b{n}", is_error=n % 9 == 0),
        ]
    a_session(*entries, id=LONG, cwd="/p").write(folder / "claude" / "projects")
    return folder / "claude"


if __name__ == "__main__":
    main()
