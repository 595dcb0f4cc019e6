"""The content types that bodies and answers have."""

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
FORM = "application/x-www-form-urlencoded"
