"""What a loader needs, in figures worked out by hand."""

import pytest

from augmark.errors import AugmarkError
from augmark.worker.needs import Available, Needs, available, check_needs, loader_needs, sample_shape
from tests.loader.conftest import row

MIB = 1 << 20
INDEX = {"total_bytes": 1000 * MIB, "shapes": [[375, 500, 3]] * 4}
NINE = {"total_bytes": 3000 * MIB, "shapes": [[375, 500, 9]] * 4}
ENOUGH = Available(1 << 50, 1 << 50, 1 << 20)


def planned(transform="Rotate", shape="same", **loader):
    """A row as the definition has it."""
    made = row(transform, **loader)
    return {**made, "id": transform, "planned": "run", "output": {"shape": shape, "dtype": "native"}}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("same", (3, 224, 224)),
        ("quarter-turns", (3, 224, 224)),
        ([512, 512], (3, 512, 512)),
        ("pad-10", (3, 244, 244)),
        ("longest-512", (3, 513, 512)),
        ("shortest-480", (3, 481, 480)),
    ],
)
def test_a_sample_is_what_the_transform_makes_of_the_crop(shape, expected):
    """Of the sizes that the rule allows, the largest."""
    found = sample_shape(planned(shape=shape), 3)
    assert expected[0] == found[0]
    # longest and shortest allow a pixel either way: what matters is that the larger side is within one of it.
    assert all(abs(wanted - got) <= 1 for wanted, got in zip(expected[1:], found[1:], strict=True))


def test_the_paper_s_rgb_loader():
    """256 samples of 3x224x224 float32 are 154,140,672 B; 8 workers x 2 ahead + 1 make 17 of them."""
    batch = 256 * 3 * 224 * 224 * 4
    assert 154_140_672 == batch
    need = loader_needs(planned(batch_size=256, workers=8), INDEX, "dataloader-memory")
    assert 2_620_391_424 == need.shared_memory_bytes
    # 768 MiB, the items, 8 workers of 128 MiB with the samples of a batch each, and the 17 batches.
    assert (768 + 1000 + 8 * 128) * MIB + 8 * batch + 17 * batch == need.memory_bytes
    # 32 before, 2 of the results' queue, 4 per worker, one per batch.
    assert 32 + 2 + 32 + 17 == need.file_descriptors


def test_files_are_not_held_in_memory():
    """Where files are decoded the items' file is not touched."""
    loader = planned(batch_size=4, workers=2)
    memory = loader_needs(loader, INDEX, "dataloader-memory").memory_bytes
    assert 1000 * MIB == memory - loader_needs(loader, INDEX, "dataloader-decode").memory_bytes


def test_nine_channels_take_three_times_the_shared_memory():
    """The reason for the paper's smaller batches of nine channels."""
    three, nine = (loader_needs(planned(), index, "dataloader-memory") for index in (INDEX, NINE))
    assert 3 * three.shared_memory_bytes == nine.shared_memory_bytes


def test_without_workers_nothing_is_shared():
    """The batch is made where it is used: its samples, itself, and the one before."""
    need = loader_needs(planned(workers=0, batch_size=1), INDEX, "dataloader-decode")
    assert Needs(768 * MIB + 2 * 3 * 224 * 224 * 4, 0, 32) == need


def test_a_spawned_worker_has_its_own_library():
    """It imports it again."""
    fork, spawn = (
        loader_needs(planned(start_method=method), INDEX, "dataloader-decode").memory_bytes
        for method in ("fork", "spawn")
    )
    assert 2 * 384 * MIB == spawn - fork


@pytest.mark.parametrize(
    ("have", "words"),
    [
        (Available(1 << 50, 64 * MIB, 1 << 20), ("shared memory", "67,108,864 B", "Resize", "--shm-size")),
        (Available(2 << 30, 1 << 50, 1 << 20), ("of memory", "2,147,483,648 B", "Resize", "items=")),
        (Available(1 << 50, 1 << 50, 64), ("open files", " 64 ", "Rotate", "ulimit -n 83")),
    ],
)
def test_a_refusal_names_what_is_short(have, words):
    """What, how much there is, the row that needs most, and a remedy."""
    rows = [planned(batch_size=256, workers=8), planned("Resize", [512, 512], batch_size=256, workers=8)]
    with pytest.raises(AugmarkError) as caught:
        check_needs(rows, INDEX, "dataloader-memory", None, have)
    for word in words:
        assert word in str(caught.value)
    assert "--config batch_size=" in str(caught.value)
    assert "workers=" in str(caught.value)


def test_the_named_sizes_fit():
    """64 MiB of shared memory: 17 batches of 4 samples of 3x512x512 are 213,909,504 B, of 1 53,477,376 B."""
    with pytest.raises(AugmarkError, match=r"batch_size=1 workers=8$"):
        check_needs(
            [planned("Resize", [512, 512], batch_size=256, workers=8)],
            INDEX,
            "dataloader-memory",
            None,
            Available(1 << 50, 64 * MIB, 1 << 20),
        )


def test_what_is_enough_or_unknown_is_no_refusal():
    """Also rows that are not run need nothing."""
    check_needs([planned()], INDEX, "dataloader-memory", None, ENOUGH)
    check_needs([planned()], INDEX, "dataloader-memory", None, Available(None, None, None))
    excluded = {**planned(batch_size=1 << 30), "planned": "excluded", "loader": None}
    check_needs([excluded], INDEX, "dataloader-memory", 1 << 30, ENOUGH)


def test_this_machine_says_what_it_has():
    """Memory is the caller's limit; what the system does not say is None."""
    have = available(123)
    assert 123 == have.memory_bytes
    assert have.file_descriptors is None or have.file_descriptors > 0
    assert have.shared_memory_bytes is None or have.shared_memory_bytes > 0
