"""What every handler finds in its request's state, put there by the lifespan."""

from collections.abc import Sequence
from typing import TypedDict

from gateway.access.gatekeeper import Gatekeeper
from gateway.access.rates import KeyRates
from gateway.address import Network
from gateway.config import ApiSettings, ServerSettings
from gateway.service.rows import RowService
from gateway.web.passes import Passes


class State(TypedDict):
    gatekeeper: Gatekeeper
    rates: KeyRates
    passes: Passes
    proxies: Sequence[Network]
    rows: RowService
    api: ApiSettings
    server: ServerSettings
