"""Examples of stanzas that contradict each other or what lies on disk."""

from tests.config.example import (
    DATASETS,
    LIBRARIES,
    MIN,
    NINE,
    PILLOW,
    PRO,
    SCENARIOS,
    TABLES,
    TRANSFORMS,
    example,
    given,
)


@example("duplicate", LIBRARIES, f"{PILLOW}.transforms", "listed twice: Rotate")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rgb"]["transforms"].append("Rotate")


@example("duplicate", TRANSFORMS, "Rotate.scenarios", "listed twice: image-rgb")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["scenarios"].append("image-rgb")


@example("duplicate", TABLES, "campaigns.demo.machines", "listed twice: local")
def _(tree):
    with tree.edit("tables") as value:
        value["campaigns"]["demo"]["machines"].append("local")


@example("duplicate", MIN, "transforms.image-rgb", "listed twice: Rotate")
def _(tree):
    with tree.edit("depths/min") as value:
        value["transforms"]["image-rgb"].append("Rotate")


given("duplicate", "libraries", "listed twice: pillow", libraries="pillow,kornia,pillow")


@example("lonely-transform", TRANSFORMS, "Transpose", "only albumentationsx offers it in image-rgb")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rgb"]["transforms"].remove("Transpose")


@example("outside-scenario", LIBRARIES, f"{PILLOW}.transforms", "Rotate is not in the transform set")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["scenarios"].remove("image-rgb")


@example("outside-scenario", MIN, "transforms.image-rgb", "Rotate is not in the transform set")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["scenarios"].remove("image-rgb")


@example("offered-and-unsupported", LIBRARIES, f"{PILLOW}.transforms", "Rotate is offered here")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["unsupported"]["Rotate"] = "not round enough"


@example("control-transform", LIBRARIES, f"{PILLOW}.transforms", "Copy is a control's transform")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rgb"]["transforms"].append("Copy")


@example("control-transform", LIBRARIES, "control-copy.scenarios.image-rgb.transforms", "no control's")
def _(tree):
    with tree.edit("libraries") as value:
        value["control-copy"]["scenarios"]["image-rgb"]["transforms"].append("Rotate")


@example("control-transform", MIN, "transforms.image-rgb", "controls run at every depth")
def _(tree):
    with tree.edit("depths/min") as value:
        value["transforms"]["image-rgb"].append("Copy")


@example("exclusion-of-nothing", LIBRARIES, "pillow.exclusions[0]", "Elastic is not offered")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["exclusions"] = [{"transforms": ["Elastic"], "reason": "it has none"}]


@example("exclusion-of-nothing", LIBRARIES, "kornia.exclusions[0]", "Shear is not offered where")
def _(tree):
    with tree.edit("libraries") as value:
        shear = {"transforms": ["Shear"], "devices": ["cuda"], "reason": "stays on the CPU"}
        value["kornia"]["exclusions"] = [{**shear, "issue": "kornia#4415"}]


@example("exclusion-of-nothing", LIBRARIES, "kornia.exclusions[0].modes", "asked for nothing with decode")
def _(tree):
    with tree.edit("libraries") as value:
        value["kornia"]["scenarios"]["image-rgb"]["modes"].remove("decode")
        shear = {"transforms": ["Shear"], "modes": ["micro", "decode"], "reason": "stays on the CPU"}
        value["kornia"]["exclusions"] = [shear]


# --- modes, channels, sweeps -----------------------------------------------------------------------------


@example("chunked-nothing", LIBRARIES, f"{NINE}.chunked", "MotionBlur is not offered here")
def _(tree):
    with tree.edit("libraries") as value:
        value["torchvision"]["scenarios"]["image-9ch"]["chunked"]["MotionBlur"] = "takes three channels"


@example("chunked-nothing", LIBRARIES, f"{PILLOW}.chunked", "image-rgb has 3 channels, which are no chunks")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rgb"]["chunked"] = {"Rotate": "takes three channels"}


@example("missing-loader", SCENARIOS, "scenarios.image-9ch", "no batch size and workers")
def _(tree):
    with tree.edit("scenarios") as value:
        del value["scenarios"]["image-9ch"]["loader"]


@example("wrong-channels", SCENARIOS, "scenarios.image-9ch.views", "9 channels, but 2 views of three")
def _(tree):
    with tree.edit("scenarios") as value:
        value["scenarios"]["image-9ch"]["views"].pop()


@example("wrong-channels", SCENARIOS, "scenarios.image-rgb.views", "9 channels, but 1 views of three")
def _(tree):
    with tree.edit("scenarios") as value:
        value["scenarios"]["image-rgb"]["channels"] = 9


