"""Golden values of timm's poolings that take the class token as one of the tokens (pool_include_prefix), by timm in
float64: one set of weights, and the logits with attention pooling and with the mean.
usage: make_pools.py OUTPUT_FOLDER"""
import sys

import torch
from safetensors.torch import save_file
from timm.models.vision_transformer import VisionTransformer

MODEL = {"img_size": 16, "patch_size": 8, "embed_dim": 16, "depth": 1, "num_heads": 2, "num_classes": 5,
         "mlp_ratio": 2.0, "init_values": 1.0, "pool_include_prefix": True}


def model(pool, state):
    made = VisionTransformer(**MODEL, global_pool=pool, fc_norm=False).double().eval()
    if state:
        made.load_state_dict({name: state[name] for name in made.state_dict()})
    return made


def main(folder):
    torch.manual_seed(7)
    state = {name: (torch.rand_like(value) * 0.6 + 0.7 if name.endswith(("norm1.weight", "norm2.weight", "norm.weight"))
                    else torch.randn_like(value) * 0.4).float().double()
             for name, value in model("map", None).state_dict().items()}
    images = torch.randn(2, 3, 16, 16).float().double()
    tensors = {"param." + name: value.float().contiguous() for name, value in state.items()}
    tensors["input"] = images.permute(0, 2, 3, 1).float().contiguous()
    with torch.no_grad():
        for pool in ("map", "avg"):
            tensors["logits." + pool] = model(pool, state)(images).float().contiguous()
    save_file(tensors, folder + "/timm_pools.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
