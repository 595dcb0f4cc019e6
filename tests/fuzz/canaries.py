"""Secrets with a text that is nowhere else, and where each may be met."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

CELL = "cell-canary-1b7Qe"
OTHER_TENANTS_CELL = "tenant-canary-9xKd2"
OTHER_TENANT = "spreadsheet-canary-4Wm0z"
PEPPER = "pepper-canary-6Jv3h-and-more"
PEPPER_CHARACTERS = 13
"""So much of the pepper is enough to know it by."""


@dataclass(frozen=True, kw_only=True)
class Canary:
    """A secret, which must be in nothing that the gateway says."""

    name: str
    text: str


def found(canaries: Mapping[str, Canary], said: bytes) -> Iterator[str]:
    """The names of the canaries that are in something said, plainly or as JSON has it."""
    for canary in canaries.values():
        if canary.text.encode() in said:
            yield canary.name


def make_canaries(*, key: str, token: str, private_key: str) -> Mapping[str, Canary]:
    """The canaries of a gateway whose callers see neither the cell nor the other tenant.

    The key is one that is sent in headers and as `apiKey`; of the private key, its second line.
    """
    texts = {
        "key": key,
        "token": token,
        "private key line": private_key.splitlines()[1],
        "pepper": PEPPER[:PEPPER_CHARACTERS],
        "hidden cell": CELL,
        "another tenant's cell": OTHER_TENANTS_CELL,
        "another tenant's spreadsheet": OTHER_TENANT,
    }
    return {name: Canary(name=name, text=text) for name, text in texts.items()}
