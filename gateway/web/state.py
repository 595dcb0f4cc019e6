"""What every handler finds in its request's state, put there by the lifespan."""

from typing import TypedDict

from gateway.access.gatekeeper import Gatekeeper
from gateway.config import ApiSettings, ServerSettings
from gateway.service.rows import RowService


class State(TypedDict):
    gatekeeper: Gatekeeper
    rows: RowService
    api: ApiSettings
    server: ServerSettings
