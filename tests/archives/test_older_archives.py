"""Archives that earlier versions made: opened, brought up to date and compared with what those said of them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.index.database import transaction
from reread.index.meta import EXTRACTOR

ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.xz"))
OKAPI = "2c3d4e5f-3333-4444-8555-666677778888"


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # there from 3.11.4 on
        tar.extractall(tmp_path)  # noqa: S202  our own archives
    return tmp_path


def assert_as_before(archive: Archive, told: dict[str, object]) -> None:
    total = archive.usage("day").totals
    assert (total.requests, total.output_tokens, total.nanodollars) == (
        told["requests"],
        told["output_tokens"],
        told["nanodollars"],
    )
    assert sorted({each.stored.row.uuid for each in archive.sessions()}) == told["sessions"]
    texts = told["texts"]
    assert isinstance(texts, dict)
    assert {uuid: archive.transcript(uuid).decode() for uuid in texts} == texts
    assert archive.safe.verify().damaged == []


def test_an_older_archive_is_brought_up_to_date_in_place(older: Path) -> None:
    told = json.loads((older / "answers.json").read_text())
    with Archive(older / "home") as archive:
        assert archive.outdated() > 0
        assert_as_before(archive, told)
        archive.sync()
        assert archive.outdated() == 0
        assert archive.sql("SELECT DISTINCT extractor FROM file")[1] == [(EXTRACTOR,)]
        assert_as_before(archive, told)
        names = [each.stored.row.uuid for each in archive.sessions()]
        assert len(names) == len(told["sessions"]) + 1  # of one session a copy went its own way
        assert names.count(OKAPI) == 2
        assert archive.sql("SELECT DISTINCT machine FROM session")[1] == [(archive.machine,)]
        assert len(archive.friction.retro().events) == 2
        archive.safe.rebuild()
        assert_as_before(archive, told)
        assert len(archive.sessions()) == len(names)


def test_what_an_older_version_counted_by_other_rules_is_no_damage(older: Path) -> None:
    told = json.loads((older / "answers.json").read_text())
    with Archive(older / "home") as archive:
        assert archive.safe.verify(deep=True).damaged == []
        assert archive.outdated() == 0
        assert_as_before(archive, told)


def test_responses_that_were_settled_by_an_older_rule_are_settled_again(older: Path) -> None:
    with Archive(older / "home") as archive:
        archive.sync()
        with transaction(archive.connection):
            archive.connection.execute(
                """UPDATE copied SET home = (SELECT max(file) FROM request WHERE key = copied.key AND file <> home)"""
            )
            archive.connection.execute("DELETE FROM migration WHERE name = 'owners_by_beginning'")
        assert archive.sql("SELECT count(*) FROM copied")[1] != [(0,)]
    with Archive(older / "home") as archive:
        assert archive.safe.verify(deep=True).damaged == []
