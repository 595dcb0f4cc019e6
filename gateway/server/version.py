"""Supported versions of uvicorn.

Rules: this module does not import uvicorn, because the import itself may fail with another version.
"""

from collections.abc import Sequence
from importlib.metadata import version

TESTED: Sequence[str] = ("0.53", "0.54")
"""`gateway.server` overrides private methods of uvicorn: other releases may lack or change them."""


def version_problem(found: str | None = None) -> str | None:
    """Explain why a version of uvicorn, by default the installed one, is not supported."""
    found = version("uvicorn") if found is None else found
    if found.split(".")[:2] in [each.split(".") for each in TESTED]:
        return None
    return (
        f"uvicorn {found} is installed, and the gateway runs on {' and '.join(TESTED)} only: "
        f"pip install 'uvicorn=={TESTED[-1]}.*'"
    )
