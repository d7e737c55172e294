"""Writes ShiftViT, ViT and SL-ViT as ONNX files, with the arithmetic of the library's presets at
inference and random weights, for the peers that are measured in inference only."""
import os
import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import peer

DEPTH, DIM, HEADS, HEAD_DIM, TOKENS, PATCH = 8, 64, 4, 64, 144, 6
OPSET = 20  # the first with Gelu


class Graph:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self, batch: int) -> None:
        self.batch, self.parameters = batch, 0
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.random = numpy.random.default_rng(0)

    def node(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: object, kind: type = numpy.int64) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(numpy.asarray(values, kind), name))
        return name

    def weight(self, *shape: int) -> str:
        self.parameters += int(numpy.prod(shape))
        deviation = (shape[0] if len(shape) > 1 else 100) ** -0.5
        return self.constant(self.random.normal(0, deviation, shape), numpy.float32)

    def reshape(self, x: str, *shape: int) -> str:
        return self.node("Reshape", x, self.constant(shape))

    def linear(self, x: str, inputs: int, outputs: int, bias: bool = True) -> str:
        y = self.node("MatMul", x, self.weight(inputs, outputs))
        return self.node("Add", y, self.weight(outputs)) if bias else y

    def norm(self, x: str, size: int, epsilon: float) -> str:
        return self.node("LayerNormalization", x, self.weight(size), self.weight(size),
                         epsilon=epsilon)

    def patches(self, x: str, side: int, channels: int, size: int) -> str:
        """[n, side, side, c] to [n, side / size, side / size, size * size * c]."""
        count = side // size
        x = self.reshape(x, self.batch, count, size, count, size, channels)
        x = self.node("Transpose", x, perm=[0, 1, 3, 2, 4, 5])
        return self.reshape(x, self.batch, count, count, size * size * channels)

    def moved(self, x: str, down: int, right: int) -> str:
        """Shifts by `down` rows and `right` columns with zero fill; negative pads crop."""
        pads = [0, down, right, 0, 0, -down, -right, 0]
        return self.node("Pad", x, self.constant(pads))


def shift_block(graph: Graph, x: str, dim: int) -> str:
    group = dim // 12
    names = [f"{x}_{part}" for part in range(5)]
    sizes = graph.constant([group] * 4 + [dim - 4 * group])
    graph.nodes.append(helper.make_node("Split", [x, sizes], names, axis=3))
    moves = [(0, -1), (0, 1), (-1, 0), (1, 0)]  # left, right, up, down
    parts = [graph.moved(name, *move) for name, move in zip(names, moves)]
    x = graph.node("Concat", *parts, names[4], axis=3)
    y = graph.node("Gelu", graph.linear(graph.norm(x, dim, 1e-5), dim, 2 * dim))
    return graph.node("Add", x, graph.linear(y, 2 * dim, dim))


def shiftvit(graph: Graph, x: str) -> str:
    side, dim = 12, 96
    x = graph.linear(graph.patches(x, 48, 3, 4), 48, dim)
    for index, blocks in enumerate((2, 4, 8, 2)):
        for _ in range(blocks):
            x = shift_block(graph, x, dim)
        if index < 3:
            x = graph.norm(x, dim, 1e-5)
            if side % 2:
                x = graph.node("Pad", x, graph.constant([0, 0, 0, 0, 0, 1, 1, 0]))
            side = (side + 1) // 2
            x = graph.linear(graph.patches(x, 2 * side, dim, 2), 4 * dim, 2 * dim, bias=False)
            dim *= 2
    x = graph.node("ReduceMean", x, graph.constant([1, 2]), keepdims=0)
    return graph.linear(x, dim, 10)


def attention(graph: Graph, x: str, local: bool) -> str:
    def heads(order: list[int]) -> str:
        y = graph.linear(x, DIM, HEADS * HEAD_DIM)
        return graph.node("Transpose", graph.reshape(y, graph.batch, TOKENS, HEADS, HEAD_DIM),
                          perm=order)

    q, k, v = heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3])
    temperature = graph.constant(HEAD_DIM**0.5, numpy.float32)
    scores = graph.node("MatMul", graph.node("Div", q, temperature), k)
    if local:
        graph.parameters += 1  # the temperature
        mask = numpy.where(numpy.eye(TOKENS) > 0, -numpy.inf, 0)
        scores = graph.node("Add", scores, graph.constant(mask, numpy.float32))
    y = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), v)
    y = graph.reshape(graph.node("Transpose", y, perm=[0, 2, 1, 3]), graph.batch, TOKENS,
                      HEADS * HEAD_DIM)
    return graph.linear(y, HEADS * HEAD_DIM, DIM)


def vit(graph: Graph, x: str, local: bool) -> str:
    half, channels = PATCH // 2, 3
    if local:
        moves = [(-half, -half), (half, -half), (-half, half), (half, half)]
        x = graph.node("Concat", x, *[graph.moved(x, *move) for move in moves], axis=3)
        channels = 15
    width = PATCH * PATCH * channels
    x = graph.reshape(graph.patches(x, 72, channels, PATCH), graph.batch, TOKENS, width)
    x = graph.linear(graph.norm(x, width, 1e-6) if local else x, width, DIM)
    x = graph.node("Add", x, graph.weight(TOKENS, DIM))
    for _ in range(DEPTH):
        x = graph.node("Add", x, attention(graph, graph.norm(x, DIM, 1e-6), local))
        y = graph.node("Gelu", graph.linear(graph.norm(x, DIM, 1e-6), DIM, 128))
        x = graph.node("Add", x, graph.node("Gelu", graph.linear(y, 128, DIM)))
    x = graph.reshape(graph.norm(x, DIM, 1e-6), graph.batch, TOKENS * DIM)
    x = graph.node("Gelu", graph.linear(x, TOKENS * DIM, 2048))
    return graph.linear(graph.node("Gelu", graph.linear(x, 2048, 1024)), 1024, 100)


def make(name: str, batch: int) -> onnx.ModelProto:
    graph = Graph(batch)
    y = shiftvit(graph, "x") if name == "shiftvit" else vit(graph, "x", name == "slvit")
    peer.check_parameters(name, graph.parameters)
    whole = helper.make_graph(
        graph.nodes, name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (batch, *peer.SHAPES[name]))],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, (batch, peer.CLASSES[name]))],
        graph.tensors)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)],
                              ir_version=9)
    onnx.checker.check_model(model)
    return model


def write(name: str, batch: int, path: Path) -> None:
    """Writes the file atomically, since two peers may write it at the same time."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(make(name, batch).SerializeToString())
    os.replace(file.name, path)
