"""Golden logits of transformers' IJepaForImageClassification in float64, whose tokens are the patches alone.
usage: make_ijepa.py OUTPUT_FOLDER"""
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import IJepaConfig, IJepaForImageClassification

CONFIG = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
          "image_size": [16, 24], "patch_size": 8, "num_labels": 5}


def main(folder):
    torch.manual_seed(11)
    model = IJepaForImageClassification(IJepaConfig(**CONFIG)).double().eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            drawn = torch.randn_like(value) * 0.3 + ("norm" in name and name.endswith("weight"))
            value.copy_(drawn.float())
        images = torch.randn(2, 3, 16, 24).float().double()
        logits = model(images).logits
    with tempfile.TemporaryDirectory() as saved:  # under names of its own
        model.float().save_pretrained(saved)
        tensors = {"param." + name: value for name, value in load_file(saved + "/model.safetensors").items()}
    tensors["input"] = images.permute(0, 2, 3, 1).float().contiguous()
    tensors["logits"] = logits.float().contiguous()
    save_file(tensors, folder + "/family_hf_ijepa.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
