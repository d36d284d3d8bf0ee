"""Nobody but the person who started the server gets anything from it, whatever page their browser is on."""

from __future__ import annotations

import pytest

from reread.web.guard import KEY_FIELD, LARGEST_BODY, LONGEST_ADDRESS, Credentials, Names
from web.asking import CHANGES, COOKIE, HOST, READS, TOKEN, Asking, read

PATHS = (
    "/",
    "/live",
    "/live/list",
    "/events?to=/live",
    "/live/nobody",
    "/live/nobody/now",
    "/sessions",
    "/search?q=beacon",
    "/usage",
    "/retro?since=all",
    "/usage/sidebar",
    "/usage/saved",
    "/usage/usage.csv",
    "/usage/projects.svg",
    "/doctor",
    "/secrets",
    "/s/@last",
    "/s/@last/turns",
    "/s/@last/states",
    "/s/@last/hits?q=beacon",
    "/s/@last/sidebar",
    "/s/@last/compare",
    "/no",
    "/static/web.js/no",
    "/static/..%2fno",
)
VALUE = Credentials(TOKEN).cookie


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8000", "", "a b"]
)
def test_a_foreign_host_is_refused(path: str, host: str, guarded: Asking) -> None:
    answer = guarded.get(path, {"host": host})
    assert answer.status_code == 421
    assert "beacon" not in answer.text


@pytest.mark.parametrize("host", [HOST, "localhost:8000", "LOCALHOST:8000", "[::1]:8000"])
def test_the_names_of_this_machine_are_welcome(host: str, site: Asking) -> None:
    assert site.get("/", {"host": host}).status_code == 200


def test_a_server_for_others_answers_to_addresses_and_to_its_own_name() -> None:
    names = Names("0.0.0.0", 80, ["desk.local"])  # noqa: S104  that is the question
    assert names.has("192.168.1.7")
    assert names.has("[fe80::1]:80")
    assert names.has("desk.local:80")
    assert not names.has("evil.example")
    assert not Names("127.0.0.1", 80).has("192.168.1.7")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "cookie",
    [None, "", "reread-8000=", "reread-8000=guess", f"{COOKIE}={TOKEN}", f"x={VALUE}", f"reread-9={VALUE}", "\x7f;="],
)
def test_nothing_is_told_without_the_token(path: str, cookie: str | None, guarded: Asking) -> None:
    answer = guarded.client.get(path, headers={} if cookie is None else {"cookie": cookie})
    assert answer.status_code == 403
    assert "beacon" not in answer.text
    assert "set-cookie" not in answer.headers
    assert "reread serve" in answer.text, "it says what to do"


def test_the_address_that_was_printed_opens_the_door_and_the_cookie_keeps_it_open(site: Asking) -> None:
    assert site.client.get(f"/?token={TOKEN}x").status_code == 403
    answer = site.client.get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    assert f"{COOKIE}={VALUE}; Path=/; HttpOnly; SameSite=Strict" in answer.headers.get_list("set-cookie")
    assert TOKEN not in answer.text
    assert site.client.get("/sessions").status_code == 200


@pytest.mark.parametrize(
    "others",
    ['theme={"dark":true}; {}', "a b=c; {}", "é=x; {}", "; ;{}", "{}; reread-8000=stale", "reread-8000=stale; {}"],
)
def test_the_cookies_of_other_servers_of_this_machine_lock_nobody_out(others: str, site: Asking) -> None:
    cookie = others.replace("{}", f"{COOKIE}={VALUE}")
    assert site.client.get("/sessions", headers={b"cookie": cookie.encode()}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        f"https://{HOST}",
        "http://127.0.0.1:9",
        f"http://{HOST}.evil",
        "http://127.0.0.2:8000",
        "http://localhost:8000",
        "http://[::1]:8000",
    ],
)
def test_a_foreign_origin_is_refused_for_reading_and_for_changing(origin: str, site: Asking) -> None:
    assert site.get("/sessions", {"origin": origin}).status_code == 403
    assert site.client.post("/doctor", headers={**READS, "origin": origin}).status_code == 403


def test_nobody_else_marks_a_session(site: Asking) -> None:
    for headers in ({}, READS, {"origin": f"http://{HOST}"}, {**READS, "origin": "http://evil.example"}):
        assert site.client.post("/s/@last/mark", headers=headers, content="starred=1").status_code == 403
        assert site.client.post("/sessions/mark", headers=headers, content="session=@last&starred=1").status_code == 403
    assert site.get("/s/@last/mark?starred=1").status_code == 405
    assert site.get("/sessions/mark?session=@last&starred=1").status_code == 405
    assert "★" not in site.get("/sessions").text


def test_what_changes_something_needs_an_origin_and_the_token(site: Asking) -> None:
    ours = f"http://{HOST}"
    assert site.client.post("/doctor", headers=READS).status_code == 403, "without an origin"
    assert site.client.post("/doctor", headers={"origin": ours}).status_code == 403, "without the token"
    assert site.client.post(f"/doctor?token={TOKEN}", headers={"origin": ours}).status_code == 403, "in the address"
    other = {**CHANGES, "sec-fetch-site": "cross-site"}
    assert site.client.post("/doctor", headers=other).status_code == 403
    done = site.client.post("/doctor", headers=CHANGES, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, "/doctor")


