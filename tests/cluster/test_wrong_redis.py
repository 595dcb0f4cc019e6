"""A wrong or late Redis is reported in the log, in metrics, by `check` and by `/readyz`."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from redis.asyncio import Connection, Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from gateway.cluster.scripts import PROBE
from gateway.cluster.store import StoreFault, StoreUnavailable, check_url, fault_of, open_store
from gateway.commands.doctor.shared_store import check_redis
from gateway.settings.model import ConfigError
from tests.cluster.installation import clustered, serving
from tests.cluster.redis_server import PASSWORD, RedisServer
from tests.cluster.world import World
from tests.cluster.wrong_servers import SECRET, free_port, wrong_url
from tests.journeys.process import Process
from tests.journeys.test_process import Installation
from tests.journeys.waiting import until
from tests.postgres import PostgresServer

METRICS = '[metrics]\nlisten = "127.0.0.1:0"\n'


@pytest.fixture
async def admin(server: RedisServer) -> AsyncIterator[Any]:
    """Client with all rights; the server also has users with too few rights."""
    client: Any
    async with Redis.from_url(server.url) as client:
        for name, rights in (("weak", ["+@read"]), ("uninformed", ["+@all", "-@dangerous"])):
            await client.execute_command(
                "ACL", "SETUSER", name, "on", f">{PASSWORD}", "~*", *rights
            )
        yield client
    server.restart()


@pytest.mark.parametrize(
    ("name", "fault", "advice"),
    [
        pytest.param("closed port", StoreFault.REFUSED, "nothing listens there", id="closed"),
        pytest.param("socket", StoreFault.REFUSED, "nothing listens there", id="no socket"),
        pytest.param("host", StoreFault.UNKNOWN_HOST, "host name is not found", id="unknown host"),
        pytest.param("silent", StoreFault.TIMEOUT, "does not answer within 0.25 s", id="silent"),
        pytest.param("TLS", StoreFault.TIMEOUT, "a server without TLS redis://", id="no TLS there"),
        pytest.param("password", StoreFault.PASSWORD, "refuses the user or the", id="password"),
        pytest.param("user", StoreFault.PASSWORD, "refuses the user or the", id="unknown user"),
        pytest.param("no password", StoreFault.PASSWORD, "needs a password", id="no password"),
        pytest.param("rights", StoreFault.NO_RIGHTS, "the user lacks rights", id="rights"),
        pytest.param("no INFO", StoreFault.NO_RIGHTS, "the user lacks rights", id="no INFO"),
        pytest.param("not Redis", StoreFault.NOT_REDIS, "another program than", id="not Redis"),
        pytest.param("hangs up", StoreFault.CLOSED, "closes the connection", id="hangs up"),
        pytest.param("database", StoreFault.NO_DATABASE, "no database with this", id="database"),
    ],
)
async def test_a_failed_first_connection_has_a_reason(
    server: RedisServer, admin: Any, name: str, fault: StoreFault, advice: str
) -> None:
    """A failed first connection is logged once with its reason, and `check` says what to do.

    No text contains the password.
    """
    told: list[str | None] = []
    with wrong_url(name, server) as url:
        async with open_store(url, changed=told.append) as store:
            for _ in range(2):
                with pytest.raises(StoreUnavailable):
                    await store.probe(PROBE, ["x"])
        finding = await check_redis(url)

    assert told == [fault]
    assert finding.level == "problem"
    assert advice in finding.text
    assert not any(secret in finding.text for secret in (SECRET, PASSWORD))


async def test_a_name_with_several_addresses_has_a_reason() -> None:
    """If no address of a Redis host listens, the error has the reason.

    asyncio joins the errors of several addresses, which must not hide the reason.
    """
    make: Any = Connection
    connection = make(host=None, port=free_port())  # both loopback addresses
    with pytest.raises(RedisConnectionError) as caught:
        await connection.connect()

    assert "Multiple exceptions" in str(caught.value)
    assert fault_of(caught.value) is StoreFault.REFUSED


@pytest.mark.parametrize(
    ("setting", "value", "fault", "advice"),
    [
        pytest.param("maxmemory", "1", StoreFault.FULL, "Raise its setting maxmemory", id="full"),
        pytest.param("maxclients", "1", StoreFault.TOO_MANY_CLIENTS, "maxclients", id="clients"),
        pytest.param("replicaof", "127.0.0.1 1", StoreFault.READ_ONLY, "a replica", id="replica"),
    ],
)
async def test_a_redis_that_takes_no_writes_has_a_reason(
    server: RedisServer, admin: Any, setting: str, value: str, fault: StoreFault, advice: str
) -> None:
    """A Redis that is full, has no free client, or is a replica is logged with its reason."""
    if setting == "replicaof":
        await admin.execute_command("REPLICAOF", *value.split())
    else:
        await admin.config_set(setting, value)
    told: list[str | None] = []
    async with open_store(server.url, changed=told.append) as store:
        with pytest.raises(StoreUnavailable):
            await store.probe(PROBE, ["x"])
    finding = await check_redis(server.url)

    assert told == [fault]
    assert advice in finding.text


@pytest.mark.parametrize("fault", [each for each in StoreFault if each is not StoreFault.OTHER])
def test_each_reason_of_the_log_is_explained(fault: StoreFault) -> None:
    """The page on findings of `check` explains each reason that the log can have."""
    page = (Path(__file__).parents[2] / "docs/how-to/check-findings.md").read_text("utf-8")

    assert f"| `{fault}` |" in page


async def test_a_changed_reason_is_reported(server: RedisServer) -> None:
    """A change of the reason is logged, such as another password after a restart of Redis."""
    told: list[str | None] = []
    async with open_store(server.url, changed=told.append) as store:
        store.returned()
        server.kill()
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await store.probe(PROBE, ["x"])
        server.start()
        async with Redis.from_url(server.url) as client:
            await client.config_set("requirepass", SECRET)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await store.probe(PROBE, ["x"])
    server.restart()

    assert told == [None, StoreFault.REFUSED, StoreFault.PASSWORD]


async def test_check_accepts_the_right_redis(server: RedisServer) -> None:
    """With a correct Redis, `check` reports ok and only its address."""
    finding = await check_redis(server.url)

    assert (finding.level, finding.text) == (
        "ok",
        f"cluster.redis: 127.0.0.1:{server.port} answers",
    )


@pytest.mark.parametrize(
    ("options", "is_right"),
    [
        pytest.param("?health_check_interval=5", True, id="known"),
        pytest.param("?heath_check_interval=5", False, id="misspelt"),
        pytest.param("?db=one", False, id="no number"),
        pytest.param("?ssl_cert_reqs=perhaps", False, id="no choice"),
    ],
)
def test_options_of_the_url_are_checked(options: str, is_right: bool) -> None:
    """Wrong options in the URL of Redis are an error of the configuration, not a traceback."""
    problems: list[str] = []
    try:
        check_url(f"rediss://:{SECRET}@host/0{options}")
    except ConfigError as error:
        problems = list(error.problems)

    assert (problems == []) == is_right
    assert all(each.startswith('cluster.redis: an option after "?"') for each in problems)
    assert SECRET not in str(problems)


def test_a_missing_certificate_file_is_named() -> None:
    """The error for a missing certificate file names the file."""
    with pytest.raises(ConfigError) as caught:
        check_url(f"rediss://:{SECRET}@host/0?ssl_ca_certs=/nowhere/ca.pem")

    assert caught.value.problems == [
        "cluster.redis: the file of the option ssl_ca_certs does not exist"
    ]


@pytest.mark.parametrize("count", [1, 3])
async def test_without_redis_processes_share_by_their_sessions(redis: Redis, count: int) -> None:
    """Without Redis, processes divide the rate by the number of PostgreSQL sessions."""
    world = World(redis)
    begun = await world.start(count, is_cut=True)
    for _ in range(120):
        await world.run(1)
        for each in begun:
            each.membership.sessions_counted(count)

    assert 53 <= len(world.sent_since(60)) <= 60
    assert world.most() <= 60


async def test_a_process_that_lost_its_session_has_its_share(redis: Redis) -> None:
    """A process whose session was cut keeps its share for two minutes, and then counts as dead."""
    world = World(redis)
    first, second = await world.start(2, is_cut=True)
    for _ in range(70):
        await world.run(1)
        for each in (first, second):
            each.membership.sessions_counted(2)
    shares = []
    for _ in range(2):
        for _ in range(80):
            await world.run(1)
            first.membership.sessions_counted(1)
        shares.append(first.usable_share)

    assert shares == [0.5, 1.0]


async def test_a_process_that_knows_of_no_sessions_uses_a_tenth(redis: Redis) -> None:
    """A process that knows neither Redis nor the PostgreSQL sessions uses a tenth of the rate."""
    world = World(redis)
    await world.start(1, is_cut=True)
    await world.run(120)

    assert 4 <= len(world.sent_since(60)) <= 6


async def test_processes_that_start_without_redis_lower_the_shares(redis: Redis) -> None:
    """Processes that start without Redis lower the shares of the earlier processes."""
    world = World(redis)
    first, second = await world.start(2)
    await world.run(5)
    for each in (first, second):
        each.link.is_cut = True
    await world.start(2, is_cut=True)
    for _ in range(120):
        await world.run(1)
        for each in world.processes:
            each.membership.sessions_counted(4)

    assert 50 <= len(world.sent_since(60)) <= 60
    assert [round(each.usable_share, 3) for each in world.processes] == [0.25] * 4


async def test_sessions_do_not_count_while_redis_is_available(redis: Redis) -> None:
    """While Redis is available, PostgreSQL sessions do not change the shares."""
    world = World(redis)
    (process,) = await world.start(1)
    await world.run(5)
    process.membership.sessions_counted(9)

    assert process.membership.count == 1
    assert process.usable_share == 1.0


@pytest.fixture
def installed(
    postgres: PostgresServer, any_redis: RedisServer, tmp_path: Path
) -> Iterator[Callable[[str], Installation]]:
    """Return a function that makes a configuration with another URL of Redis."""
    with clustered(tmp_path, postgres, any_redis, settings=METRICS) as installation:

        def changed(url: str) -> Installation:
            config = installation.folder / "config.toml"
            config.write_text(config.read_text().replace(any_redis.url, url))
            return installation

        yield changed


@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param("closed port", "connection refused", id="closed port"),
        pytest.param("password", "wrong or missing password", id="password"),
        pytest.param("silent", "no answer in time", id="silent"),
    ],
)
def test_a_gateway_with_a_wrong_redis_serves_and_reports_redis(
    installed: Callable[[str], Installation], any_redis: RedisServer, name: str, error: str
) -> None:
    """A gateway with a wrong Redis writes rows, and reports Redis in four ways.

    They are the log, a metric, `/readyz` and `check`, all without the password.
    """
    with wrong_url(name, any_redis) as url:
        installation = installed(url)
        key = installation.create_key("--plan", "paid", "--any-spreadsheet")["key"]
        checked = installation.command("check")
        with serving(installation) as gateway:
            answer = httpx2.post(
                f"{gateway.url}/v2/sheets/Cities",
                headers={"API-Key": key, "X-Spreadsheet-Id": "demo"},
                json={"name": "Paris"},
                timeout=30.0,
            )
            state = (metric(gateway), httpx2.get(f"{gateway.url}/readyz"))
            gateway.end()

    assert answer.status_code == 201
    assert state[0] == 0.0
    assert state[1].status_code == 200
    assert state[1].json() == {"status": "ready", "redis": "unavailable"}
    assert [(line["is_available"], line["error"]) for line in log_lines(gateway)] == [
        (False, error)
    ]
    assert checked.returncode == 1
    assert "problem  cluster.redis: 127.0.0.1:" in checked.stdout
    texts = gateway.log.read_text() + checked.stdout + checked.stderr
    assert not any(secret in texts for secret in (SECRET, PASSWORD))


def test_a_redis_that_comes_later_is_used(
    installed: Callable[[str], Installation], tmp_path: Path
) -> None:
    """A Redis that starts later is used without a restart of the gateway."""
    later = RedisServer(tmp_path)
    later.port = free_port()
    installation = installed(later.url)
    with serving(installation) as gateway:
        before = httpx2.get(f"{gateway.url}/readyz").json()["redis"]
        later.start()
        try:
            is_there = until(
                lambda: httpx2.get(f"{gateway.url}/readyz").json()["redis"] == "available"
            )
            found = metric(gateway)
            checked = installation.command("check")
            gateway.end()
        finally:
            later.kill()

    assert (before, is_there, found) == ("unavailable", True, 1.0)
    assert [line["is_available"] for line in log_lines(gateway)][:2] == [False, True]
    assert f"ok       cluster.redis: 127.0.0.1:{later.port} answers" in checked.stdout


def metric(gateway: Process) -> float:
    """Value of `gateway_redis_available`."""
    url = gateway.said[-1].rpartition("metrics on ")[2].strip()
    (line,) = [
        each
        for each in httpx2.get(url).text.splitlines()
        if each.startswith("gateway_redis_available ")
    ]
    return float(line.split()[1])


def log_lines(gateway: Process) -> list[dict[str, Any]]:
    """Log lines of the event `redis`."""
    lines = map(json.loads, gateway.log.read_text().splitlines())
    return [line for line in lines if line["event"] == "redis"]