@example("duplicate", SCENARIOS, "scenarios.image-9ch.views", "listed twice: mirrored")
def _(tree):
    with tree.edit("scenarios") as value:
        value["scenarios"]["image-9ch"]["views"] = ["as-decoded", "mirrored", "mirrored"]


@example(
    "missing-adapter", LIBRARIES, "kornia.adapter", "no module workflow/augmark/libraries/kornia_recipe.py"
)
def _(tree):
    (tree.root / "workflow/augmark/libraries/kornia_recipe.py").unlink()


@example(
    "missing-adapter", LIBRARIES, "pillow.adapter", "no module workflow/augmark/libraries/pillow_decoder"
)
def _(tree):
    (tree.root / "workflow/augmark/libraries/pillow_decoder.py").unlink()


@example("outside-scenario", TRANSFORMS, "Hue.by_scenario.image-9ch", "Hue is not in the transform set")
def _(tree):
    with tree.edit("transforms") as value:
        value["Hue"]["by_scenario"] = {"image-9ch": {"pinned": {"shift_degrees": [9, 9]}}}


@example("pinned-not-param", TRANSFORMS, "ChannelShuffle.by_scenario.image-9ch.pinned", "did you mean order?")
def _(tree):
    with tree.edit("transforms") as value:
        value["ChannelShuffle"]["by_scenario"]["image-9ch"] = {"pinned": {"ordr": [2, 0, 1]}}


@example("pinned-not-param", TRANSFORMS, "Pad.in_recipe", "did you mean padding_pixels?")
def _(tree):
    with tree.edit("transforms") as value:
        value["Pad"]["in_recipe"] = {"padding": 4}


@example("difference-of-nothing", TRANSFORMS, "Contrast.by_scenario.image-9ch.differences", "does not offer")
def _(tree):
    with tree.edit("transforms") as value:
        value["Contrast"]["by_scenario"]["image-9ch"] = {"differences": {"control-copy": "copies"}}


def sweep(tree, **stanza):
    """Put one sweep in the place of all of depth pro."""
    with tree.edit("depths/pro") as value:
        value["sweeps"] = [{"axis": "threads", "values": [2], "modes": ["micro"], **stanza}]


@example("sweep", PRO, "sweeps[0].modes", "mode micro has no workers")
def _(tree):
    sweep(tree, axis="workers")


@example("sweep", PRO, "sweeps[0].modes", "mode dataloader-memory has no threads")
def _(tree):
    sweep(tree, modes=["dataloader-memory"])


@example("sweep", PRO, "sweeps[0].modes", "mode decode has no threads")
def _(tree):
    sweep(tree, modes=["micro", "decode"])


@example("sweep", PRO, "sweeps[1]", "threads is swept twice")
def _(tree):
    with tree.edit("depths/pro") as value:
        value["sweeps"] = [{"axis": "threads", "values": [count], "modes": ["micro"]} for count in (2, 4)]


@example("sweep", PRO, "sweeps[0].libraries", "no augmark.libraries.kornia_regimes")
def _(tree):
    sweep(tree, axis="batched", libraries=["kornia"])
    (tree.root / "workflow/augmark/libraries/kornia_regimes.py").unlink()


@example("sweep", PRO, "sweeps[0].values", "batch_size is no number of processors: up-to-cpus")
def _(tree):
    sweep(tree, axis="batch_size", values="up-to-cpus", modes=["dataloader-memory"])


@example("sweep", PRO, "sweeps[0].values", "compile cannot be false (valid: true)")
def _(tree):
    sweep(tree, axis="compile", values=[True, False], libraries=["kornia"])


@example("sweep", PRO, "sweeps[0].values", "compile cannot be 1 (valid: true)")
def _(tree):
    sweep(tree, axis="compile", values=[1], libraries=["kornia"])


@example("sweep", PRO, "sweeps[0].values", 'policy cannot be "pipeline-best"')
def _(tree):
    sweep(tree, axis="policy", values=["pipeline-best"], modes=["dataloader-memory"])


@example("out-of-range", PRO, "sweeps[0].values", "batched is at least 2: 1")
def _(tree):
    sweep(tree, axis="batched", values=[1, 8], libraries=["kornia"])


@example("out-of-range", PRO, "sweeps[0].values", "threads is at least 1: True")
def _(tree):
    sweep(tree, values=[True])


@example("duplicate", PRO, "sweeps[0].values", "listed twice: 2")
def _(tree):
    sweep(tree, values=[2, 2])


# --- the tree on disk ------------------------------------------------------------------------------------


