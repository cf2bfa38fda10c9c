"""The audit: litter is dropped, unsafe archives are refused, bad images are set aside with a reason."""

import hashlib
import io
import json
import struct
import subprocess
import sys
import tarfile
import unicodedata
import zlib

import numpy as np
import pytest
from PIL import Image

from augmark.data.audit import audit_dataset, check_policy, read_manifest, summary
from augmark.data.decode import Quarantined, examine, is_complete
from augmark.errors import AugmarkError


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def sixteen_bit_rgb_png(width=48, height=40):
    """A 16-bit RGB PNG, which Pillow can read (as 8 bits) but not write."""
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    rows = (b"\0" + bytes(range(240)) + bytes(6 * width - 240)) * height
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(kind, data) for kind, data in chunks)


def with_orientation(kit, image, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return kit.encode(image, exif=exif)


def bad_images(kit):
    """Name -> (bytes, the reason that the audit must give)."""
    image = kit.draw()
    jpeg, png = kit.encode(image), kit.encode(image, "PNG")
    deep = Image.fromarray(np.arange(48 * 40, dtype=np.uint16).reshape(40, 48))
    clear = image.convert("P")
    animation = {"save_all": True, "append_images": [kit.draw(seed=1)]}
    return {
        "empty.jpg": (b"", "zero-bytes"),
        "notes.txt": (b"labels, not pixels", "not-an-image"),
        "half.jpg": (jpeg[: len(jpeg) // 2], "truncated"),
        "no-eoi.jpg": (jpeg[:-2], "truncated"),
        "half.png": (png[: len(png) // 2], "truncated"),
        "no-iend.png": (png[:-12], "truncated"),
        "header-only.jpg": (jpeg[:20], "truncated"),
        "bad-crc.png": (png[:60] + bytes([png[60] ^ 255]) + png[61:], "undecodable"),
        "picture.gif": (kit.encode(image, "GIF"), "format-not-allowed"),
        "cmyk.jpg": (kit.encode(image.convert("CMYK")), "cmyk"),
        "deep-grey.png": (kit.encode(deep, "PNG"), "sixteen-bit"),
        "deep-rgb.png": (sixteen_bit_rgb_png(), "sixteen-bit"),
        "palette.png": (kit.encode(clear, "PNG"), "mode-not-allowed"),
        "alpha.png": (kit.encode(image.convert("RGBA"), "PNG"), "mode-not-allowed"),
        "grey-alpha.png": (kit.encode(image.convert("LA"), "PNG"), "mode-not-allowed"),
        "bits.png": (kit.encode(image.convert("1"), "PNG"), "mode-not-allowed"),
        "key.png": (kit.encode(image, "PNG", transparency=(1, 2, 3)), "mode-not-allowed"),
        "moving.png": (kit.encode(image, "PNG", **animation), "animated"),
        "turned.jpg": (with_orientation(kit, image, 6), "exif-orientation"),
        "square-turned.jpg": (with_orientation(kit, kit.draw(48, 48), 3), "exif-orientation"),
        "narrow.jpg": (kit.encode(kit.draw(31, 400)), "smaller-than-crop"),
        "bomb.png": (kit.encode(Image.new("RGB", (1001, 1000)), "PNG"), "decompression-bomb"),
        "heavy.bin": (bytes(4_000_001), "too-many-bytes"),
    }


def good_images(kit):
    """Name -> (bytes, Pillow's mode): what must not be set aside."""
    image = kit.draw()
    thumbnail = kit.encode(kit.draw(16, 16))
    return {
        "plain.jpg": (kit.encode(image), "RGB"),
        "progressive.jpg": (kit.encode(image, progressive=True), "RGB"),
        "fine.jpg": (kit.encode(image, quality=98, subsampling="4:4:4"), "RGB"),
        "grey.jpg": (kit.encode(image.convert("L")), "L"),
        "grey.png": (kit.encode(image.convert("L"), "PNG"), "L"),
        "plain.png": (kit.encode(image, "PNG"), "RGB"),
        "upright.jpg": (with_orientation(kit, image, 1), "RGB"),
        "senseless-orientation.jpg": (with_orientation(kit, image, 9), "RGB"),
        "uniform-turned.jpg": (with_orientation(kit, Image.new("RGB", (40, 40), "red"), 3), "RGB"),
        "thumbnail.jpg": (kit.encode(image, exif=b"Exif\0\0" + thumbnail), "RGB"),
        "appended.jpg": (kit.encode(image) + b"camera data", "RGB"),
        "phone.jpg": (kit.encode(image, "MPO", save_all=True, append_images=[kit.draw(seed=1)]), "RGB"),
        "smallest.jpg": (kit.encode(kit.draw(32, 32)), "RGB"),
    }


def audit(kit, tmp_path, members, mode="w", policy=None):
    tar = kit.staged(kit.pack(tmp_path / "set.tar", members, mode), tmp_path / "out")
    return audit_dataset(tar, policy or kit.policy, tar.parent / "manifest.json")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_every_kind_of_bad_image_is_set_aside_with_its_reason(kit, tmp_path, mode):
    """The good ones around them are items, in the archive's order, whatever the compression."""
    bad, good = bad_images(kit), good_images(kit)
    members = [(name, data) for name, (data, _) in {**bad, **good}.items()]
    members.insert(7, kit.member("folder", kind=tarfile.DIRTYPE))

    manifest = audit(kit, tmp_path, members, mode)

    assert {name: reason for name, (_, reason) in bad.items()} == {
        entry["name"]: entry["reason"] for entry in manifest["quarantine"]
    }
    assert [(name, mode) for name, (_, mode) in good.items()] == [
        (item["name"], item["mode"]) for item in manifest["items"]
    ]
    assert manifest["counts"]["members"] == len(bad) + len(good) + 1
    assert manifest["counts"]["junk"] == {"directory": 1}
    assert manifest["counts"]["items"] == len(good)
    assert sum(manifest["counts"]["quarantined"].values()) == len(bad)
    first = good["plain.jpg"][0]
    assert manifest["items"][0] == {
        "name": "plain.jpg",
        "sha256": hashlib.sha256(first).hexdigest(),
        "bytes": len(first),
        "width": 48,
        "height": 40,
        "mode": "RGB",
        "format": "JPEG",
    }


def test_desktop_litter_is_dropped_and_counted(kit, tmp_path):
    """By kind, also when it holds an image, and never as a quarantined item."""
    photo = kit.photos(1)[0]
    litter = [
        ".DS_Store",
        "a/.DS_Store",
        "._00.jpg",
        "__MACOSX/images/x.jpg",
        "images/Thumbs.db",
        "thumbs.db",
        ".Spotlight-V100/Store-V2/x.jpg",
        ".fseventsd/0000",
        ".Trashes/501/00.jpg",
        "images/desktop.ini",
    ]

    manifest = audit(kit, tmp_path, [*((name, photo[1]) for name in litter), ("./images//00.jpg", photo[1])])

    assert manifest["counts"] == {
        "members": 11,
        "items": 1,
        "quarantined": {},
        "junk": {
            **{".DS_Store": 2, "._*": 1, "__MACOSX": 1, "Thumbs.db": 2},
            **{".Spotlight-V100": 1, ".fseventsd": 1, ".Trashes": 1, "desktop.ini": 1},
        },
    }
    assert manifest["items"][0]["name"] == "images/00.jpg"


def test_one_unsafe_member_refuses_the_dataset_and_all_are_named(kit, tmp_path):
    """Every offender stands in the message with its reason; no manifest is written."""
    photo = kit.photos(1)[0]
    composed, decomposed = (unicodedata.normalize(form, "é.jpg") for form in ("NFC", "NFD"))
    members = [
        photo,
        ("/etc/passwd", b"x"),
        ("a/../../up.jpg", b"x"),
        ("..\\up.jpg", b"x"),
        ("C:\\win.jpg", b"x"),
        ("new\nline.jpg", b"x"),
        ("bytes\udcff.jpg", b"x"),
        kit.member("soft.jpg", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        kit.member("hard.jpg", kind=tarfile.LNKTYPE, link="images/00.jpg"),
        kit.member("pipe", kind=tarfile.FIFOTYPE),
        kit.member("tty", kind=tarfile.CHRTYPE),
        kit.member("disk", kind=tarfile.BLKTYPE),
        kit.member("../.DS_Store", kind=tarfile.SYMTYPE, link="x"),
        ("twice.jpg", b"1"),
        ("./twice.jpg", b"2"),
        ("Case.JPG", b"1"),
        ("case.jpg", b"2"),
        (composed, b"1"),
        (decomposed, b"2"),
    ]
    expected = [
        "'/etc/passwd' (absolute path)",
        "'a/../../up.jpg' (path with ..)",
        "'..\\\\up.jpg' (path with ..)",
        "'C:\\\\win.jpg' (absolute path)",
        "'new\\nline.jpg' (control character in the name)",
        "'bytes\\udcff.jpg' (name that is not UTF-8)",
        "'soft.jpg' (symbolic link)",
        "'hard.jpg' (hard link)",
        "'pipe' (fifo)",
        "'tty' (device)",
        "'disk' (device)",
        "'../.DS_Store' (path with ..)",
        "'twice.jpg' (duplicate, 2 times)",
        "'Case.JPG' and 'case.jpg' (duplicates but for case or Unicode form)",
        f"{decomposed!r} and {composed!r} (duplicates but for case or Unicode form)",
    ]

    with pytest.raises(AugmarkError) as refused:
        audit(kit, tmp_path, members)

    assert f"set: 15 unsafe members, so nothing of it is used: {', '.join(expected)}\n" in str(refused.value)
    assert list((tmp_path / "out").rglob("manifest.json")) == []


def test_no_item_at_all_shows_the_reasons(kit, tmp_path):
    """The counts by reason, and the first member with its detail."""
    members = [("a.txt", b"a"), ("b.txt", b"b"), ("c.jpg", b""), (".DS_Store", b"x")]

    with pytest.raises(AugmarkError) as refused:
        audit(kit, tmp_path, members)

    assert str(refused.value) == (
        "set: holds no image that can be measured: 0 items of 4 members; "
        "quarantined: 2 not-an-image, 1 zero-bytes; junk: 1 .DS_Store\n"
        "  remedy: give JPEG or PNG images of mode RGB or L; "
        "the first refused: a.txt: not-an-image (Pillow does not recognise it)"
    )


def test_the_manifest_is_the_same_bytes_every_time(kit, tmp_path):
    """In another folder, in another process, with no time and no path of the machine in it."""
    members = [*kit.photos(2), *((name, data) for name, (data, _) in bad_images(kit).items())]
    source = kit.pack(tmp_path / "set.tar", members)
    written = []
    for place in ("one", "two"):
        tar = kit.staged(source, tmp_path / place)
        code = (
            "import sys, json; from pathlib import Path; from augmark.data.audit import audit_dataset\n"
            "audit_dataset(Path(sys.argv[1]), json.loads(sys.argv[2]), Path(sys.argv[3]))"
        )
        command = [sys.executable, "-c", code, tar, json.dumps(kit.policy), tar.parent / "manifest.json"]
        subprocess.run(command, check=True, capture_output=True, env={"PYTHONPATH": ":".join(sys.path)})
        written.append((tar.parent / "manifest.json").read_bytes())

    assert written[0] == written[1]
    assert str(tmp_path).encode() not in written[0]
    assert b" at 0x" not in written[0]


def test_the_manifest_digest_follows_what_it_covers(kit, tmp_path):
    """Another policy or another dataset is another common set; an edited manifest is refused."""
    photos = kit.photos(3)
    digests = {
        audit(kit, tmp_path, photos)["manifest_digest"],
        audit(kit, tmp_path, photos[:2])["manifest_digest"],
        audit(kit, tmp_path, photos, policy={**kit.policy, "min_side_pixels": 33})["manifest_digest"],
    }
    assert len(digests) == 3

    path = next((tmp_path / "out").rglob("manifest.json"))
    manifest = read_manifest(path)
    manifest["items"].pop()
    path.write_text(json.dumps(manifest))
    with pytest.raises(AugmarkError, match="does not match its digest"):
        read_manifest(path)


def test_all_problems_of_a_policy_are_told_at_once(kit):
    """Missing, unknown, and wrong values in one message."""
    policy = {**kit.policy, "decoders": ["dali", "opencv"], "exif_orientation": "ignore", "min_side": 3}
    del policy["modes"]

    with pytest.raises(AugmarkError) as refused:
        check_policy(policy)

    assert str(refused.value).splitlines()[0] == (
        "policy.yaml: audit: missing key modes; unknown key min_side; "
        "unknown decoder 'dali' (known: pillow, opencv); "
        "the first decoder must be pillow, which also says format and mode; "
        "exif_orientation must be quarantine-where-decoders-disagree"
    )


def test_every_cut_of_a_jpeg_and_png_is_noticed(kit):
    """No prefix of a file passes, wherever it is cut; libraries would fill in different pixels."""
    for data in (
        kit.encode(kit.draw()),
        kit.encode(kit.draw(), progressive=True),
        kit.encode(kit.draw(), "PNG"),
    ):
        assert is_complete(data)
        assert [cut for cut in range(8, len(data)) if is_complete(data[:cut])] == []


def test_decoders_that_disagree_beyond_the_tolerance_are_told(kit):
    """A file that two decoders read differently for another reason than orientation: a colour profile is not
    applied by either, so the disagreement is made with the tolerance itself."""
    data = kit.encode(kit.draw(seed=3))
    with pytest.raises(Quarantined) as found:
        examine(data, {**kit.policy, "decoder_tolerance_levels": -1})

    assert (found.value.reason, found.value.detail) == (
        "decoders-disagree",
        "pillow and opencv by up to 0 levels of 255",
    )


def test_pillow_is_left_as_it_was(kit):
    """The audit's strictness does not leak into a process that goes on using Pillow."""
    from PIL import ImageFile

    before = (ImageFile.LOAD_TRUNCATED_IMAGES, Image.MAX_IMAGE_PIXELS)
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        with pytest.raises(Quarantined, match="truncated"):
            examine(kit.encode(kit.draw(), "PNG")[:-40], kit.policy)
        assert ImageFile.LOAD_TRUNCATED_IMAGES is True
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before[0]
    assert before[1] == Image.MAX_IMAGE_PIXELS


def test_a_changed_staged_file_is_refused(kit, tmp_path):
    """The audit reads what was staged, or nothing."""
    tar = kit.staged(kit.pack(tmp_path / "set.tar", kit.photos(2)), tmp_path / "out")
    kit.pack(tar, kit.photos(1))

    with pytest.raises(AugmarkError, match=r"dataset\.tar: was changed after staging"):
        audit_dataset(tar, kit.policy, tmp_path / "manifest.json")


def test_the_summary_is_one_line(kit, tmp_path):
    """What the job's log says at its end."""
    manifest = audit(kit, tmp_path, [*kit.photos(2), ("a.txt", b"x"), (".DS_Store", b"x")])

    assert summary(manifest) == "2 items of 4 members; quarantined: 1 not-an-image; junk: 1 .DS_Store"


def test_the_command_writes_the_manifest(kit, tmp_path, request):
    """scripts/audit_dataset.py takes the policy as JSON text and says the counts."""
    tar = kit.staged(kit.pack(tmp_path / "set.tar", kit.photos(2)), tmp_path / "out")
    script = request.config.rootpath / "scripts" / "audit_dataset.py"
    command = [sys.executable, script, "--dataset", tar, "--manifest", tmp_path / "m.json", "--policy"]
    good = subprocess.run([*command, json.dumps(kit.policy)], capture_output=True, text=True)
    bad = subprocess.run([*command, "{}"], capture_output=True, text=True)

    assert good.stdout == "set: 2 items of 2 members; quarantined: none; junk: none\n"
    assert read_manifest(tmp_path / "m.json")["counts"]["items"] == 2
    assert (bad.returncode, bad.stderr[:55]) == (1, "error: policy.yaml: audit: missing key decoder_toleranc")


def test_grey_becomes_three_equal_channels(kit):
    """An item of mode L is read as RGB by every decoder of the policy."""
    from augmark.data.decode import decode_opencv, decode_pillow

    data = kit.encode(kit.draw().convert("L"), "PNG")
    expected = np.repeat(np.asarray(Image.open(io.BytesIO(data)))[..., None], 3, axis=2)

    assert np.array_equal(expected, decode_pillow(data))
    assert np.array_equal(expected, decode_opencv(data))
