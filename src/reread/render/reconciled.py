"""What the client said it cost, beside what transcripts tell: columns of a table, fields of a document."""

from __future__ import annotations

from collections.abc import Mapping

from reread.queries.reconciling import Reconciled

from .numbers import money, nano, percent
from .values import Document, dollars, utc

Reconciliation = Mapping[str, Reconciled] | None
"""By session what the client said; None where nobody asked."""
COMPARED = ("client said", "difference")


def compared(session: str | None, reconciliation: Reconciliation) -> tuple[str, ...]:
    """The columns of a session; empty where the client said nothing."""
    if reconciliation is None:
        return ()
    found = reconciliation.get(session or "")
    if found is None:
        return ("", "")
    return (money(nano(found.client), is_partial=False), _difference(found))


def _difference(found: Reconciled) -> str:
    if found.difference is None:
        return "no price"
    if found.difference == 0:
        return "none"
    sign = "-" if found.difference < 0 else "+"
    share = "" if found.share is None else f" ({percent(abs(found.share))})"
    return f"{sign}{money(nano(abs(found.difference)), is_partial=False)}{share}"


def reconciled_document(session: str | None, reconciliation: Reconciliation) -> Document:
    """Nulls where nothing was said; nothing at all where nobody asked."""
    if reconciliation is None:
        return {}
    found = reconciliation.get(session or "")
    return {
        "client_cost_usd": None if found is None else dollars(nano(found.client)),
        "client_source": None if found is None else found.source,
        "client_said": None if found is None else utc(found.said),
        "transcript_cost_usd": None if found is None else dollars(nano(found.transcripts)),
        "difference_usd": None if found is None else dollars(nano(found.difference)),
        "difference_percent": None if found is None or found.share is None else round(found.share * 100, 2),
    }