@example("missing-adapter", LIBRARIES, "kornia.adapter", "no module workflow/augmark/libraries/kornia.py")
def _(tree):
    (tree.root / "workflow/augmark/libraries/kornia.py").unlink()


@example("missing-environment", LIBRARIES, "kornia.environment", "missing: envs/kornia.txt")
def _(tree):
    (tree.root / "envs/kornia.txt").unlink()


@example("stray-adapter", "workflow/augmark/libraries/imgaug.py", "", "no stanza")
def _(tree):
    tree.write("workflow/augmark/libraries/imgaug.py", "adapter = None\n")


@example("stray-adapter", "workflow/augmark/libraries/imgaug/__init__.py", "", "no stanza")
def _(tree):
    tree.write("workflow/augmark/libraries/imgaug/__init__.py", "from .core import adapter\n")


@example("stray-environment", "envs/imgaug.txt", "", "no stanza")
def _(tree):
    tree.write("envs/imgaug.txt", "")


def mine(tree, source, sha256="0" * 64):
    """A dataset of one's own, chosen."""
    about = {"title": "Mine", "kind": "tar", "medium": "image", "source": source, "sha256": sha256}
    with tree.edit("datasets") as value:
        value["mine"] = about
    tree.overrides = {"images": "mine"}


@example("missing-path", DATASETS, "mine.source", "no such file or folder: data/mine.tar")
def _(tree):
    mine(tree, "data/mine.tar")


@example("unsupported-source", DATASETS, "mine.source", "staged from here: http://example.org/a.tar")
def _(tree):
    mine(tree, "http://me:secret@example.org/a.tar?key=secret")


@example("undeclared-digest", DATASETS, "mine.sha256", "from https://example.org/a.tar must be known")
def _(tree):
    mine(tree, "https://example.org/a.tar?key=secret", sha256=None)


@example("wrong-medium", DATASETS, "demo.feeds", "image-rgb is made of image data, demo holds video data")
def _(tree):
    with tree.edit("datasets") as value:
        value["demo"]["medium"] = "video"


given("missing-path", "images", "no such file or folder: mine.tar", images="mine.tar")
given("unsupported-source", "images", "cannot be staged from here", images="gs://bucket/mine.tar")
given("unsupported-source", "images", "with its size and sha256", images="https://example.org/mine.tar")


@example("no-source", DATASETS, "imagenet-val.source", "--config images=/path/of/the.tar")
def _(tree):
    tree.overrides = {"images": "imagenet-val"}


@example("no-source", DATASETS, "imagenet-val.source", "ImageNet terms of access")
def _(tree):
    with tree.edit("config") as value:
        value["images"] = "imagenet-val"


# --- transforms, scenarios, machines ---------------------------------------------------------------------


@example("pinned-not-param", TRANSFORMS, "Rotate.pinned", "did you mean angle_degrees?")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["pinned"] = {"angle_degree": [30, 30]}


@example("not-pinned", TRANSFORMS, "Rotate", "neither pinned nor unpinnable")
def _(tree):
    with tree.edit("transforms") as value:
        del value["Rotate"]["pinned"]


@example("not-pinned", TRANSFORMS, "Rotate", "both pinned and unpinnable")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["unpinnable"] = "it turns and turns"


@example("param-unit", TRANSFORMS, "Rotate.params.angle", "does not end with its unit")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["params"]["angle"] = [-45, 45]


@example("difference-of-nothing", TRANSFORMS, "Elastic.differences", "pillow does not offer Elastic")
def _(tree):
    with tree.edit("transforms") as value:
        value["Elastic"]["differences"] = {"pillow": "smoother"}


@example("announced-and-declared", SCENARIOS, "announced.image-rgb", "declared above")
def _(tree):
    with tree.edit("scenarios") as value:
        value["announced"]["image-rgb"] = "RGB images"


@example("empty-scenario", SCENARIOS, "scenarios.image-grey", "no stanza of transforms.yaml")
def _(tree):
    with tree.edit("scenarios") as value:
        value["scenarios"]["image-grey"] = {**value["scenarios"]["image-rgb"], "channels": 1}


@example("again-of-control", LIBRARIES, "control-aa.again", "control-copy is a control")
def _(tree):
    with tree.edit("libraries") as value:
        value["control-aa"]["again"] = ["control-copy", "pillow"]


@example("unknown-library", LIBRARIES, "control-aa.again", "no such library: pilow (did you mean pillow?)")
def _(tree):
    with tree.edit("libraries") as value:
        value["control-aa"]["again"] = ["pilow"]
