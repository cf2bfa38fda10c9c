"""Classes of pairs, against made-up outputs whose figures are worked out by hand."""

import io
import math
import zipfile

import numpy as np
import pytest
from PIL import Image

from augmark.analysis import equivalence_summary
from augmark.analysis.classes import Classes, frame_of_lines, read_classes, render
from augmark.analysis.contact import draw_sheet
from augmark.analysis.draws import compare as compare_draws
from augmark.analysis.equivalence import compare_outputs, compare_scenario, effect, judge, untouched
from augmark.analysis.sampled import sampled_probes
from augmark.analysis.samples import Sample, read_scenario
from augmark.errors import AugmarkError
from augmark.worker import samples as kept
from augmark.worker.samples import CHANGE
from tests.analysis.synthetic import make_plan, plan_row

GREY = np.full((40, 50, 3), 100, np.uint8)


def one(output, draws=None, item=None):
    """A sample of one item."""
    names = CHANGE if draws is not None else ()
    return Sample({"item0": output}, draws, names, inputs={"item0": GREY if item is None else item})


def verdict(first, second, item=GREY):
    """Class of two outputs."""
    return judge(one(first, item=item), one(second, item=item))


def test_one_level_is_identical():
    """Brightness +40 and +41: one level, of an effect of 40.5."""
    found = verdict(GREY + np.uint8(40), GREY + np.uint8(41))
    assert found.name == "identical"
    assert found.figures.max_error == 1
    assert found.figures.effect == 40.5
    assert found.figures.psnr_db == pytest.approx(10 * math.log10(255**2))


def test_equal_outputs_are_identical_whatever_the_effect():
    """No error: the PSNR is infinite, also where both do nothing."""
    assert verdict(GREY, GREY.copy()).name == "identical"
    assert math.isinf(verdict(GREY, GREY.copy()).figures.psnr_db)


def test_three_levels_of_forty_are_close():
    """PSNR 38.6 dB, 3 / 41.5 = 7.2 % of the effect."""
    found = verdict(GREY + np.uint8(40), GREY + np.uint8(43))
    assert found.name == "close"
    assert found.figures.psnr_db == pytest.approx(20 * math.log10(255 / 3))
    assert found.figures.share == pytest.approx(3 / 41.5)


def test_a_tenth_of_the_effect_is_the_limit():
    """Errors of 4 on effects of 38 and 42 are exactly a tenth; of 5 on 38 and 43 they are more."""
    assert verdict(GREY + np.uint8(38), GREY + np.uint8(42)).name == "close"
    assert verdict(GREY + np.uint8(38), GREY + np.uint8(43)).name == "different"


def test_a_low_psnr_is_different_however_large_the_effect():
    """Errors of 9 are 29.0 dB, though only 6 % of the effect."""
    assert verdict(GREY + np.uint8(140), GREY + np.uint8(149)).name == "different"


@pytest.mark.parametrize("gentle", [1, 2, 4])
def test_a_no_op_is_not_close_to_a_gentle_transform(gentle):
    """PSNR of 48, 42 and 36 dB, and one of them within a level: the error is twice the pair's effect."""
    found = verdict(GREY + np.uint8(gentle), GREY)
    assert found.figures.psnr_db > 30
    assert found.figures.share == 2
    assert found.name == "different"


def test_rounding_of_a_gentle_transform_is_identical():
    """Every fourth pixel one level off, of an effect of one level."""
    rounded = GREY + np.uint8(1)
    rounded[:, ::4] += np.uint8(1)
    assert verdict(GREY + np.uint8(1), rounded).name == "identical"


def test_a_worst_item_decides():
    """Identical on one item, another thing on the next."""
    items = {"item0": GREY, "item1": GREY}
    first = Sample({"item0": GREY + np.uint8(40), "item1": GREY + np.uint8(40)}, inputs=items)
    second = Sample({"item0": GREY + np.uint8(40), "item1": GREY + np.uint8(80)})
    found = judge(first, second)
    assert found.name == "different"
    assert found.figures.max_error == 40


def test_an_item_that_tells_nothing_does_not_decide():
    """2 levels off of an effect of 3 on a flat item, equal where the effect is 40: the same work."""
    items = {"item0": GREY, "item1": GREY}
    first = Sample({"item0": GREY + np.uint8(2), "item1": GREY + np.uint8(40)}, inputs=items)
    second = Sample({"item0": GREY + np.uint8(4), "item1": GREY + np.uint8(40)})
    assert judge(first, second).name == "identical"


