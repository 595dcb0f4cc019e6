"""Browser origins in one comparable form (RFC 6454)."""

import re

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
_DEFAULT_PORTS = {"http": 80, "https": 443}


def normal_origin(text: str) -> str | None:
    """`scheme://host[:port]` in lower case without default port; None for any other text."""
    match = _ORIGIN.fullmatch(text)
    if match is None:
        return None
    scheme, host = match["scheme"].lower(), match["host"].lower()
    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS.get(scheme)
    if port is not None and not 0 < port < 65536:
        return None
    shown = "" if port == _DEFAULT_PORTS.get(scheme) else f":{port}"
    return f"{scheme}://{host}{shown}"
