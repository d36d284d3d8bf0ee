"""Object storage: sources and lakes behind a real S3 server of the loopback interface."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from lake.counted import Counted
from lake.lakes import assert_same_usage, built, everything, reports
from reread.billing import packaged_prices
from reread.lake.build import plan_build
from reread.lake.delta import DeltaLake
from reread.lake.share import ShareOptions
from reread.lake.upkeep import by_session, forget, vacuum, verify
from reread.testing import a_prompt, a_reply, a_session
from trees import Tree, a_tree, append, resume_copy

pytest.importorskip("moto", reason="object storage is tested with moto: pip install 'moto[server]' boto3")
boto3 = pytest.importorskip("boto3", reason="object storage is tested with moto: pip install 'moto[server]' boto3")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            urlopen(address, timeout=5).close()
            break
        except OSError:
            time.sleep(0.2)
    yield address
    process.terminate()
    process.wait(timeout=30)


@pytest.fixture(scope="module")
def counted(server: str) -> Counted:
    return Counted(int(server.rpartition(":")[2]))


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    name = "b" + str(abs(hash(request.node.name)))
    boto3.client("s3").create_bucket(Bucket=name)
    return name


def upload(folder: Path, bucket: str) -> None:
    client = boto3.client("s3")
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            client.upload_file(str(path), bucket, f"raw/{path.relative_to(folder).as_posix()}")


def test_a_lake_of_a_bucket_is_that_of_the_folder(bucket: str, tmp_path: Path) -> None:
    tree: Tree = a_tree(tmp_path, size=300_000)
    resume_copy(tree.source, tree.truth)
    upload(tree.source, bucket)
    source, lake = f"s3://{bucket}/raw", f"s3://{bucket}/lake"
    first = built(lake, source)
    assert first.sessions > 0 and not first.failed
    with tree.archive() as archive:
        archive.sync()
        assert_same_usage(lake, archive)
        again = built(lake, source)
        assert (again.sessions, again.bytes_read, again.unchanged) == (0, 0, first.sessions)
        before = {path: path.read_bytes() for path in tree.source.rglob("*") if path.is_file()}
        append(tree.source, tree.truth)
        for path, content in before.items():
            if path.read_bytes() != content:
                boto3.client("s3").upload_file(str(path), bucket, f"raw/{path.relative_to(tree.source).as_posix()}")
        new = [path for path in tree.source.rglob("*") if path.is_file() and path not in before]
        for path in new:
            boto3.client("s3").upload_file(str(path), bucket, f"raw/{path.relative_to(tree.source).as_posix()}")
        then = built(lake, source)
        assert 0 < then.sessions < first.sessions
        archive.sync()
        assert_same_usage(lake, archive)
    assert verify(DeltaLake(lake), packaged_prices(), with_sources=True).ok


def test_a_session_is_forgotten_in_a_bucket(bucket: str, tmp_path: Path) -> None:
    tree: Tree = a_tree(tmp_path, size=100_000)
    lake = f"s3://{bucket}/lake"
    first = built(lake, tree.source)
    name = DeltaLake(lake).rows("session", ["id"])["id"][0].as_py()
    assert forget(DeltaLake(lake), by_session(DeltaLake(lake), name), packaged_prices()).files_removed > 0
    seen = everything(lake)
    vacuum(DeltaLake(lake), hours=0)
    assert everything(lake) == seen and len(seen["session"]) < first.rows["session"]
    assert verify(DeltaLake(lake), packaged_prices()).ok
    assert reports(lake)["session"].rows


def test_a_plan_reads_the_beginning_of_what_is_new_and_a_build_everything_once(
    bucket: str, counted: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some files are called other than their sessions, so that a plan must look into them."""
    folder = tmp_path / "claude" / "projects"
    for number in range(6):
        told = [each for n in range(400) for each in (a_prompt(f"go {n}"), a_reply("yes " * 100))]
        path = a_session(*told, id=f"0a1b2c3d-1111-4222-8333-{number:012}").write(folder)
        path.rename(path.with_name(f"copy {number}.jsonl"))
    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    assert size > 6 * 3 * 64_000
    upload(folder, bucket)
    source, lake = f"s3://{bucket}/raw", f"s3://{bucket}/lake"
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{counted.port}")
    counted.begin()
    plan = plan_build(DeltaLake(lake), [source], ShareOptions())
    assert len(plan.jobs) == 6
    assert plan.bytes_read <= 6 * 64 * 1024
    assert counted.bytes < 6 * 64 * 1024 + 60_000
    assert counted.requests["GET raw"] == 6
    counted.begin()
    assert built(lake, source).sessions == 6
    assert counted.requests["GET raw"] == 2 * 6  # its beginning, and all of it once
    assert counted.bytes < size + 6 * 64 * 1024 + 2_000_000  # logs and tables
