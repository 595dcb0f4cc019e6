"""`python -m gateway` is the command `sheets-gateway`."""

from gateway.cli import main

main()
