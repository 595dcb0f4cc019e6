"""Settings of a gateway that cannot call Google: the key file points to a closed port."""

import json
from pathlib import Path

from sheets_emulator.app import EmulatorOptions, create_emulator

CLOSED = "http://127.0.0.1:9"


def google_section(folder: Path) -> str:
    """The `[google]` section of a configuration, with a key file in this folder."""
    (folder / "seed").mkdir(exist_ok=True)
    credentials = folder / "account.json"
    create_emulator(EmulatorOptions(seed=folder / "seed")).write_credentials(credentials, CLOSED)
    settings = {"endpoint": CLOSED, "credentials": str(credentials)}
    return "\n".join(["[google]", *(f"{k} = {json.dumps(v)}" for k, v in settings.items()), ""])
