"""What must be alike for rows to be compared: what differs is named with both values, and nothing else."""

import copy
import json

import pytest

from augmark.analysis.alike import differing, fields, mixed
from augmark.analysis.gather import record_lines
from tests.analysis.synthetic import HOST, ORIGIN, VARIABLES, carried, make_plan, make_record, measured

PLAN = make_plan({"kornia": ["Flip"], "pillow": ["Flip"]}, repeats=1)


def contract_of(library="kornia", found=None, change=None):
    """The contract of a library's one row, of a record that was changed."""
    record = copy.deepcopy(make_record(PLAN, library, 0, {"Flip": found or measured(0.5)}))
    if change is not None:
        change(record)
    path = next(cell["path"] for cell in PLAN["cells"] if cell["library"] == library)
    return record_lines(record, path)[0]["contract"]


def put(*path):
    """A change of one value of a record: the way to it, and the value."""

    def change(record):
        for key in path[:-2]:
            record = record[key]
        record[path[-2]] = path[-1]

    return change


def test_two_libraries_are_compared():
    """What is the library's own is no part of it: it is what is compared."""

    def other(record):
        record["environment"].update(
            lock_digest="another000", packages={"numpy": "2.4.6", "pillow": "13.0.0"}
        )
        record.update(library_version="13.0.0", session="another")
        record["rows"][0].update(dtype="float32", form="a tensor")

    assert [] == differing(contract_of("kornia"), contract_of("pillow", change=other))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("host", "cpu_model", "Other CPU"), "host.cpu_model: Test CPU @ 2.00GHz and Other CPU"),
        (put("host", "topology", "threads_per_core", 2), "host.topology.threads_per_core: 1 and 2"),
        (put("host", "caches", "l2_bytes", 2097152), "host.caches.l2_bytes: 1048576 and 2097152"),
        (put("host", "caches", "l3_bytes", 1), "host.caches.l3_bytes: not set and 1"),
        (put("host", "governor", "powersave"), "host.governor: performance and powersave"),
        (put("host", "governor", None), "host.governor: performance and unknown"),
        (put("host", "turbo", False), "host.turbo: yes and no"),
        (put("host", "cgroup", "cpus", 1.5), "host.cgroup.cpus: none and 1.5"),
        (put("host", "memory_bytes", 16 << 30), "host.memory_gib: 8 and 16"),
        (put("host", "kernel", "6.2.0"), "host.kernel: 6.1.0 and 6.2.0"),
        (put("host", "libc", "musl 1.2"), "host.libc: glibc 2.36 and musl 1.2"),
        (put("host", "virtual", True), "host.virtual: no and yes"),
        (put("host", "simd", "avx2 avx512f"), "host.simd: avx2 and avx2 avx512f"),
        (put("host", "huge_pages", "always"), "host.huge_pages: madvise and always"),
        (put("dataset", "digest", "e" * 64), f"dataset.digest: {'d' * 64} and {'e' * 64}"),
        (put("dataset", "manifest_digest", "n"), f"dataset.manifest_digest: {'m' * 64} and n"),
        (put("dataset", "items_digest", "x"), "dataset.items_digest: items00000 and x"),
        (put("environment", "python", "3.12.1"), "python: 3.11 and 3.12"),
        (put("environment", "packages", {"numpy": "2.5.0"}), "numpy: 2.4.6 and 2.5.0"),
        (
            put("environment", "variables", {**VARIABLES, "MKL_CBWR": "AVX"}),
            "variables.MKL_CBWR: not set and AVX",
        ),
        (put("depth", "min"), "depth: max and min"),
        (put("definition", "timing", "values", 5), "timing.values: 1 and 5"),
        (put("definition", "rows", 0, "threads", 2), "setting.threads: unknown and 2"),
        (put("definition", "rows", 0, "setting", {"dtype": "float16"}), "setting.dtype: not set and float16"),
        (put("definition", "rows", 0, "loader", {"workers": 4}), "setting.workers: not set and 4"),
    ],
)
def test_what_differs_is_named_and_nothing_else(change, said):
    """One fact changed is one text; whichever comes first, its value does."""
    here, there = contract_of(), contract_of(change=change)
    assert [said] == differing(here, there)
    name, _, values = said.partition(": ")
    assert [f"{name}: {' and '.join(reversed(values.split(' and ')))}"] == differing(there, here)


