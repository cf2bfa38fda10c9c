"""Examples of claims that no record could carry."""

from tests.config.example import CLAIMS, example
from tests.config.tree import Tree

ID = "blur-pillow"


def claim(tree: Tree, **changed: object) -> None:
    """Put one claim in the place of all; a key of None is left out."""
    stanza = {
        "kind": "faster",
        "library": "albumentationsx",
        "than": "pillow",
        "transforms": ["Blur"],
        "scenario": "image-rgb",
        "mode": "micro",
        "device": "cpu",
        "machine": "local",
        "at_least": 1.2,
        **changed,
    }
    with tree.edit("claims") as value:
        value.clear()
        value[ID] = {key: item for key, item in stanza.items() if item is not None}


COUNT = {"kind": "count", "than": None, "transforms": None, "at_least": 20, "of": 40}


# --- the schema ------------------------------------------------------------------------------------------


@example("unknown-key", CLAIMS, f"{ID}.transform", "did you mean transforms?")
def _(tree):
    claim(tree, transform="Blur")


@example("schema", CLAIMS, ID, "required and missing: than, transforms")
def _(tree):
    claim(tree, than=None, transforms=None)


@example("schema", CLAIMS, ID, "required and missing: at_least")
def _(tree):
    claim(tree, at_least=None)


@example("schema", CLAIMS, ID, "required and missing: of")
def _(tree):
    claim(tree, **{**COUNT, "of": None})


@example("schema", CLAIMS, f"{ID}.kind", "one of faster, no-slower, count")
def _(tree):
    claim(tree, kind="fastest")


# --- names -----------------------------------------------------------------------------------------------


@example("unknown-library", CLAIMS, f"{ID}.library", "did you mean albumentationsx?")
def _(tree):
    claim(tree, library="albumentations")


@example("unknown-library", CLAIMS, f"{ID}.than", "did you mean pillow?")
def _(tree):
    claim(tree, than="pilow")


@example("unknown-transform", CLAIMS, f"{ID}.transforms", "did you mean GaussianBlur?")
def _(tree):
    claim(tree, transforms=["GausianBlur"])


@example("unknown-scenario", CLAIMS, f"{ID}.scenario", "did you mean image-rgb?")
def _(tree):
    claim(tree, scenario="images-rgb")


@example("unknown-mode", CLAIMS, f"{ID}.mode", "did you mean dataloader-memory?")
def _(tree):
    claim(tree, mode="dataloader-memry")


@example("unknown-device", CLAIMS, f"{ID}.device", "valid: cpu")
def _(tree):
    claim(tree, device="cuda")


@example("unknown-machine", CLAIMS, f"{ID}.machine", "did you mean c4-standard-16?")
def _(tree):
    claim(tree, machine="c4-standard-61")


@example("duplicate", CLAIMS, f"{ID}.transforms", "listed twice: Blur")
def _(tree):
    claim(tree, transforms=["Blur", "Blur"])


@example("duplicate", CLAIMS, "once-more", f"says what {ID} says")
def _(tree):
    claim(tree)
    with tree.edit("claims") as value:
        value["once-more"] = dict(value[ID])


# --- what is claimed -------------------------------------------------------------------------------------


@example("claim", CLAIMS, f"{ID}.at_least", "above 1: 0.8 (kind: no-slower claims less)")
def _(tree):
    claim(tree, at_least=0.8)


@example("claim", CLAIMS, f"{ID}.at_least", "a number of rows: 20.5")
def _(tree):
    claim(tree, **{**COUNT, "at_least": 20.5})


@example("claim", CLAIMS, f"{ID}.at_least", "41 rows of 40")
def _(tree):
    claim(tree, **{**COUNT, "at_least": 41})


@example("claim", CLAIMS, f"{ID}.at_least", "no-slower has no at_least (it is for: faster, count)")
def _(tree):
    claim(tree, kind="no-slower")


@example("claim", CLAIMS, f"{ID}.of", "faster has no of (it is for: count)")
def _(tree):
    claim(tree, of=3)


@example("claim", CLAIMS, f"{ID}.than", "albumentationsx is compared with itself")
def _(tree):
    claim(tree, than="albumentationsx")


@example("claim", CLAIMS, f"{ID}.than", "control-copy is a control (libraries: albumentationsx, torchvision")
def _(tree):
    claim(tree, than="control-copy")


@example("claim", CLAIMS, f"{ID}.library", "control-aa is a control (libraries: albumentationsx, torchvision")
def _(tree):
    claim(tree, library="control-aa")


@example(
    "claim-of-nothing", CLAIMS, f"{ID}.than", "not asked for image-9ch micro on cpu (valid: albumentationsx"
)
def _(tree):
    claim(tree, scenario="image-9ch")


@example("claim-of-nothing", CLAIMS, f"{ID}.transforms", "torchvision has no Blur in image-rgb micro on cpu")
def _(tree):
    claim(tree, than="torchvision")


@example("claim-of-nothing", CLAIMS, f"{ID}.transforms", "did you mean GaussianBlur?")
def _(tree):
    claim(tree, than="torchvision", transforms=["GaussianNoise"])
    with tree.edit("libraries") as value:
        noise = {"transforms": ["GaussianNoise"], "modes": ["micro"], "reason": "too loud"}
        value["torchvision"]["exclusions"] = [noise]


@example("claim-of-nothing", CLAIMS, f"{ID}.mode", "g2-standard-16 does not measure micro")
def _(tree):
    claim(tree, machine="g2-standard-16")


@example("claim-of-nothing", CLAIMS, f"{ID}.of", "59 rows, and image-rgb micro has 58")
def _(tree):
    claim(tree, **{**COUNT, "of": 59})
