"""The fixtures of the journeys, for tests of a gateway that need no campaign."""

from tests.journeys.conftest import access, api, emulator, open_gateway

__all__ = ["access", "api", "emulator", "open_gateway"]