def test_what_a_server_at_another_port_gets_to_see_changes_nothing_here(site: Asking) -> None:
    """Browsers send a cookie to every port of a machine: whoever has it has no token, and no key of a page."""
    seen = {**READS, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    key = Credentials(TOKEN).page_key
    for path in PATHS[:4] + PATHS[6:]:
        if not path.startswith("/events"):
            page = site.client.get(path, headers=seen).text
            assert key not in page, "no page tells the key to who has the cookie alone"
            assert TOKEN not in page
    for guess in ("", VALUE, TOKEN, key[:-1]):
        assert site.client.post("/doctor", headers={**seen, "x-page-key": guess}).status_code == 403
        assert site.client.post("/doctor", headers=seen, data={KEY_FIELD: guess}).status_code == 403
        assert site.client.get("/", headers={"cookie": f"{COOKIE}={guess}"}).status_code == (
            200 if guess == VALUE else 403
        )
    refused = site.client.post(
        "/sessions/mark", headers={**seen, "x-part": "1"}, data={"session": "@last", "starred": "1"}
    )
    assert (refused.status_code, refused.headers["x-needs"]) == (403, "token")
    assert "★" not in site.get("/sessions").text


def test_the_key_comes_with_the_answer_to_the_token_and_forms_bring_it_back(site: Asking) -> None:
    page = read(site.client.get(f"/sessions?token={TOKEN}").text)
    key = next(each["content"] for each in page.of("meta") if each.get("name") == "page-key")
    form = {"session": "@last", "starred": "1", KEY_FIELD: key}
    done = site.client.post(
        "/sessions/mark", headers={**READS, "origin": f"http://{HOST}"}, data=form, follow_redirects=False
    )
    assert done.status_code == 303
    assert "★" in site.get("/sessions").text


def test_a_refused_page_has_a_field_for_the_token_that_leads_on(site: Asking) -> None:
    page = read(site.client.get("/search?q=beacon&token=old").text)
    assert [form.get("action") for form in page.of("form")] == [None], "to where one wanted to go"
    assert [(each["name"], each["type"]) for each in page.of("input")] == [("token", "password")]
    opened = site.client.get("/search", params={"q": "beacon", "token": TOKEN})
    assert (opened.status_code, "beacon" in opened.text) == (200, True)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(method: str, site: Asking) -> None:
    headers = CHANGES
    assert site.client.request(method, "/sessions", headers=headers).status_code == 405
    assert site.client.request(method, "/sessions").status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../../../etc/passwd",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/pages.py",
        "/static/..%5cpages.py",
        "/static/web.css%00.png",
        "/static//etc/passwd",
        "/static/templates",
        "//etc/passwd",
        "/s/..%2f..%2fetc%2fpasswd",
        "/s/%2e%2e/%2e%2e/etc/passwd",
        "/s/~../record/x",
        "/s/~999999",
        "/s/@0",
        "/s/@last/record/..%2f..%2fetc%2fpasswd",
        "/s/@last/record/nobody",
        "/s/%ff%fe",
        "/s/%00",
    ],
)
def test_no_path_leads_out_of_the_archive(path: str, site: Asking) -> None:
    answer = site.get(path)
    assert answer.status_code == 404, answer.text[:300]
    assert "root:" not in answer.text


def test_what_is_too_long_or_too_large_is_refused(site: Asking) -> None:
    assert site.get("/search?q=" + "x" * LONGEST_ADDRESS).status_code == 414
    assert site.get("/search?q=" + "x" * 2_000).status_code == 400
    headers = CHANGES
    assert site.client.post("/doctor", headers=headers, content=b"x" * (LARGEST_BODY + 1)).status_code == 413
    assert site.client.post("/doctor", headers={**headers, "content-length": "-1"}).status_code == 400
    pieces = (b"x" * 1_000 for _ in range(LARGEST_BODY // 1_000 + 1))
    unannounced = site.client.post("/sessions/mark", headers=headers, content=pieces)
    assert (unannounced.status_code, "more than this server takes" in unannounced.text) == (413, True)
    assert site.get("/sessions?page=99999999999999999999").status_code == 200
    assert site.get("/s/@last/turns?from=99999999999").status_code == 200


@pytest.mark.parametrize(
    "path", [path for path in (*PATHS, "/static/web.js", "/static/no") if not path.startswith("/events")]
)
def test_every_answer_forbids_what_no_page_of_ours_needs(path: str, site: Asking) -> None:
    for headers in (site.get(path).headers, site.client.get(path).headers):
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
        kept = "private, no-cache" if path == "/static/web.js" else "no-store"
        assert headers["cache-control"] == kept, "no browser keeps a conversation on its disk"


def test_a_fault_of_ours_is_a_page_with_the_same_headers(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("<script>alert(1)</script>")

    monkeypatch.setattr("reread.web.archive_pool.ArchivePool.by_id", fail)
    answer = site.get("/sessions")
    assert answer.status_code == 500
    assert "&lt;script&gt;" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
