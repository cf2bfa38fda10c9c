"""`augmark import`: what comes back is taken in whole and only once, and anything that is off is refused."""

import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from augmark.record import seal_of
from tests.disks import small_disk
from tests.evidence import handoffs, packages
from tests.evidence.handoffs import CELLS, FAR, KEYS
from tests.watching import wait_for

LOCKS = Path("/proc/locks")
MACHINE = ("--config", f"machine={FAR}", *KEYS)


def take_in(desk, archive, *words):
    return desk.run("augmark", "import", str(archive), *words, check=False)


def of_record(held, number=0):
    """The name of one of the records in an archive."""
    return sorted(name for name in held if "/records/" in name)[number]


def resealed(content, change):
    """A record with a change in it, written and sealed as `measure` does."""
    record = json.loads(content)
    change(record)
    record["seal"] = seal_of(record)
    return json.dumps(record, indent=1).encode()


def in_record(change):
    """Spoil the first record of an archive: what it says, under a seal that fits."""

    def spoil(held, _top):
        name = of_record(held)
        held[name] = resealed(held[name], change)

    return spoil


def flipped(content):
    spoiled = bytearray(content)
    spoiled[len(spoiled) // 2] ^= 1
    return bytes(spoiled)


def unsealed(held, _top):
    name = of_record(held)
    held[name] = held[name].replace(b'"loops": ', b'"loops": 1', 1)


def faster(record):
    row = next(row for row in record["rows"] if row["values"])
    row["values"] = [value / 2 for value in row["values"]]


def another_host(record):
    for facts in (record["host"], record["machine"]["found"]):
        facts["cpu_model"] = "Abacus 7"


def foreign(held, top):
    """A cell that was not asked for: a ninth repeat."""
    name = of_record(held)
    repeat = resealed(held[name], lambda record: record["cell"].update(repeat=9))
    held[name.replace("/r0.", "/r9.")] = repeat


def spoil_probe(held, _top):
    name = next(name for name in sorted(held) if "/probes/" in name and name.endswith(".json"))
    probe = json.loads(held[name])
    probe["session"] = "another"
    held[name] = (json.dumps(probe, indent=1) + "\n").encode()


def spoil_samples(held, _top):
    name = next(
        name for name in sorted(held) if name.endswith("/fake/cpu/") or ("fake" in name and ".zip" in name)
    )
    held[name] = flipped(held[name])


def without_probe(held, _top):
    del held[
        next(name for name in sorted(held) if "/fake/" in name and name.endswith("json") and "probe." in name)
    ]


def edit_handoff(held, top):
    content = json.loads(held[f"{top}/handoff.json"])
    content["cells"].append({**content["cells"][0], "repeat": 9})
    held[f"{top}/handoff.json"] = json.dumps(content).encode()


SPOILED = {
    "a record that was edited": (unsealed, "record-seal"),
    "seconds that were halved, under a new seal": (in_record(faster), "row-seconds"),
    "another commit": (
        in_record(lambda r: r["code"].update(git_commit="0" * 40)),
        "commit: measured at 0000",
    ),
    "another plan": (
        in_record(lambda r: r.update(plan="0123456789")),
        "plan: measured by the plan 0123456789",
    ),
    "another host": (
        in_record(another_host),
        "its processor is 'Abacus 7'",
    ),
    "another lock": (in_record(lambda r: r["environment"].update(lock_digest="f" * 10)), "lock_digest"),
    "other code": (in_record(lambda r: r["code"].update(digest="f" * 10)), "code/digest"),
    "a cell that was not handed over": (foreign, "a foreign cell"),
    "a probe that was edited": (spoil_probe, "probe-file"),
    "samples that were damaged": (spoil_samples, "sample-file"),
    "no probe": (without_probe, "its probe is not in the archive"),
    "an edited handoff": (edit_handoff, "its digest is"),
    "a file of no kind": (
        lambda held, top: held.update({f"{top}/config/policy.yaml": b"x"}),
        "neither a record",
    ),
    "a table": (lambda held, top: held.update({f"{top}/tables/a.md": b"x"}), "neither a record nor a probe"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_off_is_refused_whole(handed, desk, tmp_path, name):
    """With a manifest that fits: the one thing is named, nothing is taken in, nothing is left behind."""
    change, said = SPOILED[name]
    archive = handoffs.repacked(handed.archive, tmp_path / "spoiled.tar.gz", change)
    refused(desk, archive, said)


def refused(desk, archive, said):
    before = handoffs.everything(desk.results)
    done = take_in(desk, archive)
    assert 2 == done.returncode, done.stdout
    assert said in done.stderr
    assert before == handoffs.everything(desk.results)
    assert not list((desk.results / "handoff").glob(".import*"))


def test_bytes_that_are_not_the_manifests(handed, desk, tmp_path):
    """A flipped bit in a record."""

    def flip(held, _top):
        held[of_record(held)] = flipped(held[of_record(held)])

    archive = handoffs.repacked(handed.archive, tmp_path / "flipped.tar.gz", flip, manifest=False)
    refused(desk, archive, "its manifest says")


def test_a_file_beside_the_manifest(handed, desk, tmp_path):
    """One that it does not list."""

    def add(held, top):
        held[f"{top}/records/more.json"] = b"{}"

    archive = handoffs.repacked(handed.archive, tmp_path / "more.tar.gz", add, manifest=False)
    refused(desk, archive, "records/more.json is not in its manifest")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_an_archive_that_is_cut_off(handed, desk, tmp_path, share):
    """Wherever it ends."""
    content = handed.archive.read_bytes()
    archive = tmp_path / "cut.tar.gz"
    archive.write_bytes(content[: int(len(content) * share)])
    refused(desk, archive, "cut.tar.gz")


@pytest.mark.parametrize("bit", [0.05, 0.5, 0.95])
def test_a_flipped_bit_of_the_archive(handed, desk, tmp_path, bit):
    """Wherever it is."""
    content = bytearray(handed.archive.read_bytes())
    content[int(len(content) * bit)] ^= 1
    archive = tmp_path / "flipped.tar.gz"
    archive.write_bytes(content)
    refused(desk, archive, "flipped.tar.gz")


def hostile(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    "member",
    [
        hostile("TOP/../../escaped.json"),
        hostile("/tmp/escaped.json"),
        hostile("TOP/records/link.json", tarfile.SYMTYPE, "/etc/passwd"),
        hostile("TOP/records/hard.json", tarfile.LNKTYPE, "TOP/manifest.json"),
        hostile("TOP/records/device", tarfile.CHRTYPE),
        hostile("TOP/records/fifo", tarfile.FIFOTYPE),
        hostile("TOP/records/folder", tarfile.DIRTYPE),
        hostile("TOP/records/.hidden"),
        hostile("outside.json"),
    ],
    ids=lambda member: member.name,
)
def test_a_hostile_member_is_refused(handed, desk, tmp_path, member):
    """A path that leads out, a link, a device: by name, before anything is written."""
    held = handoffs.contents(handed.archive)
    member.name = member.name.replace("TOP", next(iter(held)).split("/")[0])
    archive = tmp_path / "hostile.tar.gz"
    with tarfile.open(archive, "w:gz") as out:
        for name, content in held.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
        out.addfile(member)
    refused(desk, archive, repr(member.name))
    assert not (tmp_path / "escaped.json").exists()


def test_a_header_that_would_fill_the_memory_is_not_read(desk, tmp_path):
    """An extended header of 64 MB packs into some kilobytes."""
    archive = tmp_path / "bomb.tar.gz"
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as out:
        info = tarfile.TarInfo("TOP/manifest.json")
        info.pax_headers = {"comment": "x" * (64 << 20)}
        out.addfile(info)
    refused(desk, archive, "bomb.tar.gz: is cut off or damaged")


def test_a_manifest_that_nests_without_end_is_refused(desk, tmp_path):
    """Exit status 2, as everything that is refused: 1 says that cells are left."""
    text = b"[" * 200_000
    archive = tmp_path / "deep.tar.gz"
    with tarfile.open(archive, "w:gz") as out:
        info = tarfile.TarInfo("TOP/manifest.json")
        info.size = len(text)
        out.addfile(info, io.BytesIO(text))
    refused(desk, archive, "manifest.json is not JSON")


def test_what_is_no_archive(desk, tmp_path):
    """A file that is not there, and one of other content."""
    assert "is not there" in take_in(desk, tmp_path / "none.tar.gz").stderr
    text = tmp_path / "text.tar.gz"
    text.write_text("hello")
    refused(desk, text, "is cut off or damaged")


def test_tables_at_the_desk_without_measuring(handed, desk):
    """What came in is what was measured; the tables are made from it, and everything verifies."""
    done = take_in(desk, handed.archive)
    assert 0 == done.returncode, done.stderr
    assert f"taken in: {CELLS} records" in done.stdout
    assert f"nothing is left of {FAR}" in done.stdout
    brought = handoffs.everything(desk.results)
    assert handoffs.everything(handed.far.results) == brought
    made = desk.run("snakemake", "paper_tables", *MACHINE)
    assert not {"measure", "probe", "prepare", "stage"} & set((made.stdout + made.stderr).split())
    assert "| Works |" in (desk.results / "tables" / "image-rgb-micro.md").read_text()
    assert brought == handoffs.everything(desk.results)
    assert "everything holds" in desk.run("augmark", "verify", *MACHINE).stdout
    again = desk.run("snakemake", "paper_tables", *MACHINE)
    assert "Nothing to be done" in again.stdout + again.stderr


def test_taken_in_twice(handed, desk):
    """The second time everything is here already, and that is said."""
    take_in(desk, handed.archive)
    before = handoffs.everything(desk.results)
    done = take_in(desk, handed.archive)
    assert 0 == done.returncode
    assert "taken in: 0 records, 0 files" in done.stdout
    assert f"here already, the same: {CELLS} records" in done.stdout
    assert before == handoffs.everything(desk.results)


def test_where_no_link_reaches_it_is_copied(handed, desk):
    """Records on a disk of their own: what comes in is the same to the byte, and nothing half is left."""
    with small_disk(desk.results / "records") as disk:
        done = take_in(desk, handed.archive)
        assert 0 == done.returncode, done.stderr
        assert handoffs.everything(handed.far.results) == handoffs.everything(desk.results)
        assert not list(disk.rglob("*.part"))
        assert f"here already, the same: {CELLS} records" in take_in(desk, handed.archive).stdout


@pytest.mark.skipif(not LOCKS.exists(), reason="who waits for a lock is seen in /proc/locks, on Linux alone")
def test_of_two_imports_at_once_the_second_waits(handed, desk):
    """One takes everything in, the other finds it here; neither breaks the other's unpacked files."""
    command = [str(Path(sys.executable).parent / "augmark"), "import", str(handed.archive)]
    lock = desk.results / "handoff" / "import.lock"
    lock.parent.mkdir(exist_ok=True)
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        both = [
            subprocess.Popen(
                command, cwd=desk.root, env=desk.environment(), stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        waiting = f":{os.fstat(held.fileno()).st_ino} "  # as /proc/locks names the file

        def waiters():
            return [line for line in LOCKS.read_text().splitlines() if "->" in line and waiting in line]

        wait_for(lambda: 2 == len(waiters()), "two that wait for the lock")
        assert {} == handoffs.everything(desk.results)
    said = sorted(process.communicate(timeout=120)[0] for process in both)
    assert [0, 0] == [process.returncode for process in both]
    assert all(text.startswith("waiting for another import\n") for text in said)
    assert 1 == sum(f"taken in: {CELLS} records" in text for text in said)
    assert 1 == sum(f"here already, the same: {CELLS} records" in text for text in said)
    assert handoffs.everything(handed.far.results) == handoffs.everything(desk.results)
    assert not list((desk.results / "handoff").glob(".import*"))


def test_another_record_in_the_place_stays(handed, desk):
    """It is named, it is kept, and nothing else is taken in either."""
    path = desk.results / "records" / handed.content["cells"][0]["path"]
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    refused(desk, handed.archive, handed.content["cells"][0]["path"])
    assert "{}" == path.read_text()


def test_killed_in_the_middle(handed, desk):
    """With -9, at many moments: only whole files are there, and the same command takes in the others."""
    wanted = handoffs.everything(handed.far.results)
    command = [str(Path(sys.executable).parent / "augmark"), "import", str(handed.archive)]
    for seconds in (0.8, 1.2, 1.6, 2.0, 2.4):
        begun = subprocess.Popen(
            command,
            cwd=desk.root,
            env=desk.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(seconds)
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        assert handoffs.everything(desk.results).items() <= wanted.items()
    assert 0 == take_in(desk, handed.archive).returncode
    assert wanted == handoffs.everything(desk.results)
    assert not list((desk.results / "handoff").glob(".import*"))


def test_half_of_it_is_here(handed, desk):
    """As a kill between two links leaves it: the rest comes in, and both are counted."""
    names = sorted(handoffs.everything(handed.far.results))
    for name in names[::2]:
        (desk.results / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(handed.far.results / name, desk.results / name)
    done = take_in(desk, handed.archive)
    assert 0 == done.returncode
    assert "here already, the same: " in done.stdout
    assert handoffs.everything(handed.far.results) == handoffs.everything(desk.results)


def test_a_part_of_the_cells(handed, desk, tmp_path):
    """What was measured so far can be packed and taken in; what is left is named, by exit status 1."""
    far = packages.copied(handed.far, tmp_path / "far")
    (gone,) = [path for path in far.records() if "/fake-too/cpu/r1." in path.as_posix()]
    gone.unlink()
    handoff = f"results/handoff/{handed.script.stem}.json"
    packed = far.run("augmark", "handoff", "--pack", handoff, check=False)
    assert 1 == packed.returncode
    assert f"missing: {gone.relative_to(far.results / 'records').as_posix()}" in packed.stdout
    done = take_in(desk, far.results / "handoff" / handed.archive.name)
    assert 1 == done.returncode
    assert f"taken in: {CELLS - 1} records" in done.stdout
    assert f"left of {FAR}: 1 cell\n" in done.stdout


def test_the_plan_here_has_moved_on(handed, desk):
    """Where the cells are planned no more, they are foreign, and what has changed since is said."""
    desk.edit(
        "transforms.yaml", lambda content: content["WorksAtRandom"]["params"].update(shift_levels=[2, 99])
    )
    done = take_in(desk, handed.archive)
    assert 2 == done.returncode
    assert (
        "not planned here (the plan here differs from the handoff's in rows (transforms.yaml" in done.stderr
    )
    assert {} == handoffs.everything(desk.results)


def test_samples_that_may_not_be_given_away(handed, desk, tmp_path):
    """They stay where they are unless somebody says so; the tables are made, and say less."""
    desk.edit("datasets.yaml", lambda content: content["demo"].pop("redistribute"))
    handoffs.commit(desk, "not to be given away")
    shutil.rmtree(desk.results / "handoff")
    _content, script = handoffs.hand_over(desk)
    far = Path(shutil.copytree(desk.root, tmp_path / "far", symlinks=True))
    kept = shutil.ignore_patterns("envs", "handoff")
    shutil.copytree(handed.far.results, far / "results", ignore=kept, dirs_exist_ok=True)
    for path in (far / "results").rglob("r*.json"):
        path.unlink()
    done = handoffs.run_script(handoffs.Project(far), script)
    assert 0 == done.returncode, done.stderr
    archive = far / "results" / "handoff" / f"{script.stem}.tar.gz"
    assert not [name for name in handoffs.contents(archive) if name.endswith(".zip")]
    assert "--samples packs them all the same" in done.stdout
    assert 0 == take_in(desk, archive).returncode
    made = desk.run("snakemake", "paper_tables", *MACHINE)
    assert not {"measure", "probe"} & set((made.stdout + made.stderr).split())
    handoff = far / "results" / "handoff" / f"{script.stem}.json"
    handoffs.Project(far).run("augmark", "handoff", "--pack", str(handoff), "--samples")
    assert [name for name in handoffs.contents(archive) if name.endswith(".zip")]
    assert 0 == take_in(desk, archive).returncode
