"""`python -m gateway` is the command `sheets-gateway`."""

from gateway.commands.cli import main

main()