def test_other_shapes_are_different():
    """The shapes stand in the reason."""
    found = verdict(GREY, GREY.swapaxes(0, 1))
    assert (found.name, found.figures) == ("different", None)
    assert found.measured == "outputs of 40x50 against 50x40 pixels"


def test_where_the_shape_changes_doing_nothing_is_taking_the_nearest_pixel():
    """Half the size: pixels 1 and 3 of four. A crop is held against them, and they are no effect."""
    item = np.arange(4, dtype=np.uint8).reshape(1, 4, 1) * 10
    assert untouched(item, (1, 2)).ravel().tolist() == [10, 30]
    assert effect(item, np.array([[[10], [30]]], np.uint8)) == 0
    assert effect(item, np.array([[[0], [10]]], np.uint8)) == 15


def test_figures_of_nine_channels():
    """One channel of nine off by nine: one level on average."""
    item = np.zeros((8, 8, 9), np.uint8)
    other = item.copy()
    other[..., 4] = 9
    found = compare_outputs(item, item, other)
    assert (found.max_error, found.mean_abs_error, found.effect) == (9, 1.0, 0.5)


# --- draws ---------------------------------------------------------------------------------------------


def drawn(low, high, count=256, seed=0):
    """Figures of a transform that adds a uniform level."""
    added = np.random.default_rng(seed).uniform(low, high, count)
    return np.stack([added, np.abs(added)], axis=1)


def test_the_same_distribution_is_the_same_work():
    """Other seeds of one law, and one that rounds each draw down."""
    base = one(GREY + np.uint8(40), drawn(0, 80))
    for other in (drawn(0, 80, seed=1), np.floor(drawn(0, 80, seed=2)), drawn(0, 80, 32, seed=3)):
        found = judge(base, one(GREY + np.uint8(40), other))
        assert found.name == "identical"


def test_another_distribution_is_other_work():
    """Pinned they agree; drawn, one goes half as far. The draws are named in the reason."""
    pinned = GREY + np.uint8(40)
    found = judge(one(pinned, drawn(0, 80)), one(pinned, drawn(0, 40, seed=1)))
    assert found.name == "different"
    assert found.measured.startswith("the same work when pinned, but its draws are not: over 256 seeds")
    assert "mean absolute difference" in found.measured


def test_few_draws_show_gross_differences_only():
    """Sixteen seeds tell apart what never overlaps, and not half of the range."""
    first = one(GREY, drawn(0, 10, 16))
    assert compare_draws(first, one(GREY, drawn(100, 110, 16))).differ
    assert not compare_draws(first, one(GREY, drawn(2, 12, 16, seed=1))).differ


def test_noise_that_is_told_apart_by_any_test_may_be_the_same():
    """Means of 18.0 and 18.4 that hardly spread: 2 % of the effect."""
    first, second = drawn(17.9, 18.1), drawn(18.3, 18.5)
    assert not compare_draws(one(GREY, first), one(GREY, second)).differ


def test_what_cannot_be_pinned_has_its_figures():
    """No outputs: class unpinnable, the effect is that of the draws, the figures are in the reason."""
    samples = [Sample({}, drawn(18, 18), CHANGE), Sample({}, drawn(22, 22), CHANGE)]
    found = judge(*samples)
    assert (found.name, found.effect) == ("unpinnable", 20)
    assert "18.0 [18.0, 18.0] against 22.0 [22.0, 22.0]" in found.measured
    assert judge(Sample({}), Sample({})).measured == "too slow to be drawn over seeds"


# --- the table -----------------------------------------------------------------------------------------


def plan_of(row, libraries=("kornia", "pillow")):
    """A plan of one transform."""
    plan = make_plan({library: [row] for library in libraries})
    plan["scenarios"] = {"image-rgb": {"title": "RGB images", "transforms": [row["transform"]]}}
    return plan


def table(row, outputs):
    """Lines of equivalence.csv of one transform, by pair."""
    plan = plan_of(row, tuple(outputs))
    samples = {library: {row["transform"]: one(output)} for library, output in outputs.items()}
    lines = compare_scenario(plan, "image-rgb", samples)
    return {(line["library_a"], line["library_b"]): line for line in lines}


