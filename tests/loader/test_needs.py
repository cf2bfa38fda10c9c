"""What a loader needs, in figures worked out by hand."""

import psutil
import pytest
import yaml

from augmark.errors import AugmarkError
from augmark.worker.needs import (
    Available,
    Needs,
    available,
    check_needs,
    epoch_items,
    loader_needs,
    sample_shape,
)
from tests.conftest import ROOT
from tests.loader.conftest import row

MIB = 1 << 20
ENOUGH = Available(1 << 50, 1 << 50, 1 << 20, 1 << 50)


def index(items=10_000, channels=3, mib=1000):
    """Of prepared items, all of them JPEG files but one."""
    files = [{"format": "JPEG"}] * (items - 1) + [{"format": "PNG"}]
    return {"total_bytes": mib * MIB, "shapes": [[375, 500, channels]] * items, "files": files}


INDEX, NINE = index(), index(channels=9, mib=3000)


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
    three, nine = (loader_needs(planned(), about, "dataloader-memory") for about in (INDEX, NINE))
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


def test_an_epoch_takes_the_files_that_every_decoder_reads():
    """Or all items, where nothing is decoded."""
    assert (10_000, 9_999) == tuple(
        epoch_items(INDEX, mode) for mode in ("dataloader-memory", "dataloader-decode")
    )


def test_few_items_need_few_batches():
    """256 items: batches of 16 in place of 256, all 16 of them of 3x513x512 float32, 50,429,952 B each."""
    batch = 16 * 3 * 513 * 512 * 4
    need = loader_needs(
        planned("LongestMaxSize", "longest-512", batch_size=256, workers=8), index(256), "dataloader-memory"
    )
    assert 16 * batch == need.shared_memory_bytes == 806_879_232
    assert (768 + 1000 + 8 * 128) * MIB + (16 + 8) * batch == need.memory_bytes
    # 3 items: batches of one, of which there are no more than three; eight workers may answer at once.
    few = loader_needs(planned(batch_size=256, workers=8), index(3), "dataloader-memory")
    assert 3 * 3 * 224 * 224 * 4 == few.shared_memory_bytes
    assert 32 + 2 + 32 + 8 == few.file_descriptors


def test_the_plan_s_largest_row_fits_where_items_are_few():
    """17 batches of 256 samples of 3x513x512 were 13.7 GB, and refused by 8 GiB; 16 of 16 are 0.8 GB."""
    row = planned("LongestMaxSize", "longest-512", batch_size=256, workers=8)
    have = Available(1 << 50, 8 << 30, 1 << 20, 1 << 50)
    assert {} == check_needs([row], index(256), "dataloader-memory", None, have)
    with pytest.raises(AugmarkError):
        check_needs([row], INDEX, "dataloader-memory", None, have)


def test_nine_channels_at_depth_min_fit_into_a_container():
    """Two workers, two ahead, one in hand: 5 batches of 4 samples of 9x224x224 float32, 36,126,720 B."""
    depth = yaml.safe_load((ROOT / "config" / "depths" / "min.yaml").read_text(encoding="utf-8"))["loader"]
    sizes = {name: depth[name] for name in ("batch_size", "workers")}
    need = loader_needs(planned(**sizes), index(depth["items"], 9), "dataloader-memory")
    assert 36_126_720 == 5 * 4 * 9 * 224 * 224 * 4 == need.shared_memory_bytes
    assert need.shared_memory_bytes < 64_000_000


