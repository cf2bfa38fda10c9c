"""Names of hosts and users, and paths of one machine, are found wherever they stand; words are not."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from augmark.errors import AugmarkError
from augmark.evidence import private
from augmark.evidence.archive import Member
from augmark.evidence.private import Private, check_private, leaks_of, of_this_machine
from augmark.worker.status import describe

NAMES = [
    Private("the host's name", "lab-node-17"),
    Private("the user's name", "ada-lovelace"),
    Private("the host's name", "vm", ordinary=True),
    Private("the user's name", "runner", ordinary=True),
    Private("the user's home", "/nest", path=True),
    Private("a folder of this machine", "/srv/checkouts/augmark", path=True),
]


def found(name, content, **more):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    return [(leak.key, leak.what) for leak in leaks_of(Member(name, content, **more), NAMES)]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"note": "seen on LAB-NODE-17.example.org"}, "the host's name"),
        ({"note": "lab-node-17_cpu"}, "the host's name"),
        ({"note": "made by ada-lovelace"}, "the user's name"),
        ({"note": "/nest/.cache/x"}, "the user's home"),
        ({"note": "in /srv/checkouts/augmark/results"}, "a folder of this machine"),
        ({"note": "cannot open /opt/somewhere/lib.so: gone"}, "an absolute path"),
        ({"note": "file:///home/somebody"}, "an absolute path"),
        ({"note": "/Users/somebody"}, "an absolute path"),
    ],
)
def test_a_private_value_in_json_is_found_with_its_key(value, what):
    """Where it stands is said as file and key, so that it can be mended there."""
    assert [("rows.1.note", what)] == found("records/r0.json", {"rows": [{}, value]})


@pytest.mark.parametrize(
    "text",
    [
        "images/s, a/b, 3 / 4, and/or",
        "https://example.org/home/page/x",
        "read from /proc/self/stat and /sys/devices/system/cpu",
        "the vm of a runner",
        "main/nested, /nest alone",
        "node lab-node-170, xada-lovelacex",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text):
    """A URL, a ratio, what the kernel shows, a longer name, a word that anybody uses."""
    assert [] == found("records/r0.json", {"note": text})
    assert [] == found("tables/a.md", text.encode())


@pytest.mark.parametrize("key", ["hostname", "host_name", "node", "user", "username", "owner"])
def test_an_ordinary_word_is_a_name_where_a_host_or_user_is_named(key):
    """``vm`` in a text says nothing; as the value of ``hostname`` it is the host's name."""
    assert [(f"metadata.{key}", "the host's name")] == found("pyperf/r0.json", {"metadata": {key: "vm"}})
    assert [] == found("pyperf/r0.json", {"metadata": {key: "somebody else", "note": "vm"}})


def test_names_that_are_not_ascii_are_found_though_json_escapes_them():
    """``\\u00fc`` in the file is ``ü`` in the name."""
    names = [Private("the user's name", "jürgen")]
    assert "\\u00fc" in json.dumps("jürgen")
    assert 1 == len(list(leaks_of(Member("a.json", json.dumps({"by": "jürgen"}).encode()), names)))


def test_text_binary_files_and_names_of_files_are_looked_through_too():
    """A table, an archive's member, a picture's bytes, and what the file is called."""
    assert [("", "an absolute path")] == found("tables/a.csv", b"x\n/data/mine/a.tar\n")
    assert [("its own name", "the host's name")] == found("tables/lab-node-17.csv", b"x\n")
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as bundle:
        bundle.writestr("ada-lovelace.npz", b"\xff\x00")
    ((key, what),) = {
        (key.split()[0], what) for key, what in found("a.samples.zip", held.getvalue() + b"\xff")
    }
    assert ("byte", "the user's name") == (key, what)


def test_code_may_name_paths_that_everybody_has_but_not_this_machine_s():
    """``/tmp/augmark-machine.lock`` is the workflow's; the checkout's own folder is nobody's business."""
    code = b'LOCK = "/tmp/augmark/machine.lock"\n'
    assert [] == found("workflow/augmark/job.py", code, pathless=False)
    assert [("", "an absolute path")] == found("config/config.yaml", b"images: /data/mine/a.tar\n")
    code += b'HERE = "/srv/checkouts/augmark"\n'
    assert [("", "a folder of this machine")] == found("workflow/augmark/job.py", code, pathless=False)


def test_the_refusal_names_file_key_value_and_remedy():
    """Whoever packs knows where to look."""
    members = [Member("a.json", b"{}"), Member("records/r0.json", b'{"host": {"hostname": "lab-node-17"}}')]
    with pytest.raises(AugmarkError) as error:
        check_private(members, NAMES)
    assert "records/r0.json (host.hostname): the host's name: 'lab-node-17'" in str(error.value)
    assert "remedy: take it out where it comes from" in str(error.value)
    check_private(members[:1], NAMES)


def test_names_of_this_machine_are_ordinary_where_the_project_uses_them_as_words(monkeypatch, tmp_path):
    """A host called ``pillow`` or ``vm`` gives no false alarm; one called ``lab-node-17`` is looked for."""
    source = [
        Member("workflow/a.py", b"# the runner, and pillow\n"),
        Member("config/a.yaml", b"lab-node-17\n"),
    ]
    known = {}
    for host, user in (("lab-node-17.example.org", "runner"), ("pillow", "ada-lovelace"), ("vm", "runner")):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        monkeypatch.setattr("socket.getfqdn", lambda host=host: host)
        monkeypatch.setattr("getpass.getuser", lambda user=user: user)
        known |= {name.value: name.ordinary for name in of_this_machine([tmp_path], source)}
    assert {"lab-node-17.example.org": False, "lab-node-17": False, "ada-lovelace": False} == {
        name: ordinary for name, ordinary in known.items() if not ordinary and not name.startswith("/")
    }
    assert {"runner", "pillow", "vm"} <= {name for name, ordinary in known.items() if ordinary}
    assert {str(tmp_path), str(Path.home())} <= set(known)


def test_a_user_without_a_name_is_no_error(monkeypatch, tmp_path):
    """In a container the user may be a number alone."""

    def nobody():
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr(private.getpass, "getuser", nobody)
    assert of_this_machine([tmp_path], [])


def test_a_failed_row_keeps_the_error_and_not_where_the_file_lies():
    """What a library raises goes into records; there the last part of a path is enough."""
    error = FileNotFoundError(2, "No such file", "/home/ada/my data/item-3.jpg")
    assert "FileNotFoundError: [Errno 2] No such file: 'my data/item-3.jpg'" == describe(error)
    text = "lib.so: cannot open /opt/cuda/lib/libx.so.1 (see https://example.org/a/b), 3 images/s of a/b"
    expected = "lib.so: cannot open libx.so.1 (see https://example.org/a/b), 3 images/s of a/b"
    assert f"OSError: {expected}" == describe(OSError(text))
