"""Archives made to do harm: nothing of them reaches the disk or fills the memory (names: see the audit)."""

import gzip
import io
import subprocess
import sys
import tarfile

import pytest

from augmark.data import archive, stage
from augmark.data.audit import audit_dataset
from augmark.data.items import prepare_items
from augmark.errors import AugmarkError


def headers_of(path):
    return [member.name for member in archive.read_headers(path, path.name, path.stem)]


def header(name, size, kind=tarfile.REGTYPE):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


END = bytes(10240)


@pytest.mark.parametrize("size", [1 << 40, 1 << 62, -512, -(1 << 40)])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_size_that_cannot_be_is_refused_unread(tmp_path, size, compressed):
    """A terabyte in ten kilobytes, and below zero, where tarfile would read the same header for ever."""
    path = tmp_path / "bomb.tar"
    good, bad = header("a.jpg", 0), bytearray(header("big.jpg", 0))
    bad[124:136] = (size & ((1 << 96) - 1)).to_bytes(12, "big")
    bad[124] |= 0x80
    total = sum(bad[:148]) + sum(bad[156:512]) + 8 * 32
    bad[148:156] = b"%06o\0 " % total
    data = bytes(good + bad + END)
    path.write_bytes(gzip.compress(data) if compressed else data)

    with pytest.raises(AugmarkError, match=rf"bomb\.tar: .*'big\.jpg' has {size} bytes by its header"):
        headers_of(path)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_would_fill_the_memory_is_refused(tmp_path, kind):
    """tarfile reads pax headers and long names whole, before anybody can look at them."""
    path = tmp_path / "bomb.tar.gz"
    count = 1 << 28
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(header("x", count, kind))
        for _ in range(count >> 24):
            stream.write(bytes(1 << 24))
        stream.write(header("a.jpg", 0) + END)

    with pytest.raises(AugmarkError, match=f"a header of {count} bytes"):
        headers_of(path)


def test_attributes_as_macos_packs_them_are_no_harm(tmp_path):
    """pax headers with a resource fork: the image is an item like any other."""
    path = tmp_path / "mac.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("a.jpg")
        member.size = 3
        member.pax_headers = {
            "LIBARCHIVE.xattr.com.apple.ResourceFork": "A" * 2_000_000,
            "SCHILY.xattr.com.apple.quarantine": "0081;5f;Safari",
        }
        tar.addfile(member, io.BytesIO(b"abc"))

    assert headers_of(path) == ["a.jpg"]


@pytest.mark.parametrize("version", ["0.0", "0.1", "1.0", "gnu"])
def test_a_sparse_file_is_named_for_what_it_is(kit, tmp_path, version):
    """A terabyte of holes in a few bytes; each of the four ways to write it."""
    path = tmp_path / "sparse.tar"
    holes = 1 << 40
    if version == "gnu":
        block = bytearray(header("holes.jpg", 0, tarfile.GNUTYPE_SPARSE))
        block[483:495] = b"\x80" + holes.to_bytes(11, "big")
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        path.write_bytes(bytes(block) + END)
    else:
        keys = {
            "0.0": {"GNU.sparse.size": f"{holes}", "GNU.sparse.numblocks": "0"},
            "0.1": {"GNU.sparse.size": f"{holes}", "GNU.sparse.map": "0,0"},
            "1.0": {
                "GNU.sparse.major": "1",
                "GNU.sparse.minor": "0",
                "GNU.sparse.name": "holes.jpg",
                "GNU.sparse.realsize": f"{holes}",
            },
        }[version]
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
            member = tarfile.TarInfo("holes.jpg")
            member.pax_headers, data = keys, b"1\n0\n0\n".ljust(512, b"\0")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    staged = kit.staged(path, tmp_path / "out")

    with pytest.raises(AugmarkError, match=r"'holes\.jpg' \(sparse file\)"):
        audit_dataset(staged, kit.policy, tmp_path / "manifest.json")


def test_nothing_is_written_under_a_name_of_the_archive(kit, tmp_path):
    """The files of the items are numbered and lie in their folder, whatever the members are called."""
    photos = [(f"{'deep/' * 60}{'long' * 20}{n}.jpg", data) for n, (_, data) in enumerate(kit.photos(3))]
    tar = kit.staged(kit.pack(tmp_path / "set.tar", photos), tmp_path / "out")
    manifest = tmp_path / "manifest.json"
    audit_dataset(tar, kit.policy, manifest)
    before = set(tmp_path.rglob("*"))

    prepare_items(tar, manifest, items=None, seed=1, out_dir=tmp_path / "items")

    made = sorted(str(path.relative_to(tmp_path)) for path in set(tmp_path.rglob("*")) - before)
    assert [name for name in made if "deep" in name or "long" in name] == []
    assert [name for name in made if name.endswith(".jpg")] == [f"items/files/{n:06d}.jpg" for n in range(3)]


def test_a_gzip_that_promises_more_than_it_can_hold(tmp_path):
    """A megabyte of which eight gigabytes are to come: refused at the header, in little memory."""
    path = tmp_path / "zeros.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(header("a.jpg", 1 << 33))
        for _ in range(16):
            stream.write(bytes(1 << 24))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from augmark.data import stage\n"
        "stage.stage_dataset(sys.argv[1], 'tar', stage.declare(sys.argv[1], sys.argv[2]), sys.argv[2])"
    )
    env = {"PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", code, path, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)

    assert "'a.jpg' has 8589934592 bytes by its header" in done.stderr
    assert [p for p in (tmp_path / "out" / "datasets").rglob("*") if p.is_file()] == []
    assert stage.kind_of(str(path)) == "tar.gz"
