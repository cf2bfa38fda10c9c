"""The plan of the other modes: their items, rows and settings, and what stales what."""

import copy
import dataclasses
import shutil

import pytest

from augmark import codehash, planning
from augmark.config.load import load
from augmark.modes import MODES
from tests.core.kit import CONTROLS, LIBRARIES, ROOT, digests, moved, plan_of, rows_of

WHOLE = load(ROOT, {"depth": "max"})
LOADERS = ("dataloader-memory", "dataloader-decode")
CHUNKED = {"Sharpen", "Brightness", "Contrast", "Grayscale", "AutoContrast", "JpegCompression"}


@pytest.fixture(scope="module")
def whole():
    """Everything that is offered, on a machine without a device."""
    return plan_of(WHOLE)


def modes_planned(plan):
    return {(cell["scenario"], cell["mode"]) for cell in plan.cells()}


def changed(**parts):
    """The whole configuration with some of its parts changed by a function of a copy."""
    for name, change in parts.items():
        value = copy.deepcopy(getattr(WHOLE, name))
        change(value)
        parts[name] = value
    return dataclasses.replace(WHOLE, **parts)


# --- items -------------------------------------------------------------------------------------------


def test_modes_that_take_as_many_items_share_one_set():
    """Depth min times 48 items in every mode; nine channels are other items."""
    plan = plan_of({"depth": "min"})
    sets = {place: plan.item_set(*place) for place in modes_planned(plan)}
    assert {48} == {each["items"] for each in sets.values()}
    assert {False} == {each["exact"] for each in sets.values()}
    of = {name: {each["digest"] for (s, _), each in sets.items() if s == name} for name, _ in sets}
    assert (1, 1) == (len(of["image-rgb"]), len(of["image-9ch"]))
    assert of["image-rgb"] != of["image-9ch"]


def test_a_mode_that_takes_more_has_a_set_of_its_own(whole):
    """Depth max times a transform on 128 items and a loader on 10,000."""
    counts = {mode: whole.item_set("image-rgb", mode)["items"] for mode in ("micro", "decode", *LOADERS)}
    assert {"micro": 128, "decode": 128} | dict.fromkeys(LOADERS, 10000) == counts
    paths = {mode: whole.items_index("image-rgb", mode) for mode in counts}
    assert paths["micro"] == paths["decode"]
    assert paths["dataloader-memory"] == paths["dataloader-decode"]
    assert paths["micro"] != paths["dataloader-memory"]
    for place, definition in whole.content["definitions"].items():
        scenario, mode, *_ = place.split("/")
        assert whole.item_set(scenario, mode)["digest"] == definition["items_digest"]


def test_items_that_are_asked_for_are_meant_exactly():
    """One number on the command line holds in every mode; a depth's is cut to what there is."""
    plan = plan_of({"depth": "max", "items": 8})
    sets = [plan.item_set(*place) for place in modes_planned(plan)]
    assert {(8, True)} == {(each["items"], each["exact"]) for each in sets}


# --- rows --------------------------------------------------------------------------------------------


def test_decoding_has_one_row_in_each_library(whole):
    """Decode is a row of that mode alone, whatever is named; of the controls, one decodes again."""
    for plan in (whole, plan_of({"depth": "min"}), plan_of({"transforms": "Rotate"})):
        libraries = {key.split("/")[2] for key in plan.content["definitions"] if "/decode/" in key}
        assert {*LIBRARIES, "control-aa"} == libraries
        for library in libraries:
            assert ["Decode"] == list(rows_of(plan, f"image-rgb/decode/{library}"))
    assert {"decode"} == {key[0].split("/")[1] for key in digests(whole) if key[1] == "Decode"}


def test_nine_channels_are_the_42_transforms_of_three_libraries(whole):
    """Pillow has none; what a library lacks of them says why."""
    places = {key.split("/")[2] for key in whole.content["definitions"] if key.startswith("image-9ch/micro")}
    assert {"albumentationsx", "torchvision", "kornia", *CONTROLS} == places
    for mode in ("micro", *LOADERS):
        for library, offered in [("albumentationsx", 42), ("torchvision", 28), ("kornia", 42)]:
            rows = rows_of(whole, f"image-9ch/{mode}/{library}").values()
            assert 42 == len(rows)
            assert offered == sum(row["planned"] == "run" for row in rows)
            assert all(row["reason"] for row in rows if row["planned"] != "run")


