"""The console of a running gateway, and the admin keys that open it."""

import json
import re
from pathlib import Path

from tests.journeys.conftest import EmulatorControl, KeysOnDisk, client_of
from tests.journeys.process import run, running


def test_an_admin_key_opens_the_console_until_it_is_revoked(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """An admin key signs in to the console until the command line revokes the key."""
    config = tmp_path / "config.toml"
    config.write_text(
        f"[google]\nendpoint = {json.dumps(emulator.url)}\n"
        f"credentials = {json.dumps(str(emulator.credentials))}\n"
        f"[access]\ndatabase = {json.dumps(str(access[0]))}\n"
        '[admin]\nlisten = "0"\n'
    )
    options = ("--config", str(config))

    with running(tmp_path / "log", "serve", "--port", "0", *options) as gateway:
        found = re.search(r", console on (http://127\.0\.0\.1:\d+)$", gateway.said[-1])
        assert found is not None
        key_id, key = run("admin", "create", "--name", "ada", *options).stdout.split()
        headers = {"Sec-Fetch-Site": "same-origin"}
        with client_of(found[1]) as client:
            signed_in = client.post("/sign-in", data={"secret": key}, headers=headers)
            rows = re.compile('href="(/data[?]key=[^"]+)" aria-label="Rows of paid"')
            paid = rows.search(client.get("/keys").text)
            assert paid is not None
            page = client.get(f"{paid[1]}&sheet=Cities")
            listed = run("admin", "list", *options).stdout
            revoked = run("admin", "revoke", key_id, *options).stdout
            after = client.get("/keys")
            again = run("admin", "revoke", key_id, *options)
        status = gateway.end()
        log = gateway.log.read_text()

    assert (signed_in.status_code, page.status_code, after.status_code) == (303, 200, 401)
    assert "New York" in page.text
    assert re.fullmatch(rf"{key_id}  …{key[-4:]}  \d{{4}}-\d\d-\d\d  ada\n", listed)
    assert revoked == f"{key_id} is revoked\n"
    assert (again.returncode, status) == (2, 0)
    assert f"there is no admin key {key_id}" in again.stderr
    assert key not in log
    assert "New York" not in log


def test_a_console_port_in_use_is_reported(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """`serve` reports a console port in use and exits with status 2."""
    taken = emulator.url.removeprefix("http://")
    config = tmp_path / "config.toml"
    database = json.dumps(str(access[0]))
    config.write_text(f'[access]\ndatabase = {database}\n[admin]\nlisten = "{taken}"\n')

    done = run("serve", "--port", "0", "--config", str(config))

    assert done.returncode == 2
    assert f"cannot listen on {taken}" in done.stderr
    assert "choose another port with admin.listen" in done.stderr
