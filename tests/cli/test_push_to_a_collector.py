"""`push otlp://`: sums of settled days for an OpenTelemetry collector, here one that keeps what it gets by point."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.running import Run
from reread.testing import a_prompt, a_reply, a_session

FIRST, SECOND = "5e55a5c0-0000-4000-8000-000000000001", "5e55a5c0-0000-4000-8000-000000000002"


class Collector(HTTPServer):
    points: dict[tuple[str, str, str], float]
    """By metric, model and moment, as a store of time series keeps them."""
    headers: dict[str, str]
    answer: bytes = b"{}"


class Reception(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/metrics"
        self.server.headers = dict(self.headers)
        for metric in document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
            for point in metric["gauge"]["dataPoints"]:
                model = point["attributes"][0]["value"]["stringValue"]
                value = float(point.get("asDouble", point.get("asInt")))
                self.server.points[metric["name"], model, point["timeUnixNano"]] = value
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def a_collector() -> Iterator[Collector]:
    with Collector(("127.0.0.1", 0), Reception) as made:
        made.points = {}
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def write(folder: Path, session: str, day: str, output: int) -> None:
    usage = {"input_tokens": 10, "output_tokens": output}
    reply = a_reply("done", usage=usage, model="claude-opus-4-8", timestamp=f"{day}T10:00:01.000Z")
    prompt = a_prompt("go on", timestamp=f"{day}T10:00:00.000Z")
    a_session(prompt, reply, id=session).write(folder / ".claude" / "projects")


def push(run: Run, folder: Path, collector: Collector, *more: str) -> Any:
    target = f"otlp://127.0.0.1:{collector.server_port}"
    return run("push", target, "--source", folder / ".claude", "--home", folder / "home", *more)


def test_days_that_are_sent_again_are_the_same_points_and_grow_with_what_came_later(run: Run, tmp_path: Path) -> None:
    write(tmp_path, FIRST, "2026-02-03", 1000)
    with a_collector() as collector:
        answer = json.loads(push(run, tmp_path, collector, "--json").out)
        assert (answer["schema"], answer["days"]) == ("reread.push_otlp/1", 1)
        once = dict(collector.points)
        moment = "1770163199999999999"  # the last of 3 February 2026, UTC
        assert once["reread.usage.output", "claude-opus-4-8", moment] == 1000
        assert once["reread.usage.cost", "claude-opus-4-8", moment] == 0.02505
        push(run, tmp_path, collector)
        assert collector.points == once
        write(tmp_path, SECOND, "2026-02-03", 500)
        push(run, tmp_path, collector)
    assert collector.points.keys() == once.keys()
    assert collector.points["reread.usage.output", "claude-opus-4-8", moment] == 1500


def test_a_key_for_the_collector_comes_from_the_variable_of_all_exporters(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20made-up")
    write(tmp_path, FIRST, "2026-02-03", 1000)
    with a_collector() as collector:
        push(run, tmp_path, collector)
    assert collector.headers["Authorization"] == "Bearer made-up"


def test_a_dry_run_sends_nothing_and_a_refusal_is_told(run: Run, tmp_path: Path) -> None:
    write(tmp_path, FIRST, "2026-02-03", 1000)
    with a_collector() as collector:
        assert "1 day would be sent" in push(run, tmp_path, collector, "--dry-run").out
        assert not collector.points
        collector.answer = b'{"partialSuccess": {"rejectedDataPoints": "7", "errorMessage": "too old"}}'
        refused = push(run, tmp_path, collector)
    assert (refused.code, "refused 7 values: too old" in refused.err) == (2, True)
    gone = push(run, tmp_path, collector)
    assert (gone.code, "did not take the sums" in gone.err) == (2, True)


@pytest.mark.parametrize(
    "option", ["--watch", "--full", "--encrypt=key", "--what=text", "--projects=hashed", "--show=1"]
)
def test_options_of_folders_and_stores_are_refused(run: Run, tmp_path: Path, option: str) -> None:
    write(tmp_path, FIRST, "2026-02-03", 1000)
    found = run("push", "otlp://127.0.0.1:1", "--source", tmp_path / ".claude", "--home", tmp_path / "home", option)
    assert (found.code, "a collector gets sums of days" in found.err) == (2, True)
