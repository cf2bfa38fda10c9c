"""One image judged under the audit's policy: an item, or quarantined with a reason. Pillow and OpenCV."""

from __future__ import annotations

import io
import re
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import cv2
import numpy as np
import PIL
from PIL import Image, ImageFile, UnidentifiedImageError

ORIENTATION = 0x0112  # the EXIF tag; 1 is upright
_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"
# Pillow's modes with more than eight bits (and those that begin with them, as I;16).
_DEEP_MODES = ("I", "F")


class Picture(NamedTuple):
    """An image that every decoder reads alike; sizes in pixels, mode and format in Pillow's words."""

    width: int
    height: int
    mode: str
    format: str


class Quarantined(Exception):
    """An image that is not measured: a reason from a fixed list, and the detail in words."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


def decode_pillow(data: bytes) -> np.ndarray:
    """RGB uint8 HWC by Pillow, the file's own orientation; grey becomes three equal channels."""
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def decode_opencv(data: bytes) -> np.ndarray | None:
    """RGB uint8 HWC by OpenCV as usually called: it turns the image as EXIF says; None on failure."""
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if decoded is None else decoded[..., ::-1]


# The second and later decoders of a policy; Pillow, the first, says format and mode too.
DECODERS: dict[str, Callable[[bytes], np.ndarray | None]] = {"pillow": decode_pillow, "opencv": decode_opencv}
VERSIONS = {"pillow": PIL.__version__, "opencv": cv2.__version__}


@contextmanager
def strict_pillow() -> Iterator[None]:
    """Pillow that never fills in a truncated image, and leaves the limit of pixels to the policy."""
    before = (ImageFile.LOAD_TRUNCATED_IMAGES, Image.MAX_IMAGE_PIXELS)
    ImageFile.LOAD_TRUNCATED_IMAGES, Image.MAX_IMAGE_PIXELS = False, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of broken EXIF blocks: what counts is what is decoded
            yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES, Image.MAX_IMAGE_PIXELS = before


def examine(data: bytes, policy: dict[str, Any]) -> Picture:
    """Decode an image once with every decoder of the policy.

    Args:
        data: The file's bytes.
        policy: ``audit`` of ``policy.yaml``.

    Raises:
        Quarantined: It is not one that every library can be timed on.
    """
    if not data:
        raise Quarantined("zero-bytes")
    with strict_pillow():
        try:
            with Image.open(io.BytesIO(data)) as image:
                picture = _accepted(image, data, policy)
                if not is_complete(data):
                    raise Quarantined("truncated", "the file ends before its end marker")
                reference = _loaded(image)
                orientation = _orientation(image)
        except (UnidentifiedImageError, SyntaxError, ValueError, OSError, struct.error) as error:
            raise _undecodable(data, error) from error
    for name in policy["decoders"][1:]:
        _compare(reference, DECODERS[name](data), name, orientation, policy["decoder_tolerance_levels"])
    return picture


def is_complete(data: bytes) -> bool:
    """False for a JPEG without its EOI marker or a PNG without its IEND chunk; libraries differ on those.

    The structure is walked, because the bytes of a marker may also occur inside an embedded thumbnail.
    """
    if data.startswith(_PNG):
        return _png_ends(data)
    return not data.startswith(_JPEG) or _jpeg_ends(data)


def _jpeg_ends(data: bytes) -> bool:
    place = 2
    while place + 2 <= len(data):
        if data[place] != 0xFF:  # entropy-coded data: skip to the next marker
            place = data.find(b"\xff", place)
            if place < 0:
                return False
            continue
        marker = data[place + 1]
        if marker == 0xD9:
            return True
        if marker == 0xFF:  # a fill byte
            place += 1
        elif marker == 0x00 or marker == 0x01 or 0xD0 <= marker <= 0xD8:  # stuffed byte, or no length
            place += 2
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return False


