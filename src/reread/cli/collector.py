"""`reread push otlp://COLLECTOR`: settled sums of each day for an OpenTelemetry collector.

A day is a gauge at its last moment, in UTC, with the machine's id: sent again it is the same point, so nothing counts
twice, and what a later import adds to a day replaces it. Today is left out, since it still grows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from reread import __version__
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.archive.usage_report import ModelUse, UsageRow
from reread.errors import BadInput

SCHEMES = {"otlp": "http", "otlps": "https"}
_PATH, _PORT = "/v1/metrics", 4318
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The variable of all exporters, for a key: `authorization=Bearer%20KEY`."""
_PATIENCE = 30.0
_DAY = 86_400
_METRICS = {
    "reread.usage.cost": ("USD", "asDouble", "cost"),
    "reread.usage.requests": ("{request}", "asInt", "requests"),
    "reread.usage.input": ("{token}", "asInt", "input_tokens"),
    "reread.usage.output": ("{token}", "asInt", "output_tokens"),
    "reread.usage.cache_read": ("{token}", "asInt", "cache_read_tokens"),
    "reread.usage.cache_write": ("{token}", "asInt", "cache_write_tokens"),
    "reread.usage.unpriced": ("{token}", "asInt", "unpriced_tokens"),
}
"""Name, with unit, kind of number, and the sum of a day and a model it is."""


def settled_days(archive: Archive, filters: Filter | None) -> list[UsageRow]:
    """The days before today. What has no time belongs to none."""
    today = datetime.now(UTC).date().isoformat()
    return [row for row in archive.usage("day", filters, UTC).rows if row.key is not None and row.key < today]


def metrics_document(days: Iterable[UsageRow], machine: str) -> dict[str, Any]:
    """OTLP in JSON."""
    uses = [(date.fromisoformat(row.key or ""), use) for row in days for use in row.models]
    metrics = [
        {"name": name, "unit": unit, "gauge": {"dataPoints": list(_points(uses, kind, field))}}
        for name, (unit, kind, field) in _METRICS.items()
    ]
    resource = {"attributes": _attributes({"service.name": "reread", "host.id": machine})}
    scope = {"scope": {"name": "reread", "version": __version__}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [scope]}]}


def _points(uses: Iterable[tuple[date, ModelUse]], kind: str, field: str) -> Iterator[dict[str, Any]]:
    for day, use in uses:
        begins = int(datetime.combine(day, time(), UTC).timestamp())
        value = getattr(use.tokens, field)
        if value is not None:  # a model without a price has no cost, which is not none spent
            yield {
                "attributes": _attributes({"model": use.model or ""}),
                "startTimeUnixNano": f"{begins}000000000",
                "timeUnixNano": f"{begins + _DAY - 1}999999999",
                kind: float(value) if kind == "asDouble" else str(value),
            }


def _attributes(named: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in named.items()]


def send(target: str, document: dict[str, Any]) -> int:
    """The number of bytes that the collector took."""
    parts = urlsplit(target)
    address = f"{SCHEMES[parts.scheme]}://{parts.hostname}:{parts.port or _PORT}{parts.path.rstrip('/') or _PATH}"
    body = json.dumps(document).encode()
    pairs = (pair.partition("=") for pair in os.environ.get(_HEADERS, "").split(",") if "=" in pair)
    headers = {name.strip(): unquote(value.strip()) for name, _, value in pairs}
    try:
        with urlopen(  # noqa: S310  http or https
            Request(address, body, {"Content-Type": "application/json", **headers}),  # noqa: S310
            timeout=_PATIENCE,
        ) as answer:
            refused = json.loads(answer.read() or b"{}").get("partialSuccess", {})
    except (OSError, ValueError, HTTPException) as error:
        raise BadInput(f"{address} did not take the sums: {error}") from error
    if int(refused.get("rejectedDataPoints", 0)):
        raise BadInput(f"{address} refused {refused['rejectedDataPoints']} values: {refused.get('errorMessage', '')}")
    return len(body)
