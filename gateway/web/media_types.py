"""Media types of bodies and answers."""

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
CSV = "text/csv"
NDJSON = "application/x-ndjson"
FORM = "application/x-www-form-urlencoded"

_CHARSET = "; charset=utf-8"
"""Some clients read text without it as Latin-1."""

JSON_TEXT = f"{JSON}{_CHARSET}"
"""`Content-Type` of answers."""
CSV_TEXT = f"{CSV}{_CHARSET}"
NDJSON_TEXT = f"{NDJSON}{_CHARSET}"
PLAIN_TEXT = f"text/plain{_CHARSET}"
PROBLEM_JSON_TEXT = f"{PROBLEM_JSON}{_CHARSET}"