def _png_ends(data: bytes) -> bool:
    place = len(_PNG)
    while place + 12 <= len(data):
        length = int.from_bytes(data[place : place + 4])
        if data[place + 4 : place + 8] == b"IEND":
            return True
        place += 12 + length
    return False


def _accepted(image: Image.Image, data: bytes, policy: dict[str, Any]) -> Picture:
    """What the header says, when the policy allows it; nothing is decoded yet."""
    width, height = image.size
    # A JPEG with further pictures after it, as phones write them: all read the first one.
    kind = "JPEG" if image.format == "MPO" else image.format
    if kind not in policy["formats"]:
        raise Quarantined("format-not-allowed", f"{kind}, not one of {', '.join(policy['formats'])}")
    if width * height > policy["max_pixels"]:
        raise Quarantined("decompression-bomb", f"{width}x{height} is over {policy['max_pixels']} pixels")
    if image.mode == "CMYK":
        raise Quarantined("cmyk")
    if image.mode.split(";")[0] in _DEEP_MODES or _bits(image, data) > 8:
        raise Quarantined("sixteen-bit", f"{_bits(image, data)} bits, read as {image.mode}")
    if image.mode not in policy["modes"]:
        raise Quarantined("mode-not-allowed", f"{image.mode}, not one of {', '.join(policy['modes'])}")
    if "transparency" in image.info:
        raise Quarantined("mode-not-allowed", f"{image.mode} with a transparent colour")
    if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:
        raise Quarantined("animated", f"{image.n_frames} frames")
    if min(width, height) < policy["min_side_pixels"]:
        raise Quarantined("smaller-than-crop", f"{width}x{height}, the crop is {policy['min_side_pixels']}")
    return Picture(width, height, image.mode, kind)


def _bits(image: Image.Image, data: bytes) -> int:
    """Bits per channel; Pillow itself reads a 16-bit RGB PNG as if it had 8."""
    if image.format == "PNG":
        return data[24]
    if image.format == "TIFF":
        return max(image.tag_v2.get(258, (8,)))
    return 16 if ";16" in image.mode else 32 if image.mode in _DEEP_MODES else 8


def _loaded(image: Image.Image) -> np.ndarray:
    try:
        return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, struct.error) as error:
        if "truncated" in str(error):
            raise Quarantined("truncated", "Pillow: image file is truncated") from error
        raise


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except (OSError, SyntaxError, ValueError, TypeError, struct.error):
        return 1  # a broken EXIF block says nothing


def _undecodable(data: bytes, error: Exception) -> Quarantined:
    if not is_complete(data):
        return Quarantined("truncated", "the file ends before its end marker")
    if isinstance(error, UnidentifiedImageError) and not data.startswith((_JPEG, _PNG)):
        return Quarantined("not-an-image", "Pillow does not recognise it")
    # The text of some errors holds an address in memory, which would differ from run to run.
    return Quarantined("undecodable", f"Pillow: {re.sub(r' *<[^>]*>', '', str(error))}")


def _compare(
    reference: np.ndarray, other: np.ndarray | None, name: str, orientation: int, tolerance: int
) -> None:
    """Refuse what ``name`` decodes otherwise than Pillow: arrays (H, W, 3) of levels 0..255."""
    if other is None:
        raise Quarantined("undecodable", f"{name} cannot decode it")
    turned = f"EXIF orientation {orientation}"
    if reference.shape != other.shape:
        if orientation != 1:
            raise Quarantined("exif-orientation", f"{turned}: {name} turns it, pillow does not")
        raise Quarantined("shape-disagreement", f"pillow {reference.shape}, {name} {other.shape}")
    worst = int(cv2.absdiff(reference, np.ascontiguousarray(other)).max())
    if worst > tolerance:
        if orientation != 1:
            raise Quarantined("exif-orientation", f"{turned}: {name} turns it, pillow does not")
        raise Quarantined("decoders-disagree", f"pillow and {name} by up to {worst} levels of 255")
