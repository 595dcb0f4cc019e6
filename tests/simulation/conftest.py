"""Fixtures of the journeys, for tests that need a gateway but no campaign."""

from tests.journeys.conftest import access, api, emulator, open_gateway

__all__ = ["access", "api", "emulator", "open_gateway"]
