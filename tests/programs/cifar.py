"""Writes files in the layout of CIFAR-10 and CIFAR-100 that hold coloured noise: cifar.py FOLDER."""
import os
import random
import sys

random.seed(1)
TEN = "airplane automobile bird cat deer dog frog horse ship truck".split()


def records(count, labels):
    """`count` records of labels and an image; `labels` are the numbers of classes of each label."""
    out = bytearray()
    for index in range(count):
        out += bytes((index + (6 if classes == 10 else 0)) % classes for classes in labels)
        base = random.randrange(64, 192)
        out += bytes((base + random.randrange(-40, 40)) & 255 for _ in range(3072))
    return bytes(out)


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


ten = os.path.join(sys.argv[1], "cifar-10-batches-bin")
for batch in range(1, 6):
    write(ten, "data_batch_%d.bin" % batch, records(20, [10]))
write(ten, "test_batch.bin", records(20, [10]))
write(ten, "batches.meta.txt", "".join(name + "\n" for name in TEN).encode())
hundred = os.path.join(sys.argv[1], "cifar-100-binary")
write(hundred, "train.bin", records(120, [20, 100]))
write(hundred, "test.bin", records(20, [20, 100]))
names = ["mountain"] + ["fine%d" % i for i in range(1, 100)]
write(hundred, "fine_label_names.txt", "".join(name + "\n" for name in names).encode())
names = ["coarse%d" % i for i in range(20)]
write(hundred, "coarse_label_names.txt", "".join(name + "\n" for name in names).encode())
