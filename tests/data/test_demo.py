"""The demo dataset: the same bytes every time, 256 different pictures of one size."""

import hashlib
import io
import subprocess
import sys
import tarfile

import pytest
import yaml
from PIL import Image

from augmark.data import demo
from augmark.errors import AugmarkError


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.tar"
    demo.build_demo(path)
    return path


def test_two_builds_have_the_same_bytes(built, tmp_path):
    """A second build in another place and process is the same file."""
    again = tmp_path / "again.tar"
    code = "import sys, pathlib; from augmark.data import demo; demo.build_demo(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, again], check=True, env={"PYTHONPATH": ":".join(sys.path)})

    assert built.read_bytes() == again.read_bytes()


def test_digest_is_the_declared_one(built, request):
    """The digest that every path of the demo campaign carries is that of what is built."""
    declared = yaml.safe_load((request.config.rootpath / "config" / "datasets.yaml").read_text())

    assert declared["demo"]["sha256"] == hashlib.sha256(built.read_bytes()).hexdigest()


def test_pictures_are_distinct_and_of_one_size(built):
    """256 JPEGs of 500x375 with different pixels, and the first nine show nine photographs."""
    pixels, names = set(), []
    with tarfile.open(built) as tar:
        for member in tar:
            image = Image.open(io.BytesIO(tar.extractfile(member).read()))
            assert (image.size, image.format, image.mode) == ((500, 375), "JPEG", "RGB")
            pixels.add(hashlib.sha256(image.tobytes()).digest())
            names.append(member.name)

    assert len(pixels) == 256
    assert len({name.split("-", 1)[1] for name in names[:9]}) == 9


def test_members_say_nothing_of_the_machine(built):
    """No owner, no time, one mode: metadata cannot make two builds differ."""
    with tarfile.open(built) as tar:
        facts = {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in tar}

    assert facts == {(0, 0, 0, "", "", 0o644)}


def test_photographs_are_read_without_importing_their_packages():
    """Importing scikit-image or scikit-learn would cost seconds for a file's path."""
    code = (
        "import sys; from augmark.data import demo; [demo.photo_path(photo) for photo in demo.PHOTOS]; "
        "assert not {'skimage', 'sklearn'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_missing_package_is_named():
    """Without the package the message says which, and what to do."""
    with pytest.raises(AugmarkError, match=r"needs cat\.png of the package no_such_package, which"):
        demo.photo_path(demo.Photo(("no_such_package", "data"), "cat.png"))


def test_views_stay_inside_their_photographs():
    """A crop never leaves its photograph, also where that is exactly as large as an item."""
    sizes = [(500, 376), (640, 427)]
    chosen = demo.views(sizes, 6)

    assert len(set(chosen)) == 6
    for view in chosen:
        width, height = sizes[view.photo]
        assert 0 <= view.left <= width - 500
        assert 0 <= view.top <= height - 375
