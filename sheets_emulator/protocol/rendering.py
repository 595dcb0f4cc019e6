"""Rendering options for the values of an answer."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """Google's `valueRenderOption` (`value`) and `dateTimeRenderOption` (`date_time`)."""

    value: str = "FORMATTED_VALUE"
    date_time: str = "SERIAL_NUMBER"
