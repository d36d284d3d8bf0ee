"""Explained costs as JSON documents: money in dollars with nine digits, and in whole nano-dollars."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction

from reread.billing import Component, Derivation
from reread.billing.report import Tokens
from reread.queries.explaining import Explained, SeveralResponses
from reread.queries.response_costs import ExplainedResponse, Part, ToldCopy
from reread.queries.session_costs import ExplainedSession, ResponseCost

from .numbers import nano
from .values import Document, dollars, tokens_document, utc


def explained_document(explained: Explained, as_of: date) -> Document:
    head = {"schema": "reread.explain/1"}
    tail = {"price_table_date": as_of.isoformat(), "is_lower_bound": True}
    if isinstance(explained, ExplainedResponse):
        return {**head, "kind": "response", **_response(explained), **tail}
    if isinstance(explained, SeveralResponses):
        return {**head, "kind": "responses", **_several(explained), **tail}
    return {**head, "kind": "session", **_session(explained), **tail}


def exact_rate(rate: Fraction) -> str:
    """A price as a decimal: the table's own are such, and so are their products."""
    return f"{(Decimal(rate.numerator) / Decimal(rate.denominator)).normalize():f}"


def _counted(used: Tokens) -> Document:
    return {**tokens_document(used), "nanodollars": used.nanodollars}


def _several(explained: SeveralResponses) -> Document:
    return {
        "id": explained.id,
        "responses": [_cost(each) for each in explained.responses],
        "totals": _counted(explained.tokens),
    }


def _cost(each: ResponseCost) -> Document:
    return {
        "id": each.id,
        "time": utc(each.time),
        "model": each.model,
        "is_suspect": each.is_suspect,
        **_counted(each.tokens),
    }


def _response(explained: ExplainedResponse) -> Document:
    used = explained.tokens
    return {
        "id": explained.id,
        "part_of": explained.part_of,
        "time": utc(explained.time),
        "session": explained.session,
        "project": explained.project,
        "git_branch": explained.git_branch,
        "agent": explained.agent,
        "version": explained.version,
        "stop_reason": explained.stop_reason,
        "copies": [_copy(each) for each in explained.copies],
        "why_home": list(explained.why_home),
        "flags": list(explained.flags),
        "parts": [_part(each) for each in explained.parts],
        "cost_recorded_usd": dollars(nano(explained.recorded)),
        "totals": _counted(used),
        "cost_usd": dollars(used.cost),
        "nanodollars": used.nanodollars,
    }


def _copy(told: ToldCopy) -> Document:
    return {
        "file": told.path,
        "session": told.session,
        "agent": told.agent,
        "is_sidechain": told.is_sidechain,
        "time": utc(told.time),
        "is_home": told.is_home,
        "is_winner": told.is_winner,
        "rows": [
            {
                "line": row.line,
                "uuid": row.uuid,
                "timestamp": utc(row.time),
                "request_id": row.request_id,
                "session": row.session,
                "model": row.model,
                "output_tokens": row.output_tokens,
                "verdict": row.verdict.value,
            }
            for row in told.rows
        ],
    }


def _part(part: Part) -> Document:
    derivation = part.derivation
    return {
        "id": part.id,
        "model": derivation.model,
        "model_raw": part.model,
        "file": part.path,
        "speed": part.used.speed,
        "inference_geo": part.used.geo,
        "service_tier": part.used.tier,
        **_derivation(derivation),
    }


def _derivation(derivation: Derivation) -> Document:
    total = derivation.total
    return {
        "price_id": derivation.price_id,
        "price_origin": derivation.origin,
        "region": derivation.region,
        "prompt_tokens": derivation.prompt,
        "long_context_above": derivation.threshold,
        "is_long_context": derivation.is_long,
        "factors": [{"name": each.name, "factor": exact_rate(each.value)} for each in derivation.factors],
        "components": [_component(each) for each in derivation.components],
        "web_searches": derivation.web_searches,
        "web_search_nanodollars": derivation.web_search_nanodollars,
        "flags": list(derivation.flags),
        "why_unpriced": derivation.why_unpriced,
        "cost_usd": dollars(nano(total)),
        "nanodollars": total,
    }


def _component(each: Component) -> Document:
    return {
        "name": each.name,
        "tokens": each.count,
        "nanodollars_per_token": None if each.rate is None else exact_rate(each.rate),
        "nanodollars": each.nanodollars,
    }


def _session(explained: ExplainedSession) -> Document:
    used = explained.tokens
    return {
        "id": explained.id,
        "title": explained.title,
        "project": explained.project,
        "files": list(explained.paths),
        "totals": _counted(used),
        "models": [{"model": each.model, **_counted(each.tokens)} for each in explained.models],
        "own": _counted(explained.own),
        "agents": [{"agent": each.id, "name": each.name, **_counted(each.tokens)} for each in explained.agents],
        "counted_elsewhere": [
            {"session": each.session, "title": each.title, **_counted(each.tokens)} for each in explained.elsewhere
        ],
        "branches": [
            {"branch": each.id, "is_active": each.is_active, **_counted(each.tokens)} for each in explained.branches
        ],
        "dearest": [_cost(each) for each in explained.dearest],
        "responses": explained.responses,
        "suspect_output_requests": explained.suspect,
        "provisional_requests": explained.provisional,
        "cost_usd": dollars(used.cost),
        "nanodollars": used.nanodollars,
    }
