"""`augmark verify` on probes: sealed, kept by the records that rest on them, and their samples with them."""

import json
import re
import shutil
import zipfile

import pytest

from tests.evidence.spoiling import found_by, probe_of, reprobed, samples_of

# --- probes ------------------------------------------------------------------------------------------


def failed(probe):
    probe["rows"]["Works"]["status"] = "failed"


def slow(probe):
    probe["rows"]["Works"]["warm_seconds_per_item"] = 99


@pytest.mark.parametrize("change", [failed, slow])
def test_an_edited_probe_is_found(spoiled, change):
    """By its seal; nothing else is said of it."""
    path = probe_of(spoiled)
    seal = json.loads(path.read_text())["seal"]
    reprobed(path, change, sealed=False)
    ((name, what),) = samples_of(spoiled)
    assert spoiled.name(path) == name
    assert what.startswith(f"its seal is {seal}, its content gives ")
    assert {(name, "probe-file"): [what]} == found_by(spoiled)


def test_a_flipped_digit_of_a_probe_is_found(spoiled):
    """And a flipped space: its content is the sealed one, and the file is not as it was written."""
    path = probe_of(spoiled)
    whole = path.read_text()
    digit = re.search(r'"wall_seconds": \d+\.\d*?([1-8])', whole).start(1)
    path.write_text(f"{whole[:digit]}{int(whole[digit]) + 1}{whole[digit + 1 :]}")
    assert ["its seal is"] == [what[:11] for _, what in samples_of(spoiled)]
    path.write_text(whole.replace('"schema": ', '"schema":  ', 1))
    assert ["says what a probe says, but was not written like this by `probe`"] == [
        what for _, what in samples_of(spoiled)
    ]


def test_a_probe_that_is_sealed_again_is_found_by_its_records(spoiled):
    """Each names the seal of the probe that it was measured from."""
    path = probe_of(spoiled)
    seal = json.loads(path.read_text())["seal"]
    reprobed(path, failed)
    other = json.loads(path.read_text())["seal"]
    what = f"the seal of its probe is {seal}, that of the probe here {other}"
    records = [spoiled.name(spoiled.record("fake", repeat)) for repeat in (0, 1)]
    assert {(name, "probe-record"): [what] for name in records} == found_by(spoiled)


def test_a_probe_that_was_made_anew_is_noted(spoiled):
    """Of the same digest and later than the records: they were measured from the one before it."""

    def later(probe):
        for row in probe["rows"].values():
            row.update(started=row["started"] + 1e6, ended=row["ended"] + 1e6)
        probe["session"] = "20301130T000000Z-1"

    reprobed(probe_of(spoiled), later)
    found = spoiled.examine()
    assert [] == found.findings
    assert any(note.startswith("2 records were measured from probes that") for note in found.notes)


def test_a_probe_that_is_not_there_is_no_finding(spoiled):
    """Nor is one of another digest: a record names the digest of its own."""
    path = probe_of(spoiled)
    shutil.copy2(path, path.with_name("probe.0123456789.json"))
    assert {} == found_by(spoiled)
    path.unlink()
    assert {} == found_by(spoiled)


def test_measuring_refuses_a_probe_that_is_not_what_was_written(spoiled):
    """With the file and the remedy, which works: probed anew, and measured."""
    path, record = probe_of(spoiled), spoiled.record("fake", 1)
    record.unlink()
    reprobed(path, slow, sealed=False)
    words = ("snakemake", *spoiled.words)
    done = spoiled.run(*words, check=False)
    assert 0 != done.returncode
    log = "\n".join(log.read_text() for log in (spoiled.results / "logs" / "measure").rglob("*.log"))
    assert "the probe cannot be read: its seal is " in log
    assert "delete it and run the same command again: the library is probed again" in log
    path.unlink()
    spoiled.run(*words)
    found = spoiled.examine()
    assert [] == found.findings
    assert any(note.startswith("1 record was measured from a probe") for note in found.notes)


# --- samples -----------------------------------------------------------------------------------------


def test_a_damaged_sample_archive_is_named(spoiled):
    """One flipped byte in a stored output."""
    path = probe_of(spoiled).with_suffix(".samples.zip")
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    ((name, what),) = samples_of(spoiled)
    assert spoiled.name(path) == name
    assert what.endswith(".npz is damaged")


def test_an_archive_of_another_library_s_probe_is_named(spoiled):
    """A probe whose content is another cell's; an archive without a sample that its probe has."""
    path, other = probe_of(spoiled), probe_of(spoiled, "fake-too")
    whole = path.read_bytes()
    path.write_bytes(other.read_bytes())
    assert any("/fake-too/cpu" in what for name, what in samples_of(spoiled) if name == spoiled.name(path))
    path.write_bytes(whole)
    reprobed(path, lambda probe: probe["rows"]["Works"].update(sample="Other.npz"))
    archive = path.with_suffix(".samples.zip")
    assert [
        (spoiled.name(archive), "Other.npz is missing, its probe has it"),
        (spoiled.name(archive), "Works.npz is in it, its probe says nothing of it"),
    ] == samples_of(spoiled)


def test_a_probe_that_is_no_probe_is_named_by_the_command(spoiled):
    """What is found in probes is a finding like the others."""
    path = probe_of(spoiled)
    path.write_text("{}")
    assert {(spoiled.name(path), "probe-file")} == found_by(spoiled).keys()


def test_another_archive_of_the_same_names_is_found(spoiled):
    """Whole, with the same samples and inputs: its bytes are not those that the probe kept."""
    path = probe_of(spoiled).with_suffix(".samples.zip")
    with zipfile.ZipFile(path) as bundle:
        held = {name: bundle.read(name) for name in bundle.namelist()}
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in held.items():
            bundle.writestr(zipfile.ZipInfo(name, (2001, 1, 1, 0, 0, 0)), content)
    ((name, what),) = samples_of(spoiled)
    assert spoiled.name(path) == name
    assert re.fullmatch("its sha256 is [0-9a-f]{64}, its probe kept [0-9a-f]{64}", what)
