"""A real https server on localhost that has one file, and every fault that a server may have."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import random
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augmark.data.download import Patience, download

CONTENT = random.Random(5).randbytes(3_000_000)
SIXTY = 1_800_000
QUICK = Patience(silence_seconds=1, tries=4, first_seconds=0.01, longest_seconds=0.05)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def certificate(folder: Path) -> Path:
    """A certificate of our own for 127.0.0.1, with its key in the same file."""
    made = folder / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(made)]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    made.write_text(made.read_text() + (folder / "key.pem").read_text())
    return made


class Server:
    """What the server does, changed by a test while it runs; ``asked`` holds the headers of every request.

    Attributes:
        content: The file.
        etag: Its state, or None.
        ranges: Whether a part of it can be had.
        careless: Whether it sends a part of whatever state there is (no ``If-Range``).
        shift: So many bytes too early a part begins.
        whole_unknown: A part comes without the size of the whole (``*``, RFC 9110, 14.4).
        breaks: Bytes of a body after which the connection ends, one for each reply; then whole ones.
        stalls: Replies that stop after half of the body and say nothing more.
        length: What Content-Length says, if not the truth; ``"none"``: there is no such header.
        statuses: Refusals, one for each request, before anything is sent.
        redirect: Where every request is sent to.
        between: Called before each reply.
    """

    def __init__(self, content: bytes) -> None:
        self.content, self.etag, self.ranges = content, '"one"', True
        self.careless, self.shift, self.whole_unknown = False, 0, False
        self.breaks: list[int] = []
        self.stalls = 0
        self.length: Any = None
        self.statuses: list[tuple[int, dict[str, str]]] = []
        self.redirect = ""
        self.between = lambda: None
        self.asked: list[dict[str, str]] = []
        self.url = ""

    def ranges_asked(self) -> list[str | None]:
        return [headers.get("Range") for headers in self.asked]


def _handler(server: Server) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            server.asked.append(dict(self.headers))
            server.between()
            self.close_connection = True
            if server.statuses:
                status, headers = server.statuses.pop(0)
                self._head(status, headers)
            elif server.redirect:
                self._head(302, {"Location": server.redirect})
            else:
                self._send(self._first())

        def _send(self, first: int | None) -> None:
            if first is not None and first >= len(server.content):
                self._head(416, {})
                return
            body = server.content[first or 0 :]
            headers = {"ETag": server.etag} if server.etag else {}
            if server.length != "none":
                headers["Content-Length"] = str(server.length or len(body))
            if first is not None:
                total = len(server.content)
                whole = "*" if server.whole_unknown else total
                headers["Content-Range"] = f"bytes {first}-{total - 1}/{whole}"
            self._head(200 if first is None else 206, headers)
            self._body(body)

        def _first(self) -> int | None:
            wanted = self.headers.get("Range")
            if not (wanted and server.ranges):
                return None
            if self.headers.get("If-Range") != server.etag and not server.careless:
                return None
            return int(wanted.removeprefix("bytes=").removesuffix("-")) - server.shift

        def _head(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()

        def _body(self, body: bytes) -> None:
            if server.stalls:
                server.stalls -= 1
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                time.sleep(3)
            elif server.breaks:
                self.wfile.write(body[: server.breaks.pop(0)])
            else:
                with contextlib.suppress(OSError):  # who has enough hangs up
                    self.wfile.write(body)

    return Handler


@contextlib.contextmanager
def serving(content: bytes, certificate_file: Path) -> Iterator[Server]:
    """Serve a file; ``url`` is where it is."""
    server = Server(content)
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    web.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file)
    web.socket = context.wrap_socket(web.socket, server_side=True)
    web.handle_error = lambda *_: None
    server.url = f"https://127.0.0.1:{web.server_address[1]}/set.tar"
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


class Client:
    """Downloads to one place and keeps what was said."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.target, self.said = server, folder / "cache" / "set.tar", []
        self.part = self.target.with_name("set.tar.part")

    def get(self, *, content: bytes = CONTENT, **more: Any) -> None:
        options = {"size": len(content), "sha256": sha256(content), "patience": QUICK, **more}
        download(self.server.url, self.target, say=self.said.append, **options)

    def left(self) -> list[str]:
        """What lies there, without the lock."""
        return sorted(path.name for path in self.target.parent.iterdir() if path.suffix != ".lock")