@pytest.mark.parametrize(
    ("have", "words"),
    [
        (
            Available(1 << 50, 3 << 30, 1 << 20),
            ("13,690,208,256", "shared memory, /dev/shm has free 3,221,225,472 B", "13 GiB", "--shm-size"),
        ),
        (
            Available(7 << 30, 1 << 50, 1 << 20),
            ("of memory, this machine allows 7,516,192,768 B", "a machine with more memory"),
        ),
        (
            Available(1 << 50, 1 << 50, 1 << 20, 7 << 30),
            ("of memory, free now are 7,516,192,768 B", "end what else takes memory"),
        ),
    ],
)
def test_a_large_row_alone_is_left_out(have, words):
    """What it needs, what there is, the remedy; Rotate takes 6,781,140,992 B in all and stays."""
    rows = [planned(batch_size=256, workers=8), planned("Resize", [512, 512], batch_size=256, workers=8)]
    found = check_needs(rows, INDEX, "dataloader-memory", None, have)
    assert ["Resize"] == list(found)
    for word in words:
        assert word in found["Resize"]
    assert "--config batch_size=" in found["Resize"]


def test_a_job_of_which_nothing_fits_is_refused():
    """The row that needs most, and sizes that fit: 17 batches of one 3x512x512 are 53,477,376 B."""
    rows = [planned(batch_size=256, workers=8), planned("Resize", [512, 512], batch_size=256, workers=8)]
    have = Available(1 << 50, 64 * MIB, 1 << 20)
    with pytest.raises(AugmarkError, match=r"no DataLoader row fits.*Resize[\s\S]*batch_size=1 workers=8$"):
        check_needs(rows, INDEX, "dataloader-memory", None, have)
    with pytest.raises(AugmarkError, match=r" 83 of open files, a process may have 64 .*[\s\S]*ulimit -n 83"):
        check_needs(rows, INDEX, "dataloader-memory", None, Available(1 << 50, 1 << 50, 64))


@pytest.mark.parametrize(
    ("mode", "have", "items_help"),
    [
        (
            "dataloader-memory",
            2600 * MIB,
            True,
        ),  # 768 + 1000 + 1024 MiB and batches of 1, without the items 1792
        ("dataloader-memory", 1700 * MIB, False),
        ("dataloader-decode", 1700 * MIB, False),
    ],
)
def test_fewer_items_are_a_remedy_where_it_is_they_that_do_not_fit(mode, have, items_help):
    """Files are not held in memory, and what workers take is the same for any number of items."""
    with pytest.raises(AugmarkError) as caught:
        check_needs([planned(batch_size=1, workers=8)], INDEX, mode, None, Available(have, None, None))
    assert items_help == ("--config items=" in caught.value.remedy)


@pytest.mark.parametrize(
    ("setting", "remedy"),
    [
        ({}, r"--config batch_size=64 workers=8$"),
        ({"workers": 8}, r"--config batch_size=64$"),
        ({"batch_size": 256}, r"--config workers=1$"),
    ],
)
def test_what_a_condition_sets_is_no_remedy(setting, remedy):
    """1 GiB: 17 batches of 64 are 655,097,856 B; of 256 each, 3 are 462,422,016 B and 5 are 770,703,360 B."""
    row = {**planned(batch_size=256, workers=8), "setting": setting}
    have = Available(None, (1 << 30) if "batch_size" not in setting else 500 * MIB, None)
    with pytest.raises(AugmarkError, match=remedy):
        check_needs([row], INDEX, "dataloader-memory", None, have)


def test_what_is_enough_or_unknown_is_no_refusal():
    """Also rows that are not run need nothing."""
    excluded = {**planned(batch_size=1 << 30), "planned": "excluded", "loader": None}
    for rows, have in (
        ([planned()], ENOUGH),
        ([planned()], Available(None, None, None)),
        ([excluded], ENOUGH),
    ):
        assert {} == check_needs(rows, INDEX, "dataloader-memory", None, have)


def test_this_machine_says_what_it_has():
    """Memory is the caller's limit; what the system does not say is None."""
    have = available(123)
    assert 123 == have.memory_bytes
    assert 0 < have.free_bytes <= psutil.virtual_memory().total
    assert have.file_descriptors is None or have.file_descriptors > 0
    assert have.shared_memory_bytes is None or have.shared_memory_bytes > 0
