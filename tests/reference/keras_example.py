"""The Keras example "Train a Vision Transformer on small datasets", read from its own text, with the tensors of this
library and the dropout masks that the library draws."""
from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow
from keras import layers, ops
from numpy.typing import NDArray

Array = NDArray[Any]
CLASSES = {"ShiftedPatchTokenization", "PatchEncoder", "MultiHeadAttentionLSA", "mlp", "create_vit_classifier"}
STATISTICS = "data_augmentation.layers[0].adapt(x_train)"
SHRINK, GROUP = 65536, 32  # steps of a dropout rate; tokens that share a word of a mask


def program(path: Path) -> str:
    """The Python of the example, of its page (Markdown) or of its source."""
    text = path.read_text(encoding="utf8")
    return text if path.suffix == ".py" else "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))


def is_needed(node: ast.stmt) -> bool:
    """Whether the model or the augmentation needs a statement: definitions, settings, and no data or drawing."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name in CLASSES
    if isinstance(node, ast.Expr):
        return ast.unparse(node) == STATISTICS
    names = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
    return bool(names) and all(n.isupper() or n in ("diag_attn_mask", "data_augmentation") for n in names)


def load(path: Path, images: Array, augments: bool) -> dict[str, Any]:
    """The names that the example's text defines. Without `augments` its model takes images as they are after the
    augmentation."""
    scope: dict[str, Any] = {"np": np, "math": math, "keras": keras, "ops": ops, "layers": layers, "tf": tensorflow,
                             "x_train": images}
    for node in ast.parse(program(path)).body:
        if not is_needed(node):
            continue
        exec(compile(ast.Module([node], []), str(path), "exec"), scope)
        if getattr(node, "name", "") == "MultiHeadAttentionLSA":
            scope["MultiHeadAttentionLSA"] = accepting(scope["MultiHeadAttentionLSA"])
    if not augments:
        scope["data_augmentation"] = lambda x: x
        scope["INPUT_SHAPE"] = (scope["IMAGE_SIZE"], scope["IMAGE_SIZE"], 3)
    return scope


def accepting(attention: Any) -> Any:
    """The example's attention, which today's Keras calls with an argument more than it takes."""

    class Accepting(attention):  # type: ignore[misc]
        def _compute_attention(self, query: Any, key: Any, value: Any, attention_mask: Any = None,
                               training: Any = None, return_attention_scores: bool = False) -> Any:
            return super()._compute_attention(query, key, value, attention_mask, training)

    return Accepting


FACTORS: dict[int, Array] = {}  # by which a dropout multiplies in training


def multiply(self: Any, inputs: Any, training: bool = False) -> Any:
    return inputs * ops.cast(FACTORS[id(self)], inputs.dtype) if training else inputs


def philox(counter: list[Array], key: tuple[int, int]) -> list[Array]:
    """Philox4x32-10 (Salmon et al. 2011)."""
    c = [np.asarray(x, np.uint64) for x in counter]
    k = [np.uint64(x) for x in key]
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [p1 >> shift ^ c[1] ^ k[0], p1 & low, p0 >> shift ^ c[3] ^ k[1], p0 & low]
        k = [k[0] + np.uint64(0x9E3779B9) & low, k[1] + np.uint64(0xBB67AE85) & low]
    return c


def kept(layer: int, which: int, blocks: int, columns: int, rate: float, seed: int, step: int) -> Array:
    """The factors of dropout `which` of a layer of the library, [32 blocks, columns]: 0, or 1 / (1 - rate)."""
    dropout = 2  # the stream
    limit = int(rate * SHRINK + 0.5)
    words = np.arange(blocks * columns, dtype=np.uint64)
    bits = []
    for quarter in range(4):
        first = np.full_like(words, (layer * 2 + which) * 4 + quarter)
        rest = [np.full_like(words, step), np.full_like(words, dropout << 24)]
        for drawn in philox([words, first, *rest], (seed & 0xFFFFFFFF, seed >> 32)):
            bits += [drawn & np.uint64(0xFFFF), drawn >> np.uint64(16)]
    keep = np.stack(bits).reshape(GROUP, blocks, columns).transpose(1, 0, 2).reshape(GROUP * blocks, columns)
    return np.where(keep >= limit, SHRINK / (SHRINK - limit), 0.0)


class Example:
    """The example's model, without its augmentation, and which of its variables is which tensor of the library. From
    then on all dropout of Keras multiplies by given factors."""

    def __init__(self, scope: dict[str, Any], vanilla: bool) -> None:
        layers.Dropout.call = multiply
        self.model = scope["create_vit_classifier"](vanilla=vanilla)
        self.tokens, self.heads = scope["NUM_PATCHES"], scope["NUM_HEADS"]
        self.depth = scope["TRANSFORMER_LAYERS"]
        self.attentions = self.of(layers.MultiHeadAttention)
        self.dropouts = self.of(layers.Dropout)

    def of(self, kind: Any) -> list[Any]:
        return [layer for layer in self.model.layers if isinstance(layer, kind)]

    def tensors(self) -> Iterator[tuple[str, list[Any], str]]:
        """Names, variables and the change of layout: `t` is a transposed matrix, `q` that with several heads in its
        rows, `p` with several heads in its columns."""
        embedding = next(layer for layer in self.model.layers if hasattr(layer, "position_embedding"))
        patches = next(layer for layer in self.model.layers if hasattr(layer, "flatten_patches"))
        norms, dense = self.of(layers.LayerNormalization), self.of(layers.Dense)
        yield "pos_embed", [embedding.position_embedding.embeddings], ""
        if not patches.vanilla:
            yield from norm("patch_embed.norm", patches.layer_norm)
        yield from linear("patch_embed.proj", patches.projection)
        for i, attention in enumerate(self.attentions):
            name = f"blocks.{i}."
            qkv = [attention._query_dense, attention._key_dense, attention._value_dense]
            yield from norm(name + "norm1", norms[2 * i])
            yield name + "attn.qkv.weight", [x.kernel for x in qkv], "q"
            yield name + "attn.qkv.bias", [x.bias for x in qkv], "f"
            yield name + "attn.proj.weight", [attention._output_dense.kernel], "p"
            yield name + "attn.proj.bias", [attention._output_dense.bias], ""
            if hasattr(attention, "tau"):
                yield name + "attn.tau", [attention.tau], "f"
            yield from norm(name + "norm2", norms[2 * i + 1])
            yield from linear(name + "mlp.fc1", dense[2 * i])
            yield from linear(name + "mlp.fc2", dense[2 * i + 1])
        yield from norm("norm", norms[-1])
        for i, layer in enumerate(dense[2 * self.depth:]):
            yield from linear(f"head.fc{i + 1}", layer)

    def split(self, values: dict[str, Array]) -> Iterator[tuple[Any, Array]]:
        """Each variable, and the array of its shape in the library's tensors."""
        for name, variables, layout in self.tensors():
            for variable, part in zip(variables, np.split(values[name], len(variables))):
                yield variable, from_ours(part, tuple(variable.shape), layout)

    def assign(self, values: dict[str, Array]) -> None:
        for variable, value in self.split(values):
            variable.assign(value)

    def variables_of(self, values: dict[str, Array]) -> dict[int, Array]:
        return {id(variable): value for variable, value in self.split(values)}

    def read(self, of: Any) -> dict[str, Array]:
        """The tensors in the library's layout; of(variable) is the array of one variable."""
        return {name: np.concatenate([to_ours(np.asarray(of(v)), layout) for v in variables])
                for name, variables, layout in self.tensors()}

    def draw(self, images: int, rates: tuple[float, float, float], seed: int, step: int) -> None:
        """Gives each dropout the mask that the library draws in training forward `step`. Rates: of the attention, of
        the MLPs and of the head."""
        attention, inner, head = rates
        blocks = math.ceil(self.tokens / GROUP)
        for i, layer in enumerate(self.attentions):
            count = images * self.heads
            drawn = kept(2 + 2 * i, 0, count * blocks, self.tokens, attention, seed, step)
            drawn = drawn.reshape(images, self.heads, GROUP * blocks, self.tokens)
            FACTORS[id(layer._dropout_layer)] = drawn[:, :, :self.tokens]
        for i, layer in enumerate(self.dropouts):
            in_blocks = i < 2 * self.depth
            rows = images * self.tokens if in_blocks else images
            number = 3 + i // 2 * 2 if in_blocks else 3 + 2 * self.depth + 3 * (i - 2 * self.depth)
            width = layer.output.shape[-1]
            drawn = kept(number, i % 2 if in_blocks else 0, math.ceil(rows / GROUP), width,
                         inner if in_blocks else head, seed, step)
            FACTORS[id(layer)] = drawn[:rows].reshape(images, -1, width) if in_blocks else drawn[:rows]


def norm(name: str, layer: Any) -> Iterator[tuple[str, list[Any], str]]:
    yield name + ".weight", [layer.gamma], ""
    yield name + ".bias", [layer.beta], ""


def linear(name: str, layer: Any) -> Iterator[tuple[str, list[Any], str]]:
    yield name + ".weight", [layer.kernel], "t"
    yield name + ".bias", [layer.bias], ""


def to_ours(x: Array, layout: str) -> Array:
    if layout == "q":
        return x.reshape(x.shape[0], -1).T
    if layout == "p":
        return x.reshape(-1, x.shape[-1]).T
    return x.T if layout == "t" else x.reshape(-1) if layout == "f" else x


def from_ours(x: Array, shape: tuple[int, ...], layout: str) -> Array:
    return (x.T if layout in ("q", "p", "t") else x).reshape(shape)
