"""ShiftViT, ViT and SL-ViT in PyTorch, with the arithmetic of the library's presets: channels last,
every matmul a linear layer."""
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DEPTH, DIM, HEADS, HEAD_DIM, TOKENS, PATCH = 8, 64, 4, 64, 144, 6


def byte_dropout(x: Tensor, rate: float) -> Tensor:
    """Dropout from one random byte for each element, with a rate that is a multiple of 1/256. torch's
    dropout draws a random number for each element, on one thread."""
    dropped = round(256 * rate)
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
    words.random_(torch.iinfo(torch.int64).min, None)
    keep = words.view(torch.uint8)[:x.numel()].view(x.shape) >= dropped
    return x * keep.to(x.dtype).mul_(256 / (256 - dropped))


class Dropout(nn.Module):
    """byte_dropout or torch's dropout, selected by `fast` for the whole program."""
    fast = False

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        return byte_dropout(x, self.rate) if self.fast else F.dropout(x, self.rate)


def patches(x: Tensor, size: int) -> Tensor:
    """[n, h, w, c] to [n, h / size, w / size, size * size * c], elements by row, column, channel."""
    n, h, w, c = x.shape
    x = x.reshape(n, h // size, size, w // size, size, c).transpose(2, 3)
    return x.reshape(n, h // size, w // size, size * size * c)


def shift(x: Tensor, group: int) -> Tensor:
    """The first four groups of channels move by one: left, right, up, down."""
    left, right, up, down, rest = x.split([group] * 4 + [x.shape[3] - 4 * group], dim=3)
    return torch.cat([F.pad(left[:, :, 1:], (0, 0, 0, 1)), F.pad(right[:, :, :-1], (0, 0, 1, 0)),
                      F.pad(up[:, 1:], (0, 0, 0, 0, 0, 1)),
                      F.pad(down[:, :-1], (0, 0, 0, 0, 1, 0)), rest], dim=3)


class ShiftBlock(nn.Module):
    def __init__(self, dim: int, drop_path: float) -> None:
        super().__init__()
        self.group, self.drop_path = dim // 12, drop_path
        self.mlp = nn.Sequential(nn.LayerNorm(dim, eps=1e-5), nn.Linear(dim, 2 * dim), nn.GELU(),
                                 Dropout(0.2), nn.Linear(2 * dim, dim), Dropout(0.2))

    def forward(self, x: Tensor) -> Tensor:
        x = shift(x, self.group)
        y = self.mlp(x)
        if self.training and self.drop_path > 0:
            keep = torch.rand(x.shape[0], 1, 1, 1) >= self.drop_path
            y = y * (keep / (1 - self.drop_path))
        return x + y


class PatchMerging(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)
        self.reduce = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        odd_rows, odd_columns = x.shape[1] % 2, x.shape[2] % 2
        return self.reduce(patches(F.pad(self.norm(x), (0, 0, 0, odd_columns, 0, odd_rows)), 2))


class ShiftViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(48, 96)
        stages: list[nn.Module] = []
        for index, blocks in enumerate((2, 4, 8, 2)):
            dim = 96 << index
            stages += [ShiftBlock(dim, 0.2 * i / (blocks - 1)) for i in range(blocks)]
            if index < 3:
                stages.append(PatchMerging(dim))
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(768, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.embed(patches(x, 4))).mean((1, 2)))


class Attention(nn.Module):
    def __init__(self, local: bool, fused: bool) -> None:
        super().__init__()
        self.fused = fused
        self.qkv = nn.Linear(DIM, 3 * HEADS * HEAD_DIM)
        self.out = nn.Linear(HEADS * HEAD_DIM, DIM)
        self.dropout = Dropout(0.1)
        self.temperature = nn.Parameter(torch.tensor(HEAD_DIM**0.5)) if local else HEAD_DIM**0.5
        diagonal = torch.zeros(TOKENS, TOKENS).fill_diagonal_(float("-inf")) if local else None
        self.register_buffer("mask", diagonal, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        q, k, v = self.qkv(x).view(n, TOKENS, 3, HEADS, HEAD_DIM).permute(2, 0, 3, 1, 4)
        q = q / self.temperature
        if self.fused:
            rate = self.dropout.rate if self.training else 0.0
            y = F.scaled_dot_product_attention(q, k, v, self.mask, dropout_p=rate, scale=1.0)
        else:
            scores = q @ k.transpose(2, 3)
            if self.mask is not None:
                scores = scores + self.mask
            y = self.dropout(scores.softmax(-1)) @ v
        return self.out(y.transpose(1, 2).reshape(n, TOKENS, HEADS * HEAD_DIM))


class Layer(nn.Module):
    def __init__(self, local: bool, fused: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(DIM, eps=1e-6)
        self.attention = Attention(local, fused)
        self.mlp = nn.Sequential(nn.LayerNorm(DIM, eps=1e-6), nn.Linear(DIM, 128), nn.GELU(),
                                 Dropout(0.1), nn.Linear(128, DIM), nn.GELU(), Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


def with_shifted_copies(x: Tensor) -> Tensor:
    """The image and its copies moved left-up, left-down, right-up, right-down by half a patch."""
    half, side = PATCH // 2, x.shape[1]
    wide = F.pad(x, (0, 0, half, half, half, half))
    corners = [(PATCH, PATCH), (0, PATCH), (PATCH, 0), (0, 0)]
    return torch.cat([x] + [wide[:, i:i + side, j:j + side] for i, j in corners], dim=3)


class ViT(nn.Module):
    """ViT, or with `local` SL-ViT."""

    def __init__(self, local: bool, fused: bool) -> None:
        super().__init__()
        width = PATCH * PATCH * 3 * (5 if local else 1)
        self.prepare: Callable[[Tensor], Tensor] = with_shifted_copies if local else nn.Identity()
        norm = [nn.LayerNorm(width, eps=1e-6)] if local else []
        self.embed = nn.Sequential(*norm, nn.Linear(width, DIM))
        self.position = nn.Parameter(torch.empty(TOKENS, DIM).uniform_(-0.05, 0.05))
        self.layers = nn.Sequential(*[Layer(local, fused) for _ in range(DEPTH)])
        self.head = nn.Sequential(nn.LayerNorm(DIM, eps=1e-6), nn.Flatten(), Dropout(0.5),
                                  nn.Linear(TOKENS * DIM, 2048), nn.GELU(), Dropout(0.5),
                                  nn.Linear(2048, 1024), nn.GELU(), Dropout(0.5),
                                  nn.Linear(1024, 100))

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(patches(self.prepare(x), PATCH).flatten(1, 2)) + self.position
        return self.head(self.layers(x))


def build(name: str, fused_attention: bool) -> nn.Module:
    return ShiftViT() if name == "shiftvit" else ViT(name == "slvit", fused_attention)
