"""What data-parallel training should cost by docs/scaling.md, on paper: prints the table of that page.

scaling_model.py [check PAGE]
A step of a rank computes its images, gathers two short messages, and exchanges its gradients in buckets. The buckets go
out during the backward of the last leaf. With R ranks, a power of two, each sends and receives half of its elements,
then a quarter and so on, and the same backwards.
"""

import math
import sys

BUCKET = 1 << 20  # bytes, as lib/session/leaves.c has it
LATENCY = 100e-6  # s of one exchange between two ranks: a TCP connection, and a thread that sleeps in between
USED = 0.94  # of a link's rate: what headers of TCP leave
ADDED = 2e9  # bytes/s of additions by one thread
BACKWARD = 2 / 3  # of a step

# Name, parameters, images of a rank in a step, images/s of a rank: 16 cores of an Intel Xeon (Sapphire Rapids class),
# measured for the first two; the third by its multiply-adds at the rate of the second.
MODELS = (
    ("ShiftViT, CIFAR-10", 11_690_602, 256, 880),
    ("ViT, CIFAR-100", 21_759_012, 256, 888),
    ("ViT-S/16, 224 x 224", 22_050_664, 64, 39),
)
RATES = (10, 25, 100)  # Gbit/s
RANKS = (2, 4, 16, 64, 256, 1024)


def exchange_seconds(parameters, ranks, gbit):
    """Of all buckets, one after another."""
    gradients = 4 * parameters
    moved = 2 * (ranks - 1) / ranks * gradients
    rounds = 2 * math.log2(ranks) * math.ceil(gradients / BUCKET)
    return moved / (USED * gbit * 1e9 / 8) + rounds * LATENCY + moved / 2 / ADDED


def efficiency(model, ranks, gbit):
    """Of a rank with one leaf, compared with one that works alone."""
    _, parameters, images, speed = model
    alone = images / speed
    exchange = exchange_seconds(parameters, ranks, gbit)
    last = exchange_seconds(BUCKET / 4, ranks, gbit)
    meetings = 2 * math.log2(ranks) * LATENCY
    exposed = max(last, exchange - BACKWARD * alone)
    return alone / (alone + meetings + exposed)


def table():
    yield "| model | Gbit/s |" + "".join(f" {ranks} |" for ranks in RANKS)
    yield "|---|---|" + "---|" * len(RANKS)
    for model in MODELS:
        for gbit in RATES:
            values = "".join(f" {100 * efficiency(model, ranks, gbit):.0f} % |" for ranks in RANKS)
            yield f"| {model[0]} | {gbit} |{values}"


def main(arguments):
    lines = list(table())
    if arguments[:1] != ["check"]:
        print("\n".join(lines))
        return 0
    with open(arguments[1], encoding="utf-8") as page:
        if "\n".join(lines) in page.read():
            return 0
    print(f"{arguments[1]} has another table than scaling_model.py prints")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
