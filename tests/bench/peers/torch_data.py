"""The training pipeline in PyTorch: a batch of 32x32 bytes to a batch of augmented floats."""
import math

import torch
import torch.nn.functional as F
from torch import Tensor


def augment_shiftvit(images: Tensor) -> Tensor:
    """Resizes to 52x52 bilinearly, then crops 48x48 and mirrors at random for each image; values 0 to 1."""
    n = images.shape[0]
    large = F.interpolate(images.permute(0, 3, 1, 2).float().mul_(1 / 255), size=52,
                          mode="bilinear", align_corners=False).permute(0, 2, 3, 1)
    corner = torch.randint(0, 5, (2, n, 1))
    ahead = torch.arange(48).expand(n, 48)
    across = torch.where(torch.rand(n, 1) < 0.5, ahead.flip(1), ahead)
    rows, columns = corner[0] + ahead, corner[1] + across
    return large[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]


def augment_vit(images: Tensor) -> Tensor:
    """Normalised, to 72x72 bilinearly, then mirror, rotation and zoom of each image as one affine
    map that samples bilinearly and reflects at the border."""
    n = images.shape[0]
    mean, deviation = torch.tensor([129.3, 124.1, 112.4]), torch.tensor([68.2, 65.4, 70.4])
    normal = (images.float() - mean) / deviation
    large = F.interpolate(normal.permute(0, 3, 1, 2), size=72, mode="bilinear", align_corners=False)
    angle = (torch.rand(n) * 2 - 1) * 0.02 * 2 * math.pi
    zoom = 1 + (torch.rand(2, n) * 2 - 1) * 0.2
    mirror = torch.where(torch.rand(n) < 0.5, -1.0, 1.0)
    zero = torch.zeros(n)
    across = torch.stack([mirror * zoom[0] * angle.cos(), -mirror * zoom[1] * angle.sin(), zero], 1)
    down = torch.stack([zoom[0] * angle.sin(), zoom[1] * angle.cos(), zero], 1)
    grid = F.affine_grid(torch.stack([across, down], 1), [n, 3, 72, 72], align_corners=False)
    result = F.grid_sample(large, grid, mode="bilinear", padding_mode="reflection",
                           align_corners=False)
    return result.permute(0, 2, 3, 1).contiguous()
