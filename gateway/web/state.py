"""Lifespan state, available in every request."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypedDict

from gateway.access.gatekeeper import Gatekeeper
from gateway.access.rates import KeyRates
from gateway.settings.address import Proxy
from gateway.settings.model import ApiSettings, ServerSettings
from gateway.web.credentials import AuthCache
from gateway.web.lenient_retry import TitleAliases
from gateway.web.parsing import Parsing
from gateway.worksheets.catalogue import Catalogue
from gateway.worksheets.rows import RowService


class State(TypedDict):
    gatekeeper: Gatekeeper
    rates: KeyRates
    auth_cache: AuthCache
    parsing: Parsing
    ready: Callable[[], Awaitable[None]]
    """Raises an error unless keys can be looked up now."""
    title_aliases: TitleAliases
    proxies: Sequence[Proxy]
    rows: RowService
    catalogue: Catalogue
    api: ApiSettings
    server: ServerSettings
