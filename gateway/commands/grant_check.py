"""Check of what a key is granted, with Google's accounts of the settings."""

import os
from collections.abc import Mapping
from functools import partial

from gateway.access.grant_check import MISSING, Looked, Names, check_grants, find_names
from gateway.commands.doctor.account import context_of, opened_accounts
from gateway.commands.doctor.reasons import refusal_words
from gateway.errors import GatewayError
from gateway.google.adapter import GoogleSheets
from gateway.google.client import Client
from gateway.google.credentials import check_credentials
from gateway.settings.model import ConfigError, Settings
from gateway.storage.key_store import Grants
from gateway.telemetry.redaction import redacted
from gateway.worksheets.access import Layouts


async def look_for(settings: Settings, grants: Grants) -> Looked:
    """Look for the spreadsheets, worksheets and fields of a key.

    Cost for each spreadsheet: as `find_names`, and 1 read for each account that does not
    reach it.
    """
    accounts = settings.google.by_account()
    try:
        for account in accounts.values():
            check_credentials(account, os.environ)
        async with opened_accounts(accounts) as opened:
            return await check_grants(grants, partial(_names_in, settings, opened, grants))
    except ConfigError as error:
        return Looked(unchecked=error.problems)


async def _names_in(
    settings: Settings, opened: Mapping[str, Client], grants: Grants, spreadsheet: str
) -> Names:
    """The names in a spreadsheet, with the first account that reaches it.

    Raises GatewayError with the reason: of an account that failed, rather than of one without
    access.
    """
    layouts, failures = Layouts(settings.worksheets), list[GatewayError]()
    for name, client in opened.items():
        try:
            return await find_names(GoogleSheets(client.make), layouts, grants, spreadsheet)
        except GatewayError as error:
            context = context_of(settings.google.by_account()[name], client)
            failures.append(error.without_sheet(redacted(refusal_words(error, context)), ()))
    raise next((each for each in failures if not isinstance(each, MISSING)), failures[0])
