"""What cannot be asked for: the page stays, says what is wrong beside what was typed, and keeps the rest."""

from __future__ import annotations

import pytest

from web.asking import Asking, Reading

DATE = "'nonsense' is not a date; try 2026-10-02, 2026-10, 7d, 24h, 2mo, yesterday, thu or last monday"


def problem_of(page: Reading) -> str:
    """The sentence that the page says, once."""
    assert [each.get("role") for each in page.of("p") if each.get("id") == "problem"] == ["alert"]
    return " ".join(page.text.split())


def fields_of(page: Reading) -> dict[str, str]:
    return {each["name"] or "": each.get("value") or "" for each in page.of("input") if each.get("name")}


def blamed(page: Reading) -> list[str]:
    return [each["name"] or "" for each in page.of("input") if each.get("aria-invalid") == "true"]


@pytest.mark.parametrize(
    "address",
    [
        "/usage?by=model&project=lantern&model=opus",
        "/sessions?project=lantern&model=opus",
        "/search?q=beacon&project=lantern&model=opus",
    ],
)
def test_a_date_that_is_none_leaves_the_page_and_its_filters(site: Asking, address: str) -> None:
    page = site.page(f"{address}&since=nonsense&until=yesterday", status=400)
    assert f"since {DATE}" in problem_of(page)
    assert blamed(page) == ["since"]
    kept = fields_of(page)
    assert (kept["project"], kept["model"]) == ("lantern", "opus")
    assert (kept["since"], kept["until"]) == ("nonsense", "yesterday")
    turned = site.page(f"{address}&since=yesterday&until=7d", status=400)
    assert "since must lie before until" in problem_of(turned)
    assert blamed(turned) == ["since", "until"]
    assert site.get(f"{address}&since=7d&until=now").status_code == 200


def test_a_retrospective_that_cannot_be_made_keeps_its_form(site: Asking) -> None:
    page = site.page("/retro?since=nonsense&project=lantern&kind=correction", status=400)
    assert f"since {DATE}" in problem_of(page)
    assert fields_of(page)["project"] == "lantern"
    assert "since" not in fields_of(page), "the next try would fail, too"
    assert "/retro?since=7d&project=lantern&kind=correction" in page.links()
    page = site.page("/retro?kind=nonsense&project=lantern", status=400)
    assert "nonsense" in problem_of(page)
    assert fields_of(page)["project"] == "lantern"
    assert "/retro?since=7d&project=lantern" in page.links()
    assert site.get("/retro?session=nobody").status_code == 404


def test_words_that_cannot_be_searched_for_blame_no_date(site: Asking) -> None:
    page = site.page("/search?q=-beacon&project=lantern&since=7d", status=400)
    assert "only says what to leave out" in problem_of(page)
    assert blamed(page) == []
    assert fields_of(page)["q"] == "-beacon"
    page = site.page("/search?q=beacon&in=nowhere&project=lantern", status=400)
    assert "in 'nowhere' names no field" in problem_of(page)
    assert fields_of(page)["project"] == "lantern"


@pytest.mark.parametrize("address", ["/search?q=beacon&in=nowhere", "/search?q=%23%23", "/search?q=+&in=nowhere"])
def test_a_page_speaks_of_no_options_of_the_command_line(site: Asking, address: str) -> None:
    assert "--" not in problem_of(site.page(address, status=400))


def test_numbers_that_are_none_count_as_not_given(site: Asking) -> None:
    for address in ("/sessions?page=x", "/sessions?page=-3", "/search?q=beacon&n=many", "/usage?by=nonsense&whole=x"):
        assert site.get(address).status_code == 200


def test_what_was_typed_never_becomes_markup(site: Asking) -> None:
    for place in ("/usage?", "/sessions?", "/search?q=beacon&", "/retro?"):
        page = site.page(f"{place}since=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", status=400)
        assert not page.of("img")
