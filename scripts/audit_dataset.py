"""Rule audit_dataset: judge every member of a staged tar and write the manifest of the common set."""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from augmark.data.audit import audit_dataset, summary
from augmark.errors import AugmarkError


def main() -> None:
    """Audit one dataset and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True, type=Path, help="dataset.tar, with staged.json beside it")
    parser.add_argument("--policy", required=True, type=json.loads, help="audit of policy.yaml, as JSON")
    parser.add_argument("--manifest", required=True, type=Path, help="the manifest to write")
    args = parser.parse_args()
    manifest = audit_dataset(args.dataset, args.policy, args.manifest)
    print(f"{manifest['dataset']['name']}: {summary(manifest)}")


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
