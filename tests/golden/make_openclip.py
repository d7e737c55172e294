"""Golden values of OpenCLIP's own image tower, by open_clip in float64: one set of weights, and the logits under each
member of vision_cfg that changes what is computed and leaves no trace in the tensors.
usage: make_openclip.py OUTPUT_FOLDER"""
import sys

import torch
from open_clip.model import CLIP
from safetensors.torch import save_file

# The grid has 2 x 4 patches: with the class token that is as many as a square of 3 x 3.
TOWER = {"image_size": [4, 8], "patch_size": 2, "width": 8, "head_width": 4, "layers": 2, "mlp_ratio": 2.0}
TEXT = {"context_length": 4, "vocab_size": 8, "width": 8, "heads": 2, "layers": 1}
MEMBERS = {
    "tok": {},
    "avg": {"pool_type": "avg"},
    "after": {"pool_type": "avg", "final_ln_after_pool": True},
    "clipa": {"pool_type": "avg", "final_ln_after_pool": True, "no_ln_pre": True},
    "eps": {"norm_kwargs": {"eps": 0.03}},
    "tanh": {"act_kwargs": {"approximate": "tanh"}},
}


def tower(members, state):
    visual = CLIP(5, {**TOWER, **members}, TEXT).double().visual.eval()
    if state:
        visual.load_state_dict({name: state[name] for name in visual.state_dict()})
    return visual


def main(folder):
    torch.manual_seed(7)
    whole = tower({}, None)
    state = {name: (torch.rand_like(value) * 0.6 + 0.7 if "ln_" in name and name.endswith("weight")
                    else torch.randn_like(value) * 0.4).float().double() for name, value in whole.state_dict().items()}
    images = torch.randn(2, 3, 4, 8).float().double()
    tensors = {"param.visual." + name: value.float().contiguous() for name, value in state.items()}
    tensors["input"] = images.permute(0, 2, 3, 1).float().contiguous()
    with torch.no_grad():
        for name, members in MEMBERS.items():
            tensors["logits." + name] = tower(members, state)(images).float().contiguous()
    save_file(tensors, folder + "/openclip_tower.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
