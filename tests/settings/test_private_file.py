"""Files that an operator names: pipes are only allowed for the configuration."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.access.pepper import load_pepper
from gateway.google.credentials import load_service_account
from gateway.settings.layers import MAX_FILE_BYTES
from gateway.settings.model import AccessSettings, ConfigError, load_settings
from gateway.settings.private_file import open_regular


def _pepper(path: Path) -> None:
    load_pepper(AccessSettings(pepper_file=path))


def _key_file(path: Path) -> None:
    load_service_account(path, allow_insecure_endpoint=False)


READERS: dict[str, Callable[[Path], object]] = {
    "pepper": _pepper,
    "key file": _key_file,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_neither_a_pipe_nor_a_device_is_read(
    tmp_path: Path, kind: str, read: Callable[[Path], object]
) -> None:
    """A pipe or a device in place of a key file or a pepper file is an error and does not block."""
    path = Path("/dev/zero")
    if kind == "pipe":
        path = tmp_path / "pipe"
        os.mkfifo(path, 0o600)

    with pytest.raises(ConfigError) as caught:
        read(path)

    (problem,) = caught.value.problems
    assert f"{path} " in problem.replace(":", " ")
    assert "it is not a regular file, but a pipe or a device" in problem


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    """A symbolic link to a file is followed, because Kubernetes mounts secrets as links."""
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")

    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"x"


def test_a_configuration_can_be_a_pipe() -> None:
    """The configuration can be a pipe, as `--config <(sops decrypt …)` passes it."""
    reader, writer = os.pipe()
    os.write(writer, b"[server]\nport = 8001\n")
    os.close(writer)

    settings = load_settings(Path(f"/dev/fd/{reader}"), {})
    os.close(reader)

    assert settings.server.port == 8001


def test_an_empty_device_as_the_configuration() -> None:
    """With `--config /dev/null`, only the environment is read, and no `config.toml`."""
    settings = load_settings(Path(os.devnull), {"GATEWAY_SERVER__PORT": "8001"})

    assert settings.server.port == 8001


@pytest.mark.parametrize("kind", ["file", "device"])
def test_a_configuration_has_a_maximum_size(tmp_path: Path, kind: str) -> None:
    """A configuration larger than `MAX_FILE_BYTES` is an error and is not read completely."""
    path = Path("/dev/zero")
    if kind == "file":
        path = tmp_path / "config.toml"
        with path.open("wb") as file:
            file.truncate(2**40)

    with pytest.raises(ConfigError) as caught:
        load_settings(path, {})

    assert caught.value.problems == [f"{path}: must be at most {MAX_FILE_BYTES} bytes long"]
