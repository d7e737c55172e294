"""Writes the CIFAR sets as folders of PNG files for the transfer experiment of docs/results:

    python3 tests/bench/transfer_data.py data/cifar-100-binary data/cifar-10-batches-bin run/transfer

    run/transfer/p90/{train,test}/CLASS/   the first 90 classes of CIFAR-100, to pretrain on
    run/transfer/f10/{train,test}/CLASS/   the last 10, the first 50 training images of each
    run/transfer/new/{train,test}/CLASS/   CIFAR-10, the first 20 training images of each class in data_batch_1

It needs numpy and Pillow."""
import sys
from collections import Counter
from pathlib import Path
from typing import Callable, Iterator

import numpy as np
from PIL import Image

PRETRAINED, OF_EACH, NEW_OF_EACH = 90, 50, 20
Record = tuple[int, int, np.ndarray]  # index, label, pixels


def records(path: Path, labels: int) -> Iterator[Record]:
    """The images of a binary file, whose last of `labels` label bytes counts."""
    rows = np.fromfile(path, np.uint8).reshape(-1, labels + 3072)
    for index, row in enumerate(rows):
        yield index, int(row[labels - 1]), row[labels:].reshape(3, 32, 32).transpose(1, 2, 0)


def write(images: Iterator[Record], names: list[str], folder_of: Callable[[int, int], Path | None]) -> None:
    """`folder_of` gets the label and how many images of it came before; None: the image is left out."""
    seen: Counter[int] = Counter()
    for index, label, pixels in images:
        folder = folder_of(label, seen[label])
        seen[label] += 1
        if folder is not None:
            path = folder / names[label] / f"{index:05d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path, compress_level=1)


def main(hundred: Path, ten: Path, out: Path) -> None:
    names = (hundred / "fine_label_names.txt").read_text().split()

    def training(label: int, before: int) -> Path | None:
        if label < PRETRAINED:
            return out / "p90" / "train"
        return out / "f10" / "train" if before < OF_EACH else None

    write(records(hundred / "train.bin", 2), names, training)
    write(records(hundred / "test.bin", 2), names,
          lambda label, before: out / ("p90" if label < PRETRAINED else "f10") / "test")
    names = (ten / "batches.meta.txt").read_text().split()
    write(records(ten / "data_batch_1.bin", 1), names,
          lambda label, before: out / "new" / "train" if before < NEW_OF_EACH else None)
    write(records(ten / "test_batch.bin", 1), names, lambda label, before: out / "new" / "test")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:]))
