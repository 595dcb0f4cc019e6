"""The operations of the API as parameters of tests: method, path, and what a write may send."""

import pytest

READS = [
    pytest.param("GET", "Cities?limit=1", id="list"),
    pytest.param("GET", "Cities/2", id="read"),
]
WRITES = [
    pytest.param("POST", "Cities", id="create"),
    pytest.param("POST", "Cities/2", id="update by POST"),
    pytest.param("PUT", "Cities/2", id="update by PUT"),
    pytest.param("PATCH", "Cities/2", id="update by PATCH"),
]
OPERATIONS = [*READS, *WRITES]

ROW = b'{"name":"x"}'
JSON = ("Content-Type", "application/json")
