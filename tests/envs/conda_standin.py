"""A stand-in `conda` for machines that reach no channel: it makes the pip part with uv.

`put_on_path(folder)` writes `conda` and `activate` into `folder/bin`; run as a program it answers the calls
that `snakemake --sdm conda` makes (`info --json`, `--version`, `config --get`, `env create`, `clean`).
"""

import json
import shlex
import sys
from pathlib import Path


def put_on_path(folder: Path) -> Path:
    """Write the stand-in (no spaces in the path, Snakemake forbids them); returns what to put on PATH."""
    programs = {
        "conda": 'exec {} {} {} "$@"'.format(*map(shlex.quote, (sys.executable, __file__, str(folder)))),
        "activate": 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"',
    }
    (folder / "bin").mkdir(parents=True)
    for name, line in programs.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / "bin" / name).chmod(0o755)
    return folder / "bin"


def create(file: str, prefix: str) -> None:
    """Make a conda file's environment at a prefix: this Python, and the hashed pins of its pip section."""
    import yaml

    from augmark.environments import environment_python, run_uv

    asked = yaml.safe_load(Path(file).read_text())["dependencies"]
    pins = next(entry["pip"] for entry in asked if isinstance(entry, dict))
    requirements = Path(f"{prefix}.requirements.txt")
    requirements.write_text("\n".join(pins) + "\n")
    run_uv(["venv", "--no-project", "--python", sys.executable, prefix], where=file)
    install = [
        "pip",
        "install",
        "--require-hashes",
        "--compile-bytecode",
        "--python",
        environment_python(Path(prefix)),
    ]
    run_uv([*install, "-r", requirements], where=file)


def main(home: str, *arguments: str) -> None:
    match arguments:
        case ["info", "--json"]:
            print(json.dumps({"conda_prefix": home, "root_prefix": home, "platform": "linux-64"}))
        case ["--version"]:
            print("conda 25.1.0")
        case ["config", "--get", "channel_priority", "--json"]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create", *options]:
            create(options[options.index("--file") + 1], options[options.index("--prefix") + 1])
        case ["clean", *_]:
            pass
        case _:
            sys.exit(f"conda stand-in: unknown call: {shlex.join(arguments)}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))
    main(*sys.argv[1:])
