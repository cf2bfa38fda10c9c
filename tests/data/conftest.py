"""Real archives and images, made in each test: nothing here is a stand-in."""

import io
import tarfile

import numpy as np
import pytest
from PIL import Image

from augmark.data import stage
from augmark.data.audit import audit_dataset
from tests.data.server import CONTENT, Client, certificate, serving

POLICY = {
    "formats": ["JPEG", "PNG"],
    "modes": ["RGB", "L"],
    "min_side_pixels": 32,
    "max_pixels": 1_000_000,
    "max_member_bytes": 4_000_000,
    "decoders": ["pillow", "opencv"],
    "decoder_tolerance_levels": 1,
    "exif_orientation": "quarantine-where-decoders-disagree",
}


def draw(width=48, height=40, seed=0):
    """A smooth RGB picture, different for each seed and not symmetric."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (5 + channel) + seed) + np.cos(y / (7 + channel) - seed) for channel in range(3)]
    return Image.fromarray((np.stack(waves, axis=-1) * 60 + 128).astype(np.uint8))


def encode(image, kind="JPEG", **options):
    """The bytes of an image file."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def member(name, *, kind=tarfile.REGTYPE, link=""):
    """A tar header of any type."""
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, link
    return header


def pack(path, members, mode="w"):
    """Write a tar of (name, bytes) pairs or finished headers."""
    with tarfile.open(path, mode) as tar:
        for entry in members:
            if isinstance(entry, tarfile.TarInfo):
                tar.addfile(entry)
                continue
            name, data = entry
            header = tarfile.TarInfo(name)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
    return path


class Kit:
    """The helpers above, as one fixture."""

    policy = POLICY
    draw = staticmethod(draw)
    encode = staticmethod(encode)
    member = staticmethod(member)
    pack = staticmethod(pack)

    @staticmethod
    def photos(count):
        """So many named JPEGs, all different."""
        return [(f"images/{index:02d}.jpg", encode(draw(seed=index))) for index in range(count)]

    @staticmethod
    def staged(source, output):
        """Declare and stage a local source; the path of its dataset.tar."""
        source = str(source)
        digest = stage.declare(source, output)
        return stage.stage_dataset(source, stage.kind_of(source), digest, output) / "dataset.tar"


@pytest.fixture
def kit():
    return Kit


@pytest.fixture
def audited(kit, tmp_path):
    """A dataset of ten images of different sizes and one that is set aside; (tar, manifest path)."""
    images = [(f"{i}.png", kit.encode(kit.draw(40 + 7 * i, 90 - 3 * i, seed=i), "PNG")) for i in range(8)]
    images += [("grey.jpg", kit.encode(kit.draw().convert("L"))), ("photo.jpg", kit.encode(kit.draw(seed=9)))]
    source = kit.pack(tmp_path / "set.tar", [images[0], ("bad.jpg", b"x"), *images[1:]])
    tar = kit.staged(source, tmp_path / "out")
    manifest = tar.parent / "manifest.json"
    audit_dataset(tar, kit.policy, manifest)
    return tar, manifest


@pytest.fixture(scope="session")
def own_certificate(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def server(own_certificate, monkeypatch):
    """An https server whose certificate this process and its children trust."""
    monkeypatch.setenv("SSL_CERT_FILE", str(own_certificate))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(CONTENT, own_certificate) as running:
        yield running


@pytest.fixture
def client(server, tmp_path):
    return Client(server, tmp_path)
