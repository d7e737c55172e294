"""The table of docs/results on added classes, from the files of transfer.sh:

    python3 tests/bench/transfer_table.py run/transfer

Recall is the part of the new class' test images that get it; the loss is that of the old classes' accuracy, in points.
Both are computed from the files of features and the classifiers' weights. It needs numpy and safetensors."""
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def winners(features: np.ndarray, model: dict[str, np.ndarray]) -> np.ndarray:
    return (features @ model["head.weight"].T + model["head.bias"]).argmax(1)


def main(folder: Path) -> None:
    old, new = load_file(folder / "f10-test.safetensors"), load_file(folder / "new-test.safetensors")
    head = load_file(folder / "head.safetensors")
    before = (winners(old["features"], head) == old["labels"]).mean()
    print(f"accuracy before: {100 * before:.1f} %\n")
    print("| class | with old features: recall | loss | without: recall | loss |\n|---|---|---|---|---|")
    rows = []
    for label, path in enumerate(sorted((folder / "with").glob("*.safetensors"))):
        row = []
        for kind in ("with", "without"):
            model = load_file(folder / kind / path.name)
            of_new = new["features"][new["labels"] == label]
            row += [(winners(of_new, model) == len(head["head.bias"])).mean(),
                    before - (winners(old["features"], model) == old["labels"]).mean()]
        rows.append(row)
        print(f"| {path.stem} | " + " | ".join(f"{100 * value:.1f}" for value in row) + " |")
    print("| mean | " + " | ".join(f"{100 * value:.1f}" for value in np.mean(rows, axis=0)) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
