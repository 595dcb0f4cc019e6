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
    StoreFault.PASSWORD: "it wants a password. Add it to the URL: redis://:PASSWORD@HOST:PORT/DB",
    StoreFault.REFUSED: (
        "nothing listens there. Start Redis, or correct host and port; in a container, 127.0.0.1 "
        "is the container itself"
    ),
    StoreFault.UNKNOWN_HOST: "there is no host of this name. Correct it, or its entry in the DNS",
    StoreFault.TIMEOUT: (
        "it does not answer within 0.25 s. Correct host and port, or let the firewall pass them; "
        "a server with TLS needs rediss://, one without it redis://"
    ),
    StoreFault.NO_RIGHTS: (
        "the user lacks rights. It needs +@all -@dangerous +info, and ~{gateway}:* for its keys"
    ),
    StoreFault.NOT_REDIS: (
        "another program than Redis answers there. Correct host and port; a server with TLS needs "
        "rediss://"
    ),
    StoreFault.TLS: (
        "TLS fails. A server without TLS needs redis://; for a certificate of an authority of "
        "your own, add ?ssl_ca_certs=FILE"
    ),
    StoreFault.NO_DATABASE: (
        "it has no database of this number. Correct the number behind the last /, or raise its "
        "setting databases"
    ),
    StoreFault.READ_ONLY: "it is a replica, which takes no writes. Name its primary server",
    StoreFault.FULL: "its memory is full. Raise its setting maxmemory",
    StoreFault.CANNOT_SAVE: (
        "it takes no writes, because it cannot save them to its disk. Switch its persistence off: "
        'save ""'
    ),
    StoreFault.TOO_MANY_CLIENTS: "it takes no more clients. Raise its setting maxclients",
    StoreFault.LOADING: "it is loading its data. Run check again in a few seconds",
    StoreFault.CLOSED: (
        "it closes the connection. Correct host and port; a server with TLS needs rediss://. Its "
        "own log may have the reason"
    ),
}


async def check_redis(url: str, layouts: Layouts = DEFAULT_LAYOUTS) -> Finding:
    """Try the commands of a gateway on Redis, up to three times.

    Also reports if running gateways have other `layouts`.
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
                        "[[worksheets]], and one with these does not start beside them. Give all "
                        "processes the same tables"
                    )
                return ok(f"cluster.redis: {place} answers")
    return problem(f"cluster.redis: {place}: {_words(last, has_password=bool(parts.password))}")


def _words(error: BaseException | None, *, has_password: bool) -> str:
    fault = StoreFault.OTHER if error is None else fault_of(error)
    if fault is StoreFault.PASSWORD and has_password:
        return "it refuses the user or the password. Correct them in the URL"
    return _WORDS.get(
        fault, f"it cannot be used ({type(error).__name__}). It must be Redis 6 or later, or Valkey"
    )
