"""Proxy configurations of the documentation: run nginx, and parse the Caddyfile."""

import os
import re
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.server.sockets import bind
from tests.docs.blocks import TOP, Block, filled_in

HOST = "sheets.example.org"
PATIENCE_SECONDS = 20.0
NGINX_CLUSTER = Block(
    page="docs/deployment/cluster/nginx.conf",
    line=1,
    language="nginx",
    text=(TOP / "docs" / "deployment" / "cluster" / "nginx.conf").read_text("utf-8"),
)

_AROUND = """\
daemon on;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{block}
}}
"""
"""Configuration of nginx as one process of the current user, with all files in one folder."""

WORKER_CONNECTIONS = 8_192
"""Connections that nginx allows, as the page recommends. A proxied request needs two."""

CADDY_DIRECTIVES: Mapping[str, Sequence[str]] = {
    "": ("{", HOST),
    "{": ("log", "servers"),
    "log": ("format",),
    "format": ("wrap", "fields"),
    "fields": ("request>headers", "request>uri"),
    "servers": ("timeouts",),
    "timeouts": ("read_header", "read_body", "write", "idle"),
    HOST: ("reverse_proxy", "request_body", "encode", "header"),
    "reverse_proxy": ("header_up", "header_down", "transport", "flush_interval"),
    "transport": ("keepalive", "response_header_timeout", "dial_timeout"),
}
"""Directives that the check allows in each block of a Caddyfile.

A lone `{` starts the global options.
"""


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """Running nginx: its URL, and its self-signed certificate."""

    url: str
    certificate: Path


def nginx_text(
    block: Block,
    folder: Path,
    *,
    port: int,
    gateway: str,
    connections: int = WORKER_CONNECTIONS,
) -> str:
    """Return a complete nginx configuration around a block, with the ports and files of a test."""
    meant = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:8000": gateway,
        f"/etc/ssl/{HOST}.pem": str(folder / "certificate.pem"),
        f"/etc/ssl/{HOST}.key": str(folder / "key.pem"),
    }
    text = filled_in(block.text, meant)
    return _AROUND.format(folder=folder, block=text, connections=connections)


def nginx_problems(text: str, folder: Path) -> str:
    """Return the messages of `nginx -t` about an invalid configuration, or "" if it is valid."""
    (folder / "nginx.conf").write_text(text)
    done = _nginx(folder, "-t")
    return "" if done.returncode == 0 else done.stderr


@contextmanager
def running_nginx(block: Block, folder: Path, *, gateway: str) -> Iterator[Proxy]:
    """Run nginx with a block of a page in front of a gateway at HOST:PORT."""
    certificate = write_certificate(folder)
    with bind("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    (folder / "nginx.conf").write_text(nginx_text(block, folder, port=port, gateway=gateway))
    started = _nginx(folder)  # returns when nginx listens in the background
    if started.returncode != 0:
        raise OSError(started.stderr)
    try:
        yield Proxy(url=f"https://127.0.0.1:{port}", certificate=certificate)
    finally:
        _end(int((folder / "nginx.pid").read_text()))


def write_certificate(folder: Path) -> Path:
    """Write a self-signed certificate for the page's host name and for loopback."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    names = [x509.DNSName(HOST), x509.IPAddress(IPv4Address("127.0.0.1"))]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def caddy_problems(block: Block) -> list[str]:
    """Return the problems of a Caddyfile: unclosed blocks and misplaced directives."""
    found: list[str] = []
    within: list[str] = []
    for number, line in enumerate(block.text.splitlines(), block.line):
        words = re.sub(r"(^|\s)#.*", "", line).split()
        if not words:
            continue
        if words == ["}"]:
            if not within:
                return [*found, f"{number}: nothing is open"]
            within.pop()
            continue
        allowed = CADDY_DIRECTIVES.get(within[-1] if within else "", ())
        if words[0] not in allowed:
            found.append(f"{number}: {words[0]} does not belong here")
        if words[-1] == "{":
            within.append(words[0])
    return [*found, *(f"{name} is never closed" for name in within)]


def port_of(url: str) -> str:
    """Return HOST:PORT of a base URL."""
    return url.removeprefix("http://")


def _nginx(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), *options]
    log = folder / "said"
    with log.open("w+") as said:  # a pipe would stay open in the background
        done = subprocess.run(  # noqa: S603 - a program of the machine
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    return subprocess.CompletedProcess(command, done.returncode, "", log.read_text())


def _end(pid: int) -> None:
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        select.select([descriptor], [], [], PATIENCE_SECONDS)
    finally:
        os.close(descriptor)
