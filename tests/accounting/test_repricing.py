"""Prices that change after an import: money and what has no price follow, without reading a transcript again."""

from __future__ import annotations

import json
from pathlib import Path

from cli.running import reread
from reread.testing import a_prompt, a_reply, a_session, a_usage

OWN = {"models": {"house-model": {"input": 1, "output": 2}}}


def test_a_price_that_comes_later_makes_tokens_priced_and_its_loss_makes_them_unpriced(tmp_path: Path) -> None:
    home = tmp_path / "home"
    reply = a_reply("yes", id="msg_1", model="house-model", usage=a_usage(10, 20))
    a_session(a_prompt("go"), reply).write(tmp_path / "claude" / "projects")

    def totals() -> tuple[int, object]:
        ran = reread("usage", "--json", "--home", home, "--source", tmp_path / "claude")
        told = json.loads(ran.out)["totals"]
        return told["unpriced_tokens"], told["cost_usd"]

    unpriced = totals()
    assert unpriced[0] == 30
    home.joinpath("prices.json").write_text(json.dumps(OWN), "utf-8")
    assert totals() == (0, "0.000050000")
    home.joinpath("prices.json").unlink()
    assert totals() == unpriced
