"""What a source of tokens knows besides them: the time at Google, and the account's project."""

import asyncio
import json

import httpx
import pytest
from google.auth.exceptions import DefaultCredentialsError
from google.oauth2.credentials import Credentials

from gateway.google.credentials import load_service_account
from gateway.google.token import TokenSource, TokenUnavailable
from gateway.google.token_trouble import TokenTrouble
from gateway.google.wire import open_wire
from tests.google.google_fake import FakeGoogle, KeyFile, token_answer


async def test_the_time_that_an_answer_tells_is_kept(key_file: KeyFile, google: FakeGoogle) -> None:
    """How far our clock is ahead of the token endpoint's is known of answers good and bad."""
    noon = {"date": "Fri, 20 Nov 2026 12:00:00 GMT"}
    refusal = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
    google.token.side_effect = [
        httpx.Response(400, headers=noon, json=refusal),
        httpx.Response(200, headers=noon, json=json.loads(token_answer("new").content)),
    ]
    credentials = load_service_account(key_file(), allow_insecure_endpoint=False)
    deadline = asyncio.get_running_loop().time() + 60

    async with open_wire(max_connections=1, connect_timeout_seconds=1) as wire:
        tokens = TokenSource(
            wire,
            credentials=credentials,
            find_credentials=no_credentials,
            now=lambda: 1_795_176_101.0,
        )
        unasked = tokens.clock_offset_seconds
        with pytest.raises(TokenUnavailable) as caught:
            await tokens.authorization(deadline)
        refused = tokens.clock_offset_seconds
        await tokens.authorization(deadline)

    assert (unasked, refused, tokens.clock_offset_seconds) == (None, 100.0, 100.0)
    assert caught.value.clock_offset_seconds == 100.0
    assert caught.value.trouble is TokenTrouble.KEY
    assert caught.value.google_words == "invalid_grant: Invalid JWT Signature"


@pytest.mark.parametrize("project", ["project-1", None])
async def test_the_project_of_a_key_file(key_file: KeyFile, project: str | None) -> None:
    """It is told where the file names it."""
    credentials = load_service_account(key_file(project_id=project), allow_insecure_endpoint=False)

    async with open_wire(max_connections=1, connect_timeout_seconds=1) as wire:
        tokens = TokenSource(wire, credentials=credentials, find_credentials=no_credentials)

    assert tokens.project == project


def no_credentials(**_given: object) -> tuple[Credentials, None]:
    raise DefaultCredentialsError("none")  # type: ignore[no-untyped-call]
