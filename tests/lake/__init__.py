"""The lake: the map, builds, answers, upkeep, Spark and object storage."""

import pytest

for _needed in ("deltalake", "duckdb", "pyarrow"):
    pytest.importorskip(_needed, reason=f"a lake needs {_needed}: pip install 'reread[lake]'")
