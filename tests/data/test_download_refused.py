"""What is not downloaded, and why: refusals, redirects, certificates; no message has a secret in it."""

import pytest

from augmark.data.download import download
from augmark.errors import AugmarkError
from tests.data.server import CONTENT, SIXTY, serving


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "asks for a login"), (403, "a login or consent"), (404, "correct the source")],
)
def test_a_refusal_is_final(client, status, remedy):
    """Asked once; what to do depends on the refusal."""
    client.server.statuses = [(status, {})]
    with pytest.raises(AugmarkError, match=rf"the server answers {status} [\s\S]*{remedy}"):
        client.get()
    assert len(client.server.asked) == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/a.tar", "ftp://example.org/a.tar", "file:///etc/passwd", "https:///a"]
)
def test_only_https_is_asked(tmp_path, url):
    """No exception for this machine: the tests have a certificate of their own."""
    with pytest.raises(AugmarkError, match="is not an https URL"):
        download(url, tmp_path / "a.tar", size=1, sha256="0" * 64, say=print)


def test_a_redirect_is_followed_within_https_only(client, own_certificate):
    """To another https server with the range; never to what can be read or changed on the way."""
    with serving(CONTENT, own_certificate) as second:
        second.breaks = [SIXTY]
        client.server.redirect = second.url
        client.get()
        assert second.ranges_asked() == [None, f"bytes={SIXTY}-"]
    client.target.unlink()
    for elsewhere in ("http://127.0.0.1:1/a.tar?key=secret", "file:///etc/passwd", "ftp://127.0.0.1/a"):
        client.server.redirect = elsewhere
        with pytest.raises(
            AugmarkError, match=r"set\.tar: (leads away from https, to|the server answers 302)"
        ) as refused:
            client.get()
        assert "secret" not in str(refused.value)
        assert not client.target.exists()


def test_a_certificate_that_nobody_trusts_is_final(client, monkeypatch):
    """Asked once, with what to do."""
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(
        AugmarkError, match=r"certificate is not trusted here: .*self-signed[\s\S]*SSL_CERT_FILE"
    ):
        client.get()
    assert client.server.asked == []


def test_messages_have_no_secrets(client):
    """Neither the user and password nor the key of a signed URL."""
    client.server.url = client.server.url.replace("https://", "https://me:secret@") + "?key=secret"
    with pytest.raises(AugmarkError) as refused:
        client.get(size=5)
    assert "secret" not in str(refused.value)
