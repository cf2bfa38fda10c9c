"""Generated documentation: the parts between markers, and that none is stale."""

import subprocess
import sys

import pytest

from augmark import pages
from augmark.config.load import load
from augmark.errors import AugmarkError
from tests.config.tree import ROOT

DOT = """digraph snakemake_dag {
    0[label = "collect", color = "0.1 0.6 0.85"];
    1[label = "measure", color = "0.2 0.6 0.85"];
    2[label = "probe"];
    1 -> 0
    2 -> 1
}
"""
MERMAID = """---
title: DAG
---
flowchart TB
	id0[collect]
	id1[measure]
	id2[probe]
	style id0 fill:#57D9B9,stroke-width:2px,color:#333333
	id1 --> id0
	id2 --> id1
"""
GRAPH = """<!-- generated: rule-graph -->
```mermaid
flowchart TB
    measure --> collect
    probe --> measure
```
<!-- end: rule-graph -->
"""


def test_shipped_pages_are_fresh():
    """The committed pages are what the configuration makes."""
    done = subprocess.run(
        [sys.executable, "scripts/generate_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_stale_page_is_named(tree):
    """A change of the configuration makes the pages that show it stale, and no other."""
    for page in pages.PAGES:
        tree.write(page, (ROOT / page).read_text(encoding="utf-8"))
    assert pages.stale(tree.root, pages.generate(tree.root, load(tree.root))) == []
    with tree.edit("libraries") as libraries:
        shear = {"transforms": ["Shear"], "reason": "it leans", "issue": "kornia#4415"}
        libraries["kornia"]["exclusions"] = [shear]
    fresh = pages.generate(tree.root, load(tree.root))
    assert pages.stale(tree.root, fresh) == ["docs/limitations.md"]
    assert "| Kornia | Shear | all | all | all | it leans (kornia#4415) |" in fresh["docs/limitations.md"]


def test_every_transform_of_the_set_has_its_line():
    """58 lines and 42, with who offers each; a gap is a dash."""
    rgb, nine, alone = pages.transform_sets(load(ROOT)).split("### ")[1:]
    assert rgb.count("\n| ") == 58 + 2
    assert nine.count("\n| ") == 42 + 2
    line = next(line for line in rgb.splitlines() if line.startswith("| Transpose "))
    assert line.endswith("| none | yes | – | – | yes |")
    assert "| `decode` | Decode | Decodes a JPEG file" in alone


def test_nine_channels_say_where_they_are_chunks():
    """Three libraries; a row of torchvision in chunks, one that takes nine, one that it lacks."""
    nine = pages.transform_sets(load(ROOT)).split("### ")[2]
    assert "Offered: AlbumentationsX 42, torchvision 28, Kornia 42." in nine
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in nine.splitlines()}
    assert lines["transform"].endswith("| AlbumentationsX | torchvision | Kornia |")
    assert lines["Brightness"].endswith("| yes | in chunks | yes |")
    assert lines["Rotate"].endswith("| yes | yes | yes |")
    assert lines["MotionBlur"].endswith("| yes | – | yes |")
    assert "`weights` equal, `channels` 9" in lines["Grayscale"]  # its own in this scenario


def test_what_a_library_is_not_asked_for_is_listed(tree):
    """Whole scenarios, and single modes of one."""
    assert "| Pillow | `image-9ch` | all |" in pages.not_asked(load(ROOT))
    with tree.edit("libraries") as libraries:
        libraries["kornia"]["scenarios"]["image-rgb"]["modes"].remove("decode")
    assert "| Kornia | `image-rgb` | `decode` |" in pages.not_asked(load(tree.root))


def test_reasons_of_one_scenario_stand_in_its_lines(tree):
    """A gap, a difference and a chunk that hold for nine channels alone say so."""
    with tree.edit("libraries") as libraries:
        offer = libraries["kornia"]["scenarios"]["image-9ch"]
        offer["transforms"].remove("Rotate")
        offer["unsupported"] = {"Rotate": "turns three channels"}
    settings = load(tree.root)
    assert "| Kornia | `image-9ch` | Rotate | turns three channels |" in pages.gaps(settings)
    assert "| torchvision | `image-rgb`, `image-9ch` | RandomJigsaw | no operation" in pages.gaps(settings)
    assert "| Contrast | `image-9ch` | Kornia | one mean of all nine" in pages.differences(settings)
    assert "| Rain | all | Kornia | sets the pixels" in pages.differences(settings)
    assert "| torchvision | `image-9ch` | Sharpen | adjust_sharpness takes" in pages.chunked(settings)


def test_depths_show_their_loaders_and_sweeps():
    """What is null is the scenario's; a sweep stands with its values, libraries and modes."""
    text = pages.depth_list(load(ROOT))
    assert "| `max` | all | 10000 | the scenario's | the scenario's | 3 |" in text
    assert "| `min` | image-rgb: 3; image-9ch: 3 | 48 | 4 | 2 | 2 |" in text
    assert "| `pro` | compile | true | `kornia`, `torchvision` | `micro` |" in text
    assert "| `pro` | threads | up-to-cpus | all | `micro` |" in text


def test_section_is_replaced_and_nothing_else():
    """The text between the markers changes, the rest stays."""
    text = "a\n<!-- generated: x -->\nold\n<!-- end: x -->\nb\n"
    assert pages.replace_section(text, "x", "new\n") == "a\n<!-- generated: x -->\nnew\n<!-- end: x -->\nb\n"


@pytest.mark.parametrize(
    "text",
    [
        "no markers",
        "<!-- end: x --><!-- generated: x -->",
        "<!-- generated: x -->",
        "<!-- generated: x --><!-- generated: x --><!-- end: x -->",
    ],
)
def test_section_without_its_place_is_an_error(text):
    """The markers are asked for by name."""
    with pytest.raises(AugmarkError, match="the generated part x"):
        pages.replace_section(text, "x", "new", where="docs/page.md")


@pytest.mark.parametrize("graph", [DOT, MERMAID])
def test_rule_graph_is_the_same_from_either_form(tmp_path, graph):
    """Colours and the order of nodes are dropped: they differ between two runs of Snakemake."""
    (tmp_path / "docs").mkdir()
    page = "<!-- generated: rule-graph -->\n<!-- end: rule-graph -->\n"
    (tmp_path / "docs/architecture.md").write_text(page)
    assert pages.with_rule_graph(tmp_path, graph) == {"docs/architecture.md": GRAPH}


def test_pipes_in_a_cell_do_not_break_the_table():
    """A cell is escaped."""
    assert pages.table(["a"], [["x|y"]]) == "| a |\n| --- |\n| x\\|y |"
