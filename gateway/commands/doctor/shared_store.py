"""Check that Redis can be used by a cluster, with a solution for each problem."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from gateway.cluster.agreement import agrees
from gateway.cluster.scripts import PROBE
from gateway.cluster.store import StoreFault, StoreUnavailable, check_url, fault_of, open_store
from gateway.commands.doctor.reasons import Finding, ok, problem
from gateway.settings.model import ConfigError
from gateway.worksheets.access import DEFAULT_LAYOUTS, Layouts

ATTEMPTS = 3
_PROBE_KEY = "{gateway}:check"

_WORDS: Mapping[StoreFault, str] = {
    StoreFault.PASSWORD: "Redis needs a password. Add it: redis://:PASSWORD@HOST:PORT/DB",
    StoreFault.REFUSED: (
        "nothing listens there. Start Redis, or correct host and port; in a container, 127.0.0.1 "
        "is the container itself"
    ),
    StoreFault.UNKNOWN_HOST: "the host name is not found. Correct the name or its DNS entry",
    StoreFault.TIMEOUT: (
        "Redis does not answer within 0.25 s. Correct host and port, or allow them in the "
        "firewall; a server with TLS needs rediss://, a server without TLS redis://"
    ),
    StoreFault.NO_RIGHTS: (
        "the user lacks rights. It needs +@all -@dangerous +info, and ~{gateway}:* for its keys"
    ),
    StoreFault.NOT_REDIS: (
        "another program than Redis answers. Correct host and port; a server with TLS needs "
        "rediss://"
    ),
    StoreFault.TLS: (
        "TLS fails. A server without TLS needs redis://; for a certificate of your own CA, add "
        "?ssl_ca_certs=FILE"
    ),
    StoreFault.NO_DATABASE: (
        "Redis has no database with this number. Correct the number after the last /, or raise "
        "the setting databases of Redis"
    ),
    StoreFault.READ_ONLY: "this is a replica, which accepts no writes. Name its primary server",
    StoreFault.FULL: "the memory of Redis is full. Raise its setting maxmemory",
    StoreFault.CANNOT_SAVE: (
        "Redis accepts no writes, because it cannot save them to disk. Switch its persistence "
        'off: save ""'
    ),
    StoreFault.TOO_MANY_CLIENTS: "Redis accepts no more clients. Raise its setting maxclients",
    StoreFault.LOADING: "Redis is loading its data. Run check again in a few seconds",
    StoreFault.CLOSED: (
        "Redis closes the connection. Correct host and port; a server with TLS needs rediss://. "
        "The log of Redis might have the reason"
    ),
}


async def check_redis(url: str, layouts: Layouts = DEFAULT_LAYOUTS) -> Finding:
    """Run a gateway's commands on Redis, up to three times. Returns `ok`, or the problem.

    `layouts` are the tables `[[worksheets]]` of the settings. Running gateways with other tables
    are a problem too.
    """
    try:
        check_url(url)
    except ConfigError as error:
        return problem(error.problems[0])
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port or 6379}" if parts.hostname else parts.path
    last: BaseException | None = None
    async with open_store(url, changed=lambda _: None) as store:
        for _ in range(ATTEMPTS):
            try:
                await store.probe(PROBE, [_PROBE_KEY])
            except StoreUnavailable as error:
                last = error.__cause__
            else:
                if not await agrees(store, layouts, keeps=False):
                    return problem(
                        f"cluster.redis: {place}: running processes have other tables "
                        "[[worksheets]], so a process with these tables does not start. Give all "
                        "processes the same tables"
                    )
                return ok(f"cluster.redis: {place} answers")
    return problem(f"cluster.redis: {place}: {_words(last, has_password=bool(parts.password))}")


def _words(error: BaseException | None, *, has_password: bool) -> str:
    fault = StoreFault.OTHER if error is None else fault_of(error)
    if fault is StoreFault.PASSWORD and has_password:
        return "Redis refuses the user or the password. Correct them in the URL"
    return _WORDS.get(
        fault, f"it cannot be used ({type(error).__name__}). Use Redis 6 or later, or Valkey"
    )
