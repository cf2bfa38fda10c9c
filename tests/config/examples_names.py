"""Examples of files that cannot be read, schemas that are broken, names that nothing declares."""

from tests.config.example import (
    CONFIG,
    DATASETS,
    LIBRARIES,
    MACHINES,
    MIN,
    NINE,
    PILLOW,
    POLICY,
    PRO,
    SCENARIOS,
    TABLES,
    TRANSFORMS,
    example,
    given,
)


@example("missing-file", POLICY, "", "cannot be read")
def _(tree):
    (tree.root / POLICY).unlink()


@example("yaml-syntax", MACHINES, "", "line")
def _(tree):
    tree.write(MACHINES, "local: [\n")


@example("yaml-key", MACHINES, "on", "quotes")
def _(tree):
    tree.replace(MACHINES, "local:", "on: {}\nlocal:")


@example("yaml-duplicate", TABLES, "machines", "stands twice")
def _(tree):
    tree.replace(TABLES, "    depth: min\n", "    depth: min\n    machines: [local]\n")


@example("unknown-key", LIBRARIES, "pillow.licens", "did you mean licence?")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["licens"] = "MIT"


@example("schema", POLICY, "limits.row_timeout_seconds", '"soon"')
def _(tree):
    with tree.edit("policy") as value:
        value["limits"]["row_timeout_seconds"] = "soon"


@example("schema", DATASETS, "demo", "required and missing: sha256")
def _(tree):
    with tree.edit("datasets") as value:
        del value["demo"]["sha256"]


@example("schema", TRANSFORMS, "Rotate.meaning", "YAML reads yes, no, on and off")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["meaning"] = True


# --- unknown names ---------------------------------------------------------------------------------------


@example("unknown-library", CONFIG, "libraries", "did you mean kornia?")
def _(tree):
    with tree.edit("config") as value:
        value["libraries"] = ["cornia"]


@example("unknown-library", TRANSFORMS, "Rotate.differences", "did you mean torchvision?")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["differences"] = {"torchvison": "another centre"}


@example("unknown-transform", f"{LIBRARIES}", f"{PILLOW}.transforms", "did you mean Rotate?")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rgb"]["transforms"].append("Rotat")


@example("unknown-transform", LIBRARIES, "pillow.unsupported", "did you mean MotionBlur?")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["unsupported"]["MotionBlurr"] = "no directional blur"


@example("unknown-transform", LIBRARIES, "kornia.exclusions[0].transforms", "did you mean Shear?")
def _(tree):
    with tree.edit("libraries") as value:
        value["kornia"]["exclusions"] = [{"transforms": ["Sheer"], "reason": "cannot leave the CPU"}]


@example("unknown-transform", MIN, "transforms.image-rgb", "did you mean Equalize?")
def _(tree):
    with tree.edit("depths/min") as value:
        value["transforms"]["image-rgb"].append("Equalise")


@example("unknown-scenario", LIBRARIES, "pillow.scenarios.image-rbg", "did you mean image-rgb?")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rbg"] = value["pillow"]["scenarios"]["image-rgb"]


@example("unknown-scenario", TRANSFORMS, "Rotate.scenarios", "did you mean image-9ch?")
def _(tree):
    with tree.edit("transforms") as value:
        value["Rotate"]["scenarios"].append("images-9ch")


@example("unknown-scenario", TABLES, "tables.image-rgb-micro.scenario", "did you mean image-rgb?")
def _(tree):
    with tree.edit("tables") as value:
        value["tables"]["image-rgb-micro"]["scenario"] = "image-rgbb"


@example("unknown-scenario", MIN, "transforms", "did you mean image-rgb?")
def _(tree):
    with tree.edit("depths/min") as value:
        value["transforms"]["image-rgv"] = "all"


@example("unknown-mode", LIBRARIES, f"{PILLOW}.modes", "did you mean micro?")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rgb"]["modes"].append("mirco")


@example("unknown-mode", TABLES, "tables.image-rgb-micro.mode", "did you mean micro?")
def _(tree):
    with tree.edit("tables") as value:
        value["tables"]["image-rgb-micro"]["mode"] = "macro"


@example("unknown-mode", SCENARIOS, "scenarios.image-rgb.modes", "did you mean dataloader-decode?")
def _(tree):
    with tree.edit("scenarios") as value:
        value["scenarios"]["image-rgb"]["modes"].append("dataloader-decod")


@example("unknown-mode", MACHINES, "g2-standard-16.measures.modes", "did you mean dataloader-copy?")
def _(tree):
    with tree.edit("machines") as value:
        value["g2-standard-16"]["measures"]["modes"] = ["dataloader-cpoy"]