def test_a_row_in_chunks_says_why(whole):
    """torchvision's operations that take three channels; none of them is chunked on RGB images."""
    rows = rows_of(whole, "image-9ch/micro/torchvision")
    assert CHUNKED == {name for name, row in rows.items() if row["chunked"] is not None}
    assert "adjust_brightness takes 1 or 3 channels" == rows["Brightness"]["chunked"]
    assert CHUNKED == {
        name
        for name, row in rows_of(whole, "image-9ch/dataloader-memory/torchvision").items()
        if row["chunked"]
    }
    assert {None} == {row["chunked"] for row in rows_of(whole, "image-rgb/micro/torchvision").values()}


def test_other_words_for_chunks_stale_nothing_and_other_work_does(whole):
    """The reason is for readers; whether there are chunks is what is timed."""

    def reword(libraries):
        libraries["torchvision"]["scenarios"]["image-9ch"]["chunked"]["Brightness"] = "three channels only"

    def whole_again(libraries):
        del libraries["torchvision"]["scenarios"]["image-9ch"]["chunked"]["Brightness"]

    assert set() == moved(whole, plan_of(changed(libraries=reword)))
    now = moved(whole, plan_of(changed(libraries=whole_again)))
    now = {each for each in now if "/control-aa/" not in each[0]}  # torchvision again, in some of its rows
    places = {f"image-9ch/{mode}/torchvision/cpu" for mode in ("micro", *LOADERS)}
    assert {(place, "Brightness") for place in places} == now


def test_a_scenario_may_have_its_own_parameters_and_pins(whole):
    """Nine channels are shuffled as nine, and their grey is the mean of nine."""
    rgb, nine = (rows_of(whole, f"{scenario}/micro/kornia") for scenario in ("image-rgb", "image-9ch"))
    assert {"order": [2, 0, 1]} == rgb["ChannelShuffle"]["pinned"]
    assert list(range(9)) == sorted(nine["ChannelShuffle"]["pinned"]["order"])
    assert ("luma", 3) == (rgb["Grayscale"]["params"]["weights"], rgb["Grayscale"]["params"]["channels"])
    assert ("equal", 9) == (nine["Grayscale"]["params"]["weights"], nine["Grayscale"]["params"]["channels"])
    assert rgb["Rotate"]["params"] == nine["Rotate"]["params"]


def test_a_recipe_may_have_its_own_parameters(whole):
    """What a transform is told behind the crop changes the rows of DataLoader modes alone."""
    after = plan_of(
        changed(transforms=lambda content: content["Pad"].update(in_recipe={"padding_pixels": 4}))
    )
    assert 10 == rows_of(after, "image-rgb/micro/pillow")["Pad"]["params"]["padding_pixels"]
    row = rows_of(after, "image-rgb/dataloader-memory/pillow")["Pad"]
    assert {"padding_pixels": 4, "fill_level": 0} == row["params"]
    now = moved(whole, after)
    assert {"Pad"} == {name for _, name in now}
    assert set(LOADERS) == {place.split("/")[1] for place, _ in now}


def test_rows_that_cut_themselves_need_no_crop(whole):
    """The three crops of the paper's sets."""
    crops = {"RandomCrop224", "RandomResizedCrop", "CenterCrop224"}
    for scenario in ("image-rgb", "image-9ch"):
        rows = rows_of(whole, f"{scenario}/dataloader-memory/kornia")
        assert crops == {name for name, row in rows.items() if row["crops"]}


def test_a_depth_that_names_no_transform_of_a_scenario_has_no_cell_of_it():
    """Depth pro sweeps RGB images: no cell is made for nine channels, not even of the controls."""
    plan = plan_of({"depth": "pro"})
    assert {"image-rgb"} == {cell["scenario"] for cell in plan.cells()}
    assert {"image-rgb"} == {scenario for scenario, _ in modes_planned(plan)}
    assert all(definition["rows"] for definition in plan.content["definitions"].values())


