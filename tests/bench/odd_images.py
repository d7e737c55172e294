"""Images that show how a preprocessing differs: of odd sizes, kinds of pixels and orientations.

Their files are read here as docs/conventions.md says: upright, of 16 bits the upper 8 and grey / 257 rounded, with
transparent pixels blended with black; otherwise as Pillow's convert("RGB").
"""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np
from PIL import Image, ImageOps

#: Width and height.
SIZES = {"wide": (500, 37), "tall": (20, 400), "tiny": (3, 5), "dot": (1, 1), "exact": (48, 48), "photo": (160, 120),
         "portrait": (121, 163), "half": (113, 56), "sliver": (700, 2), "needle": (2, 700)}


@dataclass
class Photo:
    """An image: what another library is given of it, and the bytes that this library reads of its file."""
    name: str
    image: Image.Image
    ours: Any
    path: Path | None = None


def picture(width: int, height: int, seed: int = 0) -> Any:
    """Waves, edges and noise, which resizing blurs, overshoots and mixes; bytes [height, width, 3]."""
    rng = np.random.default_rng([seed, width, height])
    y, x = np.mgrid[0:height, 0:width].astype(float)
    waves = []
    for fx, fy, phase in rng.uniform([2, 2, 0], [25, 25, 6], (3, 3)):
        waves.append(128 + 90 * np.sin(6.28 * (fx * x / max(width, 8) + fy * y / max(height, 8)) + phase))
    out = np.stack(waves, axis=-1)
    out[(x // max(width // 9, 1) + y // max(height // 7, 1)) % 3 == 0] = rng.integers(0, 2, 3) * 255
    return np.clip(out + rng.normal(0, 20, out.shape), 0, 255).astype(np.uint8)


def write_png16(path: Path, pixels: Any) -> None:
    """RGB of 16 bits, which Pillow does not write."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    header = struct.pack(">2I5B", pixels.shape[1], pixels.shape[0], 16, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
                     + chunk(b"IEND", b""))


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def write_images(folder: Path) -> dict[str, Path]:
    """Writes the images and returns their paths by name."""
    for name, size in SIZES.items():
        Image.fromarray(picture(*size)).save(folder / f"{name}.png")
    colours = picture(160, 120)
    base = Image.fromarray(colours)
    rgba, palette = base.copy(), base.quantize(64)
    rgba.putalpha(Image.fromarray(picture(160, 120, 7)[..., 0]))
    writers: dict[str, Callable[[Path], Any]] = {
        "large.jpg": lambda path: Image.fromarray(picture(2000, 1300)).save(path, quality=90),
        "grey.png": lambda path: base.convert("L").save(path),
        "bit.png": lambda path: base.convert("1").save(path),
        "palette.png": lambda path: palette.save(path),
        "cmyk.jpg": lambda path: base.convert("CMYK").save(path, quality=95),
        "upright-of-6.jpg": lambda path: base.save(path, exif=turned(6), quality=95),
        "upright-of-5.jpg": lambda path: base.save(path, exif=turned(5), quality=80),
        "rgb16.png": lambda path: write_png16(path, colours.astype(np.uint32) * 251),
        "grey16.png": lambda path: Image.fromarray(colours[..., 0].astype(np.uint16) * 251).save(path),
        "alpha-rgba.png": lambda path: rgba.save(path),
        "alpha-grey.png": lambda path: rgba.convert("LA").save(path),
        "alpha-palette.png": lambda path: palette.save(path, transparency=3),
    }
    for name, write in writers.items():
        write(folder / name)
    return {path.stem: path for path in sorted(folder.iterdir())}


def decode(path: Path) -> Image.Image:
    """The RGB image that other libraries are given of a file."""
    image = ImageOps.exif_transpose(Image.open(path))
    if path.stem == "grey16":
        grey = np.floor(np.asarray(image).astype(float) / 257 + 0.5).astype(np.uint8)
        return Image.fromarray(grey).convert("RGB")
    if path.stem.startswith("alpha"):
        rgba = np.asarray(image.convert("RGBA")).astype(int)
        return Image.fromarray(((rgba[..., :3] * rgba[..., 3:] + 127) // 255).astype(np.uint8))
    return image.convert("RGB")


def of_size(width: int, height: int) -> Photo:
    pixels = picture(width, height)
    return Photo(f"{width}x{height}", Image.fromarray(pixels), pixels)


def photos(folder: Path, read: Callable[[Path], Any]) -> dict[str, Photo]:
    """Writes the images. `read` is the library's reading of a file."""
    return {name: Photo(name, decode(path), read(path), path) for name, path in write_images(folder).items()}
