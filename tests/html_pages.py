"""Reads a page as a browser's parser would: which elements and attributes it holds, and what it says."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = frozenset({"meta", "img", "br", "hr"})
OURS = frozenset(
    """a article aside blockquote body br code dd del details dialog div dl dt em figcaption figure footer h1 h2 h3 h4
    h5 h6 head header hr html img ins li main meta nav ol p pre s script section small span strong style summary table
    tbody td th thead time title tr ul""".split()  # noqa: SIM905
)
"""The elements that the templates and Markdown make."""
ATTRIBUTES = frozenset(
    """alt aria-hidden aria-label charset class content data-n datetime dir height href http-equiv id lang loading name
    open rel src start title width""".split()  # noqa: SIM905
)


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.ids: list[str] = []
        self.text = ""
        self.unbalanced: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = {name: value or "" for name, value in attrs}
        self.elements.append((tag, fields))
        if "id" in fields:
            self.ids.append(fields["id"])
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("script", "style"):
            self.text += data

    def of(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        """The attributes of the elements of a kind; `class_="call error"` asks for all of these classes."""
        classes = set(wanted.get("class_", "").split())
        return [
            fields for name, fields in self.elements if name == tag and classes <= set(fields.get("class", "").split())
        ]

    @property
    def foreign(self) -> list[str]:
        """Elements and attributes that nobody here writes, and links that lead elsewhere than to pages and places."""
        found = [tag for tag, _ in self.elements if tag not in OURS]
        for tag, fields in self.elements:
            found += [f"{tag} {name}" for name in fields if name not in ATTRIBUTES]
            if "src" in fields and not re.fullmatch(r"data:image/(?:png|jpeg|gif|webp);base64,[\w+/=]+", fields["src"]):
                found.append(f"{tag} src {fields['src'][:60]}")
            if "href" in fields and not re.match(r"#|https?://|mailto:|[\w-]+\.(?:html|md)$", fields["href"]):
                found.append(f"{tag} href {fields['href'][:60]}")
        found += ["script"] * (len(self.of("script")) - 1) + ["style"] * (len(self.of("style")) - 1)
        return found