# --- loader settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "rgb", "nine"),
    [
        ({"depth": "max"}, (256, 8), (64, 8)),  # the scenario's
        ({"depth": "min"}, (4, 2), (4, 2)),  # the depth's
        ({"depth": "min", "batch_size": 16}, (16, 2), (16, 2)),  # the user's
        ({"depth": "max", "workers": 0}, (256, 0), (64, 0)),
        ({"depth": "min", "batch_size": 5, "workers": 3}, (5, 3), (5, 3)),
    ],
)
def test_batches_and_workers_are_the_nearest_that_are_given(given, rgb, nine):
    """config.yaml or the command line before the depth, the depth before the scenario."""
    plan = plan_of(given)
    for scenario, expected in (("image-rgb", rgb), ("image-9ch", nine)):
        for mode in LOADERS:
            loader = rows_of(plan, f"{scenario}/{mode}/kornia")["Rotate"]["loader"]
            assert expected == (loader["batch_size"], loader["workers"])
    assert rows_of(plan, "image-rgb/micro/kornia")["Rotate"]["loader"] is None
    assert rows_of(plan, "image-rgb/decode/kornia")["Decode"]["loader"] is None


def test_a_loader_has_the_policy_s_settings(whole):
    """Prefetch, start of workers, thread policy and time limit; nothing to copy to."""
    loader = rows_of(whole, "image-rgb/dataloader-memory/pillow")["Rotate"]["loader"]
    assert {
        "batch_size": 256,
        "workers": 8,
        "policy": "pipeline-single-worker",
        "prefetch_factor": 2,
        "start_method": "fork",
        "timeout_seconds": 120,
        "copy_to": None,
    } == loader
    timing = whole.definition("image-9ch", "dataloader-memory", "kornia", "cpu")["timing"]
    assert (3, 0) == (timing["values"], timing["min_value_seconds"])  # epochs, however short
    assert [0.485, 0.456, 0.406] * 3 == timing["mean"]
    assert [0.229, 0.224, 0.225] * 3 == timing["std"]
    assert {"height_pixels": 224, "width_pixels": 224, "position_pixels": None} == timing["crop"]
    assert ["as-decoded", "mirrored", "half-turn"] == timing["views"]


def test_a_recipe_alone_has_the_probe_of_its_transform():
    """The transform alone tells whether it is the same work: tried beside a loader, and not measured."""
    plan = plan_of(load(ROOT, {"scenarios": "image-rgb", "modes": "dataloader-memory"}))
    assert {("image-rgb", "dataloader-memory")} == modes_planned(plan)
    probed = {tuple(key.split("/")[1:3]) for key in plan.content["definitions"]}
    libraries = ("albumentationsx", "torchvision", "kornia", "pillow")
    expected = {(mode, name) for mode in ("micro", "dataloader-memory") for name in libraries}
    assert {*expected, ("dataloader-memory", "control-aa")} == probed


# --- machines ----------------------------------------------------------------------------------------


def on(machine, *names):
    """The campaign paper, with its machines replaced, planned for one of them."""
    settings = load(ROOT, {"campaign": "paper"})
    paper = {
        **settings.campaigns["paper"],
        "machines": list(names) or settings.campaigns["paper"]["machines"],
    }
    settings = dataclasses.replace(settings, campaigns={**settings.campaigns, "paper": paper})
    return plan_of(settings, machine=machine, machine_kind=machine)


def test_copying_is_planned_where_there_is_a_device_to_copy_to(whole):
    """Not on this machine, nor on the paper's CPU machine; on the one with a device nothing else."""
    assert "dataloader-copy" not in {mode for _, mode in modes_planned(whole)}
    cpu, gpu = on("c4-standard-16"), on("g2-standard-16")
    assert {"micro", "decode", *LOADERS} == {mode for _, mode in modes_planned(cpu)}
    assert {("image-rgb", "dataloader-copy"), ("image-9ch", "dataloader-copy")} == modes_planned(gpu)
    rows = rows_of(gpu, "image-9ch/dataloader-copy/kornia").values()
    assert {"cuda"} == {row["loader"]["copy_to"] for row in rows if row["planned"] == "run"}