@example("unknown-mode", TRANSFORMS, "Decode.mode", "did you mean decode?")
def _(tree):
    with tree.edit("transforms") as value:
        value["Decode"]["mode"] = "decodes"


@example("unknown-mode", PRO, "sweeps[0].modes", "did you mean micro?")
def _(tree):
    with tree.edit("depths/pro") as value:
        value["sweeps"][0]["modes"] = ["micros"]


@example("unknown-library", PRO, "sweeps[0].libraries", "did you mean kornia?")
def _(tree):
    with tree.edit("depths/pro") as value:
        value["sweeps"][0]["libraries"] = ["cornia"]


@example("unknown-view", SCENARIOS, "scenarios.image-9ch.views", "did you mean mirrored?")
def _(tree):
    with tree.edit("scenarios") as value:
        value["scenarios"]["image-9ch"]["views"][1] = "mirored"


@example("unknown-transform", LIBRARIES, f"{NINE}.chunked", "did you mean Contrast?")
def _(tree):
    with tree.edit("libraries") as value:
        value["torchvision"]["scenarios"]["image-9ch"]["chunked"]["Kontrast"] = "takes three channels"


@example("unknown-transform", LIBRARIES, f"{NINE}.unsupported", "did you mean MotionBlur?")
def _(tree):
    with tree.edit("libraries") as value:
        value["torchvision"]["scenarios"]["image-9ch"]["unsupported"] = {"MotionBlurr": "no directional blur"}


@example("unknown-transform", MIN, "loader.transforms.image-9ch", "did you mean Rotate?")
def _(tree):
    with tree.edit("depths/min") as value:
        value["loader"]["transforms"]["image-9ch"] = ["Rotates"]


@example("unknown-scenario", MIN, "loader.transforms", "did you mean image-9ch?")
def _(tree):
    with tree.edit("depths/min") as value:
        value["loader"]["transforms"]["images-9ch"] = "all"


@example("unknown-scenario", TRANSFORMS, "ChannelShuffle.by_scenario", "did you mean image-9ch?")
def _(tree):
    with tree.edit("transforms") as value:
        value["ChannelShuffle"]["by_scenario"]["images-9ch"] = {"pinned": {"order": [1, 0, 2]}}


@example("unknown-device", LIBRARIES, f"{PILLOW}.devices", "did you mean cuda?")
def _(tree):
    with tree.edit("libraries") as value:
        value["pillow"]["scenarios"]["image-rgb"]["devices"].append("cudo")


@example("unknown-device", TABLES, "tables.image-rgb-micro.devices", "did you mean cpu?")
def _(tree):
    with tree.edit("tables") as value:
        value["tables"]["image-rgb-micro"]["devices"] = ["cpu", "cpus"]


@example("unknown-machine", TABLES, "campaigns.paper.machines", "did you mean c4-standard-16?")
def _(tree):
    with tree.edit("tables") as value:
        value["campaigns"]["paper"]["machines"] = ["c4-standard-61"]


@example("unknown-depth", TABLES, "campaigns.paper.depth", "did you mean max?")
def _(tree):
    with tree.edit("tables") as value:
        value["campaigns"]["paper"]["depth"] = "maxx"


@example("unknown-campaign", TABLES, "tables.image-rgb-micro.campaigns", "did you mean paper?")
def _(tree):
    with tree.edit("tables") as value:
        value["tables"]["image-rgb-micro"]["campaigns"].append("papre")


@example("unknown-dataset", CONFIG, "images", "did you mean imagenet-val?")
def _(tree):
    with tree.edit("config") as value:
        value["images"] = "imagenet"


@example("unknown-scenario", DATASETS, "demo.feeds", "did you mean image-rgb?")
def _(tree):
    with tree.edit("datasets") as value:
        value["demo"]["feeds"] = ["image-rbg", "video-16f"]


given("unknown-key", "librarys", "did you mean libraries?", librarys="pillow")
given("unknown-library", "libraries", "did you mean pillow?", libraries="pilow,kornia")
given("unknown-transform", "transforms", "did you mean Elastic?", transforms="Elastik")
given("unknown-scenario", "scenarios", "did you mean image-rgb?", scenarios="image-rgp")
given("unknown-mode", "modes", "did you mean micro?", modes="mikro")
given("unknown-device", "devices", "valid: cpu, cuda, mps", devices="tpux")
given("unknown-depth", "depth", "valid: max, min, pro", depth="deep")
given("unknown-dataset", "images", "did you mean demo?", images="demos")
given("unknown-campaign", "campaign", "did you mean paper?", campaign="papers")
given("schema", "refresh", "one of none, blocks", refresh="all")
given("schema", "items", '"many"', items="many")
