"""A real PostgreSQL in a folder of its own, on loopback alone; none where the distribution's programs are not here."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import psycopg

_RUNUSER = shutil.which("runuser") or "/usr/sbin/runuser"
"""Not on the PATH of everybody who may use it."""
_PLACES = ("/usr/lib/postgresql", "/usr/local/opt", "/opt/homebrew/opt")


def programs() -> Path | None:
    """The folder with `initdb` and `postgres`."""
    found = [path.parent for place in _PLACES for path in Path(place).glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    return max(found, default=Path(on_path).resolve().parent if on_path else None, key=str)


def _as_user(*command: str | Path) -> list[str]:
    """PostgreSQL refuses to run as root."""
    words = [str(word) for word in command]
    return [_RUNUSER, "-u", "postgres", "--", *words] if os.name == "posix" and os.geteuid() == 0 else words


class Server:
    def __init__(self, bin_folder: Path, folder: Path) -> None:
        self._bin, self.data = bin_folder, folder / "data"
        folder.chmod(0o755)
        self.data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres")
        made = _as_user(bin_folder / "initdb", "-D", self.data, "-U", "owner", "-A", "trust", "-E", "UTF8", "-N")
        subprocess.run([*made, "--locale=C.UTF-8"], check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._number = 0
        self.empty_store: str | None = None
        """The database of which others are made, as soon as there is one."""
        self.start()

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories= -c fsync=off"
        self._process = subprocess.Popen(
            _as_user(self._bin / "postgres", "-D", self.data, *options.split()),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
        for _ in range(300):
            try:
                psycopg.connect(self.url("owner", "postgres"), connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        raise TimeoutError("PostgreSQL did not start")

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: what was not committed is gone, and the log is replayed at the next start."""
        stopped = _as_user(self._bin / "pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")
        subprocess.run(stopped, check=True, capture_output=True, cwd="/")
        self._process.wait(30)

    def url(self, role: str, database: str) -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str) -> None:
        """As its owner, each by itself."""
        with psycopg.connect(self.url("owner", "postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def database(self, place: Path | None = None, of: str | None = None) -> str:
        """A new one, or a copy of another; its files in a folder of their own, where one is named."""
        self._number += 1
        name = f"team_{self._number}"
        if of is not None:
            self.run(f"CREATE DATABASE {name} TEMPLATE {of}")
        elif place is None:
            self.run(f"CREATE DATABASE {name}")
        else:
            if os.geteuid() == 0:
                shutil.chown(place, "postgres")
            self.run(f"CREATE TABLESPACE {name} LOCATION '{place}'", f"CREATE DATABASE {name} TABLESPACE {name}")
        return name

    def drop(self, name: str) -> None:
        """A database with a folder of its own."""
        self.run(f"DROP DATABASE {name} WITH (FORCE)", f"DROP TABLESPACE {name}")
