"""Compares shards with what Python's tarfile and WebDataset read.

shards.py files FOLDER COUNT... CLASSES: the archives FOLDER/train-*.tar have so many samples, the last one 10.
shards.py copies SHARDS IMAGES COUNT: the files of SHARDS/train-000000.tar are those of the folder of classes IMAGES.
shards.py webdataset EXPORT FOLDER: the program reads odd archives, made in FOLDER, as WebDataset does.
"""
import io
import os
import struct
import subprocess
import sys
import tarfile
import zlib

from png_colours import colours


def samples(path):
    """The samples of an archive, as {ending: bytes}, whose members must be plain."""
    found = {}
    with tarfile.open(path) as tar:
        for member in tar:
            assert member.isreg() and (member.mtime, member.uid, member.gid, member.mode) == (0, 0, 0, 0o644), member.name
            key, ending = member.name.split(".")
            found.setdefault(key, {})[ending] = tar.extractfile(member).read()
    return found


def check_files(folder, counts):
    keys = []
    for shard, count in enumerate(counts):
        part = samples(f"{folder}/train-{shard:06d}.tar")
        assert len(part) == count, (shard, len(part))
        for key, sample in part.items():
            assert set(sample) == {"cls", "png"} and int(sample["cls"]) == int(key) % 10, key
            assert len(colours(sample["png"])) > 1, key
            keys.append(int(key))
    assert keys == list(range(sum(counts)))


def check_copies(shards, images, count):
    files = {}
    for label, name in enumerate(sorted(os.listdir(images))):
        for image in os.listdir(f"{images}/{name}"):
            with open(f"{images}/{name}/{image}", "rb") as file:
                files[file.read()] = str(label).encode()
    part = samples(f"{shards}/train-000000.tar")
    assert len(part) == count
    for key, sample in part.items():
        assert set(sample) == {"cls", "png"} and files.pop(sample["png"]) == sample["cls"], key


def png(grey):
    """A PNG file of 4 x 4 pixels of one grey."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    rows = b"".join(b"\0" + bytes([grey] * 12) for _ in range(4))
    head = struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def sample(grey, key, **others):
    return [(key + ".png", png(grey)), (key + ".cls", str(grey).encode()), *((f"{key}.{k}", v) for k, v in others.items())]


def plain(kind, name):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = "target" * 40
    return info


# Names of archives and their members: pairs of a name and its bytes, or headers.
LONG, LONGER = "d/" + "n" * 150, "/".join(["folder" * 12] * 6) + "/name"
MEMBERS = {
    "plain": sample(1, "a") + sample(2, "b"),
    "folders": sample(1, "x/a") + sample(2, "y/a") + sample(3, "./a") + sample(4, "../a") + sample(5, "/a"),
    "dots": sample(1, "a", **{"seg.png": b"x", "orig.jpg": b"x"}) + sample(2, "a.d/b") + [("c.PNG", png(3)), ("c.Cls", b" 3 \n")],
    "long": sample(1, LONG) + sample(2, LONGER),
    "prefix": sample(1, "x" * 70 + "/" + "y" * 60 + "/a") + sample(2, "z" * 70 + "/" + "y" * 60 + "/a"),
    "beginnings": sample(1, "ab") + sample(2, "a") + sample(3, "ab") + sample(4, "a/ab"),
    "unicode": sample(1, "ä/日本") + sample(2, "naïve"),
    "empty": sample(1, "a", txt=b"") + sample(2, "b", **{"": b""}),
    "others": [plain(tarfile.DIRTYPE, "d"), *sample(1, "d/a"), plain(tarfile.SYMTYPE, "d/a.jpg"), ("d/Makefile", b"x"),
               plain(tarfile.FIFOTYPE, "d/b.png"), *sample(2, "d/b"), plain(tarfile.LNKTYPE, "d/b.json")],
    "meta": [("__meta__", b"x"), ("__a__/b.png", b"x"), *sample(1, "__a"), *sample(2, "d/__a__"), *sample(3, "____x")],
    "again": sample(1, "a") + sample(2, "b") + sample(3, "a"),
    "webp": [("a.webp", b"no image"), *sample(1, "a")],
    "no image": sample(1, "a") + [("b.cls", b"2")],
    "no label": sample(1, "a") + [("b.png", png(2))],
    "bad label": sample(1, "a") + [("b.png", png(2)), ("b.cls", b"x")],
    "twice": sample(1, "a") + [("a.cls", b"1")],
    "nothing": [],
}
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def archive(members, form):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for member in members:
            if isinstance(member, tuple):
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                info.mtime = 12345678.9 if form == tarfile.PAX_FORMAT else 12345678
                tar.addfile(info, io.BytesIO(member[1]))
            else:
                tar.addfile(member)
    return out.getvalue()


def archives():
    for name, members in MEMBERS.items():
        for form in FORMATS:
            try:
                yield f"{name} {form}", archive(members, FORMATS[form])
            except ValueError:
                assert form == "ustar", name  # a name or link that it cannot have
    whole = archive(MEMBERS["plain"], tarfile.USTAR_FORMAT)
    used = len(whole.rstrip(b"\0")) // 512 * 512 + 512
    yield "garbage", whole[: used + 512] + b"garbage" * 100
    yield "one block", whole[: used + 512]
    yield "no end", whole[:used]
    for cut in (1, 300, 511, 512, 513, 600, 1024, 1500, used - 512, used - 1):
        yield f"cut {cut}", whole[:cut]


def with_webdataset(path):
    """What timm makes of WebDataset's samples: the first image and the number of the class. None: an error."""
    import webdataset

    try:
        found = []
        for each in webdataset.WebDataset(path, shardshuffle=False):
            image = next(each[ending] for ending in ("jpg", "jpeg", "png", "webp") if ending in each)
            found.append((int(each["cls"]), colours(image)))
        return found or None
    except (KeyError, ValueError, StopIteration, tarfile.ReadError):
        return None


def with_program(program, path, out):
    command = [program, "--data", f"shards:{path}", "--val-fraction", "0", "--split", "train", "--count", "0", "--size", "4", "--out", out]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        assert done.returncode == 1 and b"shard.tar" in done.stderr, done
        return None
    found = []
    for name in sorted(os.listdir(out)):
        with open(f"{out}/{name}", "rb") as file:
            found.append((int(name.split("class-")[1].split(".")[0]), colours(file.read())))
    return found


def compare(program, folder):
    compared = 0
    for number, (name, data) in enumerate(archives()):
        path = f"{folder}/{number}/shard.tar"
        os.mkdir(f"{folder}/{number}")
        with open(path, "wb") as file:
            file.write(data)
        wanted, found = with_webdataset(path), with_program(program, path, f"{folder}/{number}/out")
        assert wanted == found, (name, wanted, found)
        compared += found is not None
    print(f"{number + 1} archives, of which {compared} are accepted")
    assert compared > 25


if __name__ == "__main__":
    if sys.argv[1] == "files":
        check_files(sys.argv[2], [int(text) for text in sys.argv[3:]])
    elif sys.argv[1] == "copies":
        check_copies(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        compare(sys.argv[2], sys.argv[3])
