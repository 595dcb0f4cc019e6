"""Media types of bodies and answers."""

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
FORM = "application/x-www-form-urlencoded"