def row_of(name="Odd", **more):
    """A plan row with what the comparison needs."""
    return plan_row(name, **{"control": False, "random": False, "differences": {}, **more})


def test_words_are_those_of_the_pair_before_those_of_its_libraries():
    """A pair's own words, else those of both; without any the reason says so."""
    outputs = {"kornia": GREY + np.uint8(90), "pillow": GREY + np.uint8(40), "torchvision": GREY}
    words = {"kornia": "adds twice", "torchvision": "does nothing", "pillow/kornia": "ninety is not forty"}
    lines = table(row_of(differences=words), outputs)
    assert lines["kornia", "pillow"]["reason"].startswith("ninety is not forty; off by 50 levels")
    both = lines["kornia", "torchvision"]["reason"]
    assert both.startswith("kornia: adds twice; torchvision: does nothing; off by 90 levels")
    bare = table(row_of(), outputs)["kornia", "pillow"]["reason"]
    assert bare.startswith("no reason is written down yet in transforms.yaml; off by 50 levels")


def test_words_are_not_shown_where_the_outputs_agree():
    """What is written about a library is no reason against a pair that does the same."""
    outputs = {"kornia": GREY + np.uint8(40), "pillow": GREY + np.uint8(40)}
    assert table(row_of(differences={"kornia": "old words"}), outputs)["kornia", "pillow"]["reason"] is None


def test_each_library_is_held_against_the_reference():
    """Invert of 100 is 155: one does it, the other does not."""
    lines = table(row_of("Invert"), {"kornia": 255 - GREY, "pillow": GREY})
    assert lines["kornia", "numpy-reference"]["class"] == "identical"
    assert lines["pillow", "numpy-reference"]["class"] == "different"


def test_csv_and_back(tmp_path):
    """The columns of the paper's table; equal outputs are inf; both orders of a pair are one."""
    lines = table(row_of(), {"kornia": GREY, "pillow": GREY, "torchvision": GREY + np.uint8(40)})
    text = render(frame_of_lines(lines.values()))
    assert text.splitlines()[:2] == [
        "transform,scenario,library_a,library_b,class,psnr_db,mean_abs_error,effect,reason",
        "Odd,image-rgb,kornia,pillow,identical,inf,0.0000,0.0000,",
    ]
    path = tmp_path / "equivalence.csv"
    path.write_text(text)
    classes = Classes.of_frame(read_classes(path))
    assert classes.of("image-rgb", "Odd", "pillow", "kornia") == ("identical", None)
    assert classes.of("image-rgb", "Odd", "torchvision", "kornia")[0] == "different"
    assert classes.of("image-9ch", "Odd", "pillow", "kornia") == (None, None)
    with pytest.raises(AugmarkError, match="cannot be read"):
        read_classes(tmp_path / "none.csv")


def test_summary_counts_names_and_pairs():
    """One name is different between two of three pairs: it counts once."""
    outputs = {"kornia": GREY, "pillow": GREY, "torchvision": GREY + np.uint8(40)}
    text = equivalence_summary.render(
        frame_of_lines(table(row_of(), outputs).values()), plan_of(row_of(), tuple(outputs))
    )
    assert "Of 1 transforms that two libraries offer, 1 is different between at least one pair" in text
    assert "| Kornia, Pillow | 1 | 1 | 0 | 0 | 0 |" in text
    assert "| Kornia, torchvision | 1 | 0 | 0 | 1 | 0 |" in text


def test_the_mode_that_times_the_transform_alone_speaks_for_the_others():
    """Micro alone, the processor before a device; decoding, recipes and controls have none."""
    plan = {"definitions": {}}
    rows = [row_of()]
    for key in (
        "image-rgb/dataloader-memory/kornia/cpu",
        "image-rgb/micro/kornia/cuda",
        "image-rgb/micro/kornia/cpu",
        "image-rgb/decode/pillow/cpu",
        "image-rgb/dataloader-decode/pillow/cpu",
    ):
        plan["definitions"][key] = {"rows": rows}
    plan["definitions"]["image-rgb/micro/control-copy/cpu"] = {"rows": [row_of(control=True)]}
    assert sampled_probes(plan) == {"image-rgb": {"kornia": ("micro", "cpu")}}


# --- what the probe keeps ------------------------------------------------------------------------------


