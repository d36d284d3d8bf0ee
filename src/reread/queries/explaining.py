"""Whose cost is asked for: a response by message or request id, several by a gateway's id, or a session."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reread.billing.report import Tokens, total
from reread.errors import BadInput, SourceError, UnknownSession, printable
from reread.store import responses, sessions

from .response_costs import ExplainedResponse, ResponseExplainer
from .session_costs import ExplainedSession, ResponseCost, explain_session, grouped_responses

if TYPE_CHECKING:
    from reread.billing import Prices
    from reread.store.keeping import SafeFiles
    from reread.store.sessions import StoredSession

_MOST_CANDIDATES = 8
_OF_RESPONSES = ("msg_", "req_")
"""How ids begin that are no session's."""


class SeveralResponses(Struct, frozen=True, kw_only=True):
    """Responses that one id was given to, as some gateways do; each can be explained by its own id."""

    id: str
    responses: tuple[ResponseCost, ...]

    @property
    def tokens(self) -> Tokens:
        return total(each.tokens for each in self.responses)


Explained = ExplainedResponse | SeveralResponses | ExplainedSession


class Explainer:
    """Explains whatever answers to a name. `find` finds a session, and raises UnknownSession where there is none."""

    def __init__(
        self, connection: sqlite3.Connection, files: SafeFiles, prices: Prices, find: Callable[[str], StoredSession]
    ) -> None:
        self._connection = connection
        self._files = files
        self._prices = prices
        self._find = find
        self._responses = ResponseExplainer(connection, files, prices)

    def explain(self, wanted: str | Path) -> Explained:
        """Raises BadInput where nothing answers to a name, or several things do that have nothing in common."""
        if isinstance(wanted, Path):
            return self._session(self._of_file(wanted))
        named = responses.called(self._connection, wanted) if wanted else []
        if named:
            return self._several(wanted, named) if len(named) > 1 else self._responses.explain(named[0])
        session = None if wanted.startswith(_OF_RESPONSES) else self._session_called(wanted)
        if session is not None:
            return self._session(session)
        begun = responses.beginning_with(self._connection, wanted) if wanted else []
        if len(begun) != 1:
            raise BadInput(_many(wanted, begun) if begun else f"no message, request or session {printable(wanted)!r}")
        return self._responses.explain(begun[0])

    def _session(self, stored: StoredSession) -> ExplainedSession:
        return explain_session(self._connection, self._files, self._prices, stored)

    def _session_called(self, wanted: str) -> StoredSession | None:
        try:
            return self._find(wanted)
        except UnknownSession:
            return None

    def _of_file(self, path: Path) -> StoredSession:
        number = responses.session_of_file(self._connection, str(path))
        if number is None:
            raise SourceError(path, "is no file of a session that is kept")
        [stored] = sessions.sessions(self._connection, ids=[number])
        return stored

    def _several(self, wanted: str, keys: Sequence[str]) -> SeveralResponses:
        counted = [part for key in keys for part in responses.parts_of(self._connection, key)]
        return SeveralResponses(id=wanted, responses=tuple(grouped_responses(counted)))


def _many(wanted: str, candidates: Sequence[str]) -> str:
    shown = ", ".join(map(printable, candidates[:_MOST_CANDIDATES]))
    more = ", ..." if len(candidates) > _MOST_CANDIDATES else ""
    return f"{printable(wanted)!r} could be any of {len(candidates)} responses: {shown}{more}"
