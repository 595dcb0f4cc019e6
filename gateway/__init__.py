"""Gateway that serves the rows of Google Sheets worksheets as a JSON API."""

__version__ = "0.1.0"