class Adds:
    """A library of one transform, which adds a level: pinned, or drawn from 0 to 9."""

    def __init__(self):
        self.generator = np.random.default_rng(0)

    def seed(self, seed):
        self.generator = np.random.default_rng(seed)

    def build(self, transform, params):
        return lambda item: item + (params["level"] or self.generator.integers(10)) / 255

    def to_numpy(self, output):
        return output


def keep(folder, items, **more):
    """What is kept of one row of a library with floats."""
    row = row_of(random=True, params={"level": None}, output={"shape": "same", "dtype": "native"}, **more)
    job = {"samples_dir": str(folder), "sample_items": 2}
    return kept.keep(Adds(), row, [item / 255 for item in items], items, job)


def archive(folder, path):
    """The files of a folder as the probe packs them."""
    with zipfile.ZipFile(path, "w") as bundle:
        for name in sorted(folder.iterdir()):
            bundle.writestr(name.name, name.read_bytes())


def test_what_is_kept_is_what_is_read(tmp_path):
    """Inputs once, outputs as uint8, and two figures per seed of the item with the most contrast."""
    (tmp_path / "s").mkdir()
    step = GREY.copy()
    step[:20] = 50
    assert keep(tmp_path / "s", [GREY, step, GREY], pinned={"level": 7}) == "Odd.npz"
    archive(tmp_path / "s", tmp_path / "a.zip")
    sample = read_scenario({"kornia": tmp_path / "a.zip"})["kornia"]["Odd"]
    assert [np.array_equal(sample.inputs[f"item{k}"], item) for k, item in enumerate((GREY, step))] == [
        True
    ] * 2
    assert np.array_equal(sample.outputs["item1"], step + np.uint8(7))
    assert sample.draws.shape == (kept.DRAWS, 2)
    expected = [np.random.default_rng(seed).integers(10) for seed in range(kept.DRAWS)]
    assert sample.draws[:, 0].tolist() == expected


def test_of_what_cannot_be_pinned_draws_are_kept(tmp_path):
    """One draw to look at, none to compare."""
    (tmp_path / "s").mkdir()
    keep(tmp_path / "s", [GREY], pinned=None)
    archive(tmp_path / "s", tmp_path / "a.zip")
    sample = read_scenario({"kornia": tmp_path / "a.zip"})["kornia"]["Odd"]
    assert not sample.outputs
    assert list(sample.drawn) == ["item0"]


def test_other_inputs_are_not_compared(tmp_path):
    """Two libraries that were given different pictures, as of modes that crop first, have no class."""
    for name, item in (("a", GREY), ("b", GREY + np.uint8(1))):
        (tmp_path / name).mkdir()
        keep(tmp_path / name, [item], pinned={"level": 7})
        archive(tmp_path / name, tmp_path / f"{name}.zip")
    samples = read_scenario({name: tmp_path / f"{name}.zip" for name in ("a", "b")})
    assert judge(samples["a"]["Odd"], samples["b"]["Odd"]) is None
    assert judge(samples["a"]["Odd"], samples["a"]["Odd"]).name == "identical"


def test_a_damaged_archive_is_named_and_a_missing_one_left_out(tmp_path):
    """Records may come without the probes that they were made after; half an archive is a fault."""
    assert {} == read_scenario({"a": tmp_path / "none.zip"})
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(AugmarkError, match="cannot be read as samples"):
        read_scenario({"a": tmp_path / "half.zip"})


# --- contact sheets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [3, 9])
def test_a_sheet_is_small_and_the_same_each_time(tmp_path, channels):
    """The worst that can be: noise, which no PNG makes smaller."""
    noise = np.random.default_rng(1).integers(0, 256, (375, 500, channels), dtype=np.uint8)
    libraries = ("albumentationsx", "torchvision", "kornia", "pillow")[: 4 if channels == 3 else 3]
    plan = plan_of(row_of(), libraries)
    samples = {library: one(noise[::-1], item=noise) for library in libraries}
    lines = compare_scenario(plan, "image-rgb", {name: {"Odd": sample} for name, sample in samples.items()})
    frame = frame_of_lines(lines)
    contents = []
    for name in ("a.png", "b.png"):
        draw_sheet(plan, "image-rgb", "Odd", samples, frame, tmp_path / name)
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    assert len(contents[0]) < 300_000
    assert Image.open(io.BytesIO(contents[0])).format == "PNG"
