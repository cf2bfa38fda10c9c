"""Examples of tables, depths and choices that cannot be filled."""

from tests.config.example import CONFIG, LINE, MAX, MIN, POLICY, TABLES, example, given


@example("empty-table", TABLES, "tables.image-rgb-cuda", "no library has a row for it")
def _(tree):
    with tree.edit("tables") as value:
        table = {**value["tables"]["image-rgb-micro"], "devices": ["cuda"], "campaigns": ["paper"]}
        value["tables"]["image-rgb-cuda"] = table
        value["campaigns"]["paper"]["machines"] = ["c4-standard-16", "g2-standard-16"]


@example("idle-campaign", TABLES, "campaigns.desk", "no table names this campaign")
def _(tree):
    with tree.edit("tables") as value:
        value["campaigns"]["desk"] = value["campaigns"]["demo"]


@example("idle-machine", TABLES, "campaigns.paper.machines", "gpu-box has none of the devices")
def _(tree):
    with tree.edit("machines") as value:
        value["gpu-box"] = {**value["g2-standard-16"], "devices": ["cuda"]}
    with tree.edit("tables") as value:
        value["campaigns"]["paper"]["machines"].append("gpu-box")


@example("missing-items", MAX, "items", "says nothing for image")
def _(tree):
    with tree.edit("depths/max") as value:
        value["items"] = {"video": 8}


@example("out-of-range", MIN, "repeats", "at least 1: 0")
def _(tree):
    with tree.edit("depths/min") as value:
        value["repeats"] = 0


@example("out-of-range", MIN, "items.image", "at least 1: -1")
def _(tree):
    with tree.edit("depths/min") as value:
        value["items"]["image"] = -1


@example("out-of-range", MIN, "loader.items", "at least 1: 0")
def _(tree):
    with tree.edit("depths/min") as value:
        value["loader"]["items"] = 0


@example("out-of-range", MIN, "loader.batch_size", "at least 1: 0")
def _(tree):
    with tree.edit("depths/min") as value:
        value["loader"]["batch_size"] = 0


@example("out-of-range", MIN, "loader.workers", "at least 0: -1")
def _(tree):
    with tree.edit("depths/min") as value:
        value["loader"]["workers"] = -1


@example("out-of-range", POLICY, "threads", "at least 1: 0")
def _(tree):
    with tree.edit("policy") as value:
        value["threads"] = 0


@example("out-of-range", CONFIG, "repeats", "at least 1: 0")
def _(tree):
    with tree.edit("config") as value:
        value["repeats"] = 0


@example("wrong-medium", CONFIG, "clips", "demo holds image data")
def _(tree):
    with tree.edit("config") as value:
        value["clips"] = "demo"


given("out-of-range", "items", "at least 1: 0", items=0)
given("out-of-range", "items", "257, but demo has 256", items="257")
given("out-of-range", "threads", "at least 1: -2", threads="-2")
given("out-of-range", "threads", "17, but c4-standard-16 has 16", threads=17, campaign="paper")
given("selects-nothing", "libraries transforms", "Elastic: ", libraries="pillow", transforms="Elastic")
given("selects-nothing", "modes transforms", "nothing is left", modes="decode", transforms="Rotate")
given("selects-nothing", "modes", "nothing is left", modes="dataloader-copy")
given("selects-nothing", "scenarios libraries", "nothing is left", scenarios="image-9ch", libraries="pillow")
given("selects-nothing", "devices", "devices=mps in the campaign demo", devices="mps")
given("no-effect", "workers", "no selected mode has batches", workers=4, modes="micro,decode")
given("no-effect", "batch_size", "no selected mode has batches", batch_size="32", modes="micro")
given("no-effect", "threads", "no selected mode takes threads", threads=2, modes="dataloader-memory")
given("no-effect", "clips", "no selected scenario", clips="demo")


@example("selects-nothing", LINE, "transforms", "Normalize is in the transform set of no selected scenario")
def _(tree):
    with tree.edit("transforms") as value:
        value["Normalize"] = {**value["Pad"], "scenarios": ["video-16f"]}
    tree.overrides = {"transforms": ["Normalize", "Rotate"]}


@example(
    "unknown-fact", POLICY, "comparison.may_differ", "no such fact: host.kernal (did you mean host.kernel?)"
)
def _(tree):
    with tree.edit("policy") as value:
        value["comparison"]["may_differ"] = [
            "host.kernal",
            "host.caches.l3",
            "variables.OMP_PLACES",
            "timing",
        ]