@pytest.mark.parametrize(
    "change",
    [
        put("host", "memory_bytes", (8 << 30) - 4096 * 33),
        put("host", "gpu_driver", "550.1"),
        put("host", "gpus", [{"name": "L4"}]),
        put("environment", "python", "3.11.9"),
        put("environment", "variables", {**VARIABLES, "OMP_NUM_THREADS": "2"}),
        put("definition", "timing", "threads", 2),
        put("dataset", "items", 16),
        put("load_before", [9.0, 9.0, 9.0]),
    ],
)
def test_what_does_not_count(change):
    """Some kilobytes of memory, cards that are not used, a patch release, pool sizes of the setting."""
    assert [] == differing(contract_of(), contract_of(change=change))


@pytest.mark.parametrize(("cell", "mode"), [("device", "cuda"), ("mode", "dataloader-copy")])
def test_cards_count_where_they_are_used(cell, mode):
    """On a device, and in a mode that copies batches to one."""
    here, there = (
        contract_of(
            change=lambda record, name=name: [
                put(*p)(record) for p in (("cell", cell, mode), ("host", "gpu_driver", name))
            ]
        )
        for name in ("550.1", None)
    )
    assert ["host.gpu_driver: 550.1 and unknown"] == differing(here, there)


@pytest.mark.parametrize(
    ("gib", "said"),
    [(15.5001, []), (15.75, []), (15.9, ["host.memory_gib: 15.5 and 15.9"]), (None, None)],
)
def test_memory_is_alike_within_two_per_cent(gib, said):
    """15.4999 and 15.5001 round to 15 and 16, and are the same machine; unknown is not 15.5."""
    size = None if gib is None else int(gib * (1 << 30))
    here, there = (
        contract_of(change=put("host", "memory_bytes", each)) for each in (int(15.4999 * (1 << 30)), size)
    )
    assert (["host.memory_gib: 15.5 and unknown"] if said is None else said) == differing(here, there)


def test_records_of_schema_2_have_a_contract():
    """They say nothing of variables: unknown, which is not the same as any."""
    old = contract_of(change=lambda record: record["environment"].pop("variables"))
    assert [name.partition(":")[0] for name in differing(contract_of(), old)] == [
        "variables",
        "variables.MALLOC_TRIM_THRESHOLD_",
    ]
    assert [] == differing(old, old)


def test_what_was_declared_may_differ():
    """By its name, or that of its group; the beginning of a name is no group."""

    def both(record):
        record["host"].update(kernel="6.2.0", caches={"l1d_bytes": 1, "l2_bytes": 1048576})

    pair = contract_of(), contract_of(change=both)
    kernel, cache = "host.kernel: 6.1.0 and 6.2.0", "host.caches.l1d_bytes: 32768 and 1"
    assert [cache, kernel] == differing(*pair)
    assert [cache] == differing(*pair, ["host.kernel"])
    assert [kernel] == differing(*pair, ["host.caches"])
    assert [] == differing(*pair, {"host"})
    assert [cache, kernel] == differing(*pair, ["host.kern", "kernel", "hos"])


def test_many_rows():
    """Every value is told once, in the order in which it was found."""
    kernels = [contract_of(change=put("host", "kernel", name)) for name in ("6.1", "6.2", "6.1", "6.3")]
    assert ["host.kernel: 6.1 and 6.2 and 6.3"] == mixed(kernels)
    assert [] == mixed(kernels[:1]) == mixed([]) == mixed([kernels[0], kernels[2]])


def test_a_carried_row_has_the_host_that_measured_it():
    """Its host, variables and Python are those of its own record; the data and the rules are this one's."""
    origin = {
        **ORIGIN,
        "host": {**HOST, "kernel": "5.15.0"},
        "environment": {**ORIGIN["environment"], "python": "3.10.2", "variables": {"LD_PRELOAD": "libx.so"}},
    }
    found = contract_of(found=carried(0.5, carried_from=origin))
    assert [
        "host.kernel: 6.1.0 and 5.15.0",
        "python: 3.11 and 3.10",
        "variables.LD_PRELOAD: not set and libx.so",
        "variables.MALLOC_TRIM_THRESHOLD_: 67108864 and not set",
    ] == differing(contract_of(), found)


def test_one_text_for_one_contract():
    """Canonical JSON: the order in which facts were read does not count."""

    def turned(record):
        record["host"] = dict(reversed(record["host"].items()))

    assert contract_of() == contract_of(change=turned)
    assert json.loads(contract_of())["host"]["topology"] == HOST["topology"]
    assert fields(contract_of())["host.topology.cores"] == 2
