"""One file of a web server, from a byte on. Standard library only.

https alone, also behind redirects and also on this machine: what is measured must not depend on who sits in
between. (A certificate of one's own is trusted by ``SSL_CERT_FILE``, as everywhere in Python.)
"""

from __future__ import annotations

import re
import ssl
from http.client import HTTPException, responses
from typing import Any, NamedTuple
from urllib import error as errors
from urllib import request
from urllib.parse import urlsplit

from augmark.data.dossier import public_url
from augmark.errors import AugmarkError

# Busy, or out of order for now. Any other refusal stays one.
PASSING = frozenset((408, 425, 429, 500, 502, 503, 504))
_REMEDIES = {
    401: "it asks for a login: download it in a browser, and give the file's path as source",
    403: "it may ask for a login or consent: download it in a browser, and give the file's path as source",
    404: "correct the source in config/datasets.yaml",
    410: "correct the source in config/datasets.yaml",
}
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
BY_HAND = "download it by other means, and give the file's path as source"


class Broken(Exception):
    """A transfer that may be tried again; ``wait_seconds`` is what the server asks for, or None."""

    def __init__(self, what: str, wait_seconds: float | None = None) -> None:
        self.wait_seconds = wait_seconds
        super().__init__(what)


class Reply(NamedTuple):
    """What a server sends: the file from byte ``first`` on.

    Attributes:
        total: Bytes of the whole file; None where the server does not say.
        validator: What names this state of the file (a strong ETag, else its modification time); None where
            the server names none: then nothing can be continued.
    """

    stream: Any
    first: int
    total: int | None
    validator: str | None

    def read(self, count: int) -> bytes:
        """At most so many bytes; none at the end, be it too early.

        Raises:
            Broken: The connection broke off, or nothing came for too long.
        """
        try:
            return self.stream.read1(count)
        except (OSError, HTTPException, ValueError) as error:
            raise Broken(f"the connection broke off ({_words(error)})") from error


def shown(url: str) -> str:
    """A URL as messages have it: without user, password and a signed URL's key."""
    return public_url(url) or url


def check_url(url: str) -> None:
    """Refuse what is not https.

    Raises:
        AugmarkError: Another scheme, or no host.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise AugmarkError("is not an https URL", where=shown(url), remedy=f"give one, or {BY_HAND}")


def open_at(url: str, first: int, validator: str | None, timeout_seconds: float) -> Reply:
    """Ask for a file from a byte on; if it is not in that state any more, the whole of it comes (RFC 9110).

    Args:
        first: The first byte that is wanted; above 0 only with a ``validator``.
        timeout_seconds: How long nothing may come.

    Raises:
        Broken: The network, or a server that is busy.
        AugmarkError: The server refuses, its certificate does, or a redirect leaves https.
    """
    check_url(url)
    headers = {"User-Agent": "augmark", "Accept-Encoding": "identity"}
    if first:
        headers |= {"Range": f"bytes={first}-", "If-Range": str(validator)}
    opener = request.build_opener(_HttpsOnly)
    try:
        response = opener.open(request.Request(url, headers=headers), timeout=timeout_seconds)
    except errors.HTTPError as error:
        error.close()
        if error.code == 416 and first:  # the file is shorter now
            return open_at(url, 0, None, timeout_seconds)
        raise _refusal(error, url) from error
    except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
        raise _no_connection(error, url) from error
    reply = _reply(response)
    if not reply.first or (reply.first == first and reply.validator in (None, validator)):
        return reply
    response.close()
    if not first:
        raise Broken("the server sends a part that was not asked for")
    return open_at(url, 0, None, timeout_seconds)  # another part, or of another state of the file


class _HttpsOnly(request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme != "https":
            raise AugmarkError(
                f"leads away from https, to {shown(newurl)}", where=shown(req.full_url), remedy=BY_HAND
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _reply(response: Any) -> Reply:
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    tag = response.headers.get("ETag")
    # A weak tag names bytes that may differ, so nothing may be joined by it.
    validator = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")
    if response.status != 206:
        return Reply(response, 0, total, validator)
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if not found:
        return Reply(response, -1, None, None)
    return Reply(response, int(found[1]), None if found[2] == "*" else int(found[2]), validator)


def _refusal(error: errors.HTTPError, url: str) -> Exception:
    what = f"the server answers {error.code} ({responses.get(error.code, 'no reason known')})"
    if error.code in PASSING:
        wait = error.headers.get("Retry-After", "") if error.headers else ""
        return Broken(what, float(wait) if wait.isdecimal() else None)
    return AugmarkError(what, where=shown(url), remedy=_REMEDIES.get(error.code, BY_HAND))


def _no_connection(error: Exception, url: str) -> Exception:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return AugmarkError(
            f"its certificate is not trusted here: {reason.verify_message}",
            where=shown(url),
            remedy=f"let SSL_CERT_FILE name a file of the certificates to trust, or {BY_HAND}",
        )
    return Broken(f"no connection ({_words(reason)})")


def _words(error: Any) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