def test_a_machine_that_is_narrowed_to_nothing_measures_all_modes():
    """Without the key `measures`, the device adds a mode and takes none away."""
    plan = on("macbook-m4", "macbook-m4")
    assert set(MODES) == {mode for scenario, mode in modes_planned(plan) if scenario == "image-rgb"}
    assert "mps" == rows_of(plan, "image-rgb/dataloader-copy/pillow")["Rotate"]["loader"]["copy_to"]
    assert rows_of(plan, "image-rgb/dataloader-decode/pillow")["Rotate"]["loader"]["copy_to"] is None


# --- what stales what --------------------------------------------------------------------------------


def run_rows(plan, mode, library=None):
    """The rows of a mode (and library) that are run, as `moved` names them."""
    return {
        (place, row["id"])
        for place, definition in plan.content["definitions"].items()
        if mode == place.split("/")[1] and library in (None, place.split("/")[2])
        for row in definition["rows"]
        if row["planned"] == "run"
    }


def test_another_time_limit_stales_nothing(whole):
    """When a batch is given up as hanging does not change what was measured."""
    after = plan_of(changed(policy=lambda content: content["loader"].update(timeout_seconds=240)))
    assert set() == moved(whole, after)
    assert whole.record_paths() == after.record_paths()
    assert 240 == rows_of(after, "image-rgb/dataloader-memory/pillow")["Rotate"]["loader"]["timeout_seconds"]


@pytest.mark.parametrize("change", [{"batch_size": 128}, {"workers": 4}])
def test_other_batches_or_workers_stale_loader_rows_alone(whole, change):
    """All of them, and no row of a transform alone or of decoding."""
    after = plan_of({"depth": "max", **change})
    assert run_rows(whole, LOADERS[0]) | run_rows(whole, LOADERS[1]) == moved(whole, after)


def test_threads_stale_the_modes_that_take_them(whole):
    """Loader processes have those of the thread policy."""
    after = plan_of({"depth": "max", "threads": 2})
    assert run_rows(whole, "micro") | run_rows(whole, "decode") == moved(whole, after)


def test_a_decoder_s_tolerance_stales_decoding_alone(whole):
    """What is another picture is part of what `ok` means there."""
    after = plan_of(changed(policy=lambda content: content["decode"].update(tolerance_mean_levels=1.0)))
    assert run_rows(whole, "decode") == moved(whole, after)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package whose code is what plans depend on."""
    shutil.copytree(ROOT / "workflow" / "augmark", tmp_path / "augmark")
    monkeypatch.setattr(codehash, "PACKAGE", tmp_path / "augmark")
    return tmp_path / "augmark"


@pytest.mark.parametrize(
    ("name", "modes", "library"),
    [
        ("libraries/kornia_recipe.py", LOADERS, "kornia"),
        ("libraries/kornia_decoder.py", ("decode", *LOADERS), "kornia"),
        ("libraries/kornia.py", ("micro", *LOADERS), "kornia"),
        ("worker/pipeline.py", LOADERS, None),
        ("worker/loader.py", LOADERS, None),
        ("worker/micro.py", ("micro", "decode"), None),
        ("worker/timing.py", ("micro", "decode", *LOADERS), None),
        ("libraries/kornia_regimes.py", (), "kornia"),
        ("analysis/tables.py", (), None),
    ],
)
def test_an_edit_stales_the_rows_that_run_it(package, name, modes, library):
    """A recipe is no part of a transform alone, nor a transform of a decoder; one library's is no other's."""
    before = plan_of(WHOLE, row_code=planning._row_code(WHOLE))
    path = package / name
    path.write_text(path.read_text() + "\n\nUNUSED = 1\n")
    now = moved(before, plan_of(WHOLE, row_code=planning._row_code(WHOLE)))
    assert set().union(*(run_rows(before, mode, library) for mode in modes)) == now
