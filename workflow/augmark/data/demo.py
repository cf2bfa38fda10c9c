"""The demo dataset: 256 photographs of 500x375, built without a network, the same bytes every time.

They are cut by whole pixels from nine photographs that ship inside two Python packages (the files are read,
the packages are not imported) and encoded as JPEG:

* scikit-image, as its own docstrings say: astronaut and hubble_deep_field (NASA, public domain), rocket
  (SpaceX, public domain), chelsea (Stefan van der Walt, CC0), coffee (Rachel Michetti, CC0), retina (Mikael
  Häggström, CC0) and ihc (Center for Microscopy And Molecular Imaging, no known copyright restrictions).
* scikit-learn: china (danielbuechele) and flower (vultilion), both Creative Commons Attribution 2.0.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from augmark.data.folder import normal_member
from augmark.errors import AugmarkError

if TYPE_CHECKING:
    from PIL import Image

COUNT = 256
WIDTH, HEIGHT = 500, 375
QUALITY = 90
SEED = "augmark demo 1"
DEMO_BYTES = 16_000_000  # an upper bound, for the check of free disk
_SKIMAGE, _SKLEARN = ("skimage", "data"), ("sklearn", "datasets/images")


class Photo(NamedTuple):
    """A photograph of a package; ``enlarge`` is how often each pixel is repeated along both axes."""

    package: tuple[str, str]
    file: str
    enlarge: int = 1

    @property
    def name(self) -> str:
        return Path(self.file).stem.replace("_", "-")


PHOTOS = (
    Photo(_SKIMAGE, "astronaut.png"),
    Photo(_SKIMAGE, "chelsea.png", enlarge=2),  # 451x300, smaller than an item
    Photo(_SKIMAGE, "coffee.png"),
    Photo(_SKIMAGE, "rocket.jpg"),
    Photo(_SKIMAGE, "retina.jpg"),
    Photo(_SKIMAGE, "hubble_deep_field.jpg"),
    Photo(_SKIMAGE, "ihc.png"),
    Photo(_SKLEARN, "china.jpg"),
    Photo(_SKLEARN, "flower.jpg"),
)


class View(NamedTuple):
    """What an item shows: the photograph, the crop's corner in pixels, and whether it is mirrored."""

    photo: int
    left: int
    top: int
    mirrored: bool


def photo_path(photo: Photo) -> Path:
    """Where a photograph lies, found without importing its package.

    Raises:
        AugmarkError: The package, or the file in it, is not installed.
    """
    module, folder = photo.package
    spec = importlib.util.find_spec(module)
    path = Path(spec.origin or "").parent / folder / photo.file if spec else None
    if path is None or not path.is_file():
        raise AugmarkError(
            f"the demo dataset needs {photo.file} of the package {module}, which is not installed",
            where="demo",
            remedy="build the workflow's environment from its lock",
        )
    return path


def views(sizes: list[tuple[int, int]], count: int = COUNT) -> list[View]:
    """Choose distinct views, the photographs taken in turn so that any first few span them all.

    Numbers come from sha256, not from a random generator whose stream could change between releases.

    Args:
        sizes: Width and height of each photograph in pixels.
    """
    chosen: dict[View, None] = {}
    for index in range(count):
        photo = index % len(sizes)
        width, height = sizes[photo]
        for attempt in range(1000):
            number = int.from_bytes(hashlib.sha256(f"{SEED}/{index}/{attempt}".encode()).digest())
            number, left = divmod(number, width - WIDTH + 1)
            number, top = divmod(number, height - HEIGHT + 1)
            view = View(photo, left, top, bool(number % 2))
            if view not in chosen:
                chosen[view] = None
                break
    return list(chosen)


def build_demo(path: Path, seen: Callable[[int], object] = lambda count: None) -> None:
    """Write the demo's tar.

    Args:
        seen: Called with 1 for each image.

    Raises:
        AugmarkError: A photograph is not installed.
    """
    photos = [_load(photo) for photo in PHOTOS]
    with (
        open(path, "wb") as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for index, view in enumerate(views([photo.size for photo in photos])):
            data = _encode(photos[view.photo], view)
            name = f"images/{index:03d}-{PHOTOS[view.photo].name}.jpg"
            tar.addfile(normal_member(name, len(data)), io.BytesIO(data))
            seen(1)


def _load(photo: Photo) -> Image.Image:
    from PIL import Image

    with Image.open(photo_path(photo)) as opened:
        image = opened.convert("RGB")
    if photo.enlarge == 1:
        return image
    width, height = image.size
    return image.resize((width * photo.enlarge, height * photo.enlarge), Image.Resampling.NEAREST)


def _encode(photo: Image.Image, view: View) -> bytes:
    from PIL import Image

    image = photo.crop((view.left, view.top, view.left + WIDTH, view.top + HEIGHT))
    if view.mirrored:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, subsampling="4:2:0")
    return buffer.getvalue()
