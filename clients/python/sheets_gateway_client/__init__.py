"""Rows of Google Sheets through a sheets-gateway: `Sheets`, and `AsyncSheets` for asyncio."""

from sheets_gateway_client.async_client import AsyncSheet, AsyncSheets
from sheets_gateway_client.client import Sheet, Sheets
from sheets_gateway_client.errors import (
    ConnectionFailed,
    CursorLost,
    Outcome,
    Problem,
    SheetsError,
    SheetsFailure,
)
from sheets_gateway_client.retry import RetryOptions
from sheets_gateway_client.rows import Affected, Page, Row, Value
from sheets_gateway_client.worksheets import (
    Field,
    FieldSchema,
    FieldType,
    Right,
    Schema,
    Spreadsheet,
    Worksheet,
    WorksheetList,
)

__all__ = [
    "Affected",
    "AsyncSheet",
    "AsyncSheets",
    "ConnectionFailed",
    "CursorLost",
    "Field",
    "FieldSchema",
    "FieldType",
    "Outcome",
    "Page",
    "Problem",
    "RetryOptions",
    "Right",
    "Row",
    "Schema",
    "Sheet",
    "Sheets",
    "SheetsError",
    "SheetsFailure",
    "Spreadsheet",
    "Value",
    "Worksheet",
    "WorksheetList",
]
