"""Draws tiny models of timm, transformers and OpenCLIP, in usual, rare and strange configurations.

What is drawn are plain objects, which a run can print as JSON and repeat: `library`, `class`, `arguments` of the model
or members of its configuration, and `save`, how it is saved. compare_configurations.py makes the models.
"""

import random
from typing import Any

from random_comparison import ABSENT, Draw, given, one_of


def seldom(rng: random.Random, *values: Any, share: float = 0.05) -> Any:
    return rng.choice(values) if rng.random() < share else ABSENT


def sides_of(rng: random.Random, patch: int) -> Any:
    """The size of the images in one of its forms, which may have more pixels than whole patches."""
    rows, columns, rest = rng.randint(1, 5), rng.randint(1, 5), rng.choice([0, 0, 0, 0, 3])
    return one_of(rng, (6, patch * rows + rest), (2, [patch * rows + rest, patch * columns]), (1, [patch * rows] * 2))


def draw_saving(rng: random.Random) -> dict[str, Any]:
    """How the model is saved: `dtype` of the weights, bytes of each of several files, changes of names, further
    tensors, and the seed of changes of the configuration."""
    return given(dtype=one_of(rng, (12, ABSENT), (2, "f16"), (2, "bf16"), (1, "f64"), (1, "mixed")),
                 shards=seldom(rng, "20KB", "100KB", share=0.15),
                 names=one_of(rng, (24, ABSENT), (1, "module."), (1, "model."), (1, "_orig_mod."), (1, "backbone."),
                              (1, "encoders")),
                 extra=seldom(rng, "position_ids", "unknown", share=0.03),
                 edit=seldom(rng, rng.randint(1, 99), share=0.15),
                 sides=seldom(rng, [rng.randint(2, 6), rng.randint(2, 6)], share=0.25))


#: Models of timm's VisionTransformer and of its Eva. Channels of a head of those that rotate are a multiple of 4.
VITS = ("vit_tiny_patch16_224", "vit_small_patch16_224", "vit_base_patch32_clip_quickgelu_224",
        "vit_base_patch16_clip_224", "deit_tiny_patch16_224", "deit_tiny_distilled_patch16_224",
        "deit3_small_patch16_224", "vit_small_patch14_dinov2", "vit_small_patch14_reg4_dinov2", "flexivit_small",
        "vit_wee_patch16_reg1_gap_256", "vit_dwee_patch16_reg1_gap_256", "vit_pwee_patch16_reg1_gap_256",
        "vit_dpwee_patch16_reg1_gap_256", "vit_base_patch16_siglip_224", "vit_base_patch16_siglip_gap_224",
        "vit_base_patch32_siglip_256", "vit_base_patch16_xp_224", "vit_base_patch16_gap_224", "test_vit", "test_vit2",
        "test_vit3", "test_vit4", "beit3_base_patch16_224", "vit_base_patch16_224_miil", "vit_base_patch14_reg1_tipsv2")
EVAS = ("eva02_tiny_patch14_224", "eva02_base_patch14_224", "eva02_base_patch16_clip_224", "eva_large_patch14_196",
        "vit_small_patch16_rope_224", "vit_small_patch16_rope_ape_224",
        "vit_small_patch16_rope_mixed_224", "vit_small_patch16_rope_mixed_ape_224", "vit_small_patch16_dinov3",
        "vit_small_plus_patch16_dinov3_qkvb", "vit_base_patch16_rope_reg1_gap_256", "vit_pe_core_tiny_patch16_384",
        "vit_pe_spatial_tiny_patch16_512", "vit_pe_lang_large_patch14_448", "vit_base_patch16_lingbot")
#: Models that are to be refused by what they are.
FOREIGN = ("beit_base_patch16_224", "vit_relpos_small_patch16_224", "vit_small_patch16_18x2_224", "mixer_s32_224",
           "naflexvit_base_patch16_gap", "vit_relpos_base_patch16_rpn_224", "cait_xxs24_224", "xcit_nano_12_p16_224",
           "vit_base_patch16_intern300m_448", "samvit_base_patch16_224", "vit_base_r26_s32_224", "gmlp_s16_224",
           "pit_ti_224")


def draw_timm(rng: random.Random) -> Draw:
    name = one_of(rng, (25, rng.choice(VITS)), (16, rng.choice(EVAS)), (1, rng.choice(FOREIGN)))
    if name in FOREIGN:
        return {"library": "timm", "class": name, "arguments": {}, "save": {}}
    heads, patch, eva = rng.randint(1, 4), rng.choice([4, 8, 8, 8, 16]), name in EVAS
    rare = 0.3 if rng.random() < 0.12 else 0.0
    pools = ("token", "avg", "map", "", "max", "avgmax", "prr") if not eva else ("token", "avg", "map", "", "max")
    arguments = given(
        embed_dim=heads * rng.choice([16, 24, 32] if eva else [16, 24, 32, 15]), depth=rng.randint(1, 3),
        num_heads=heads, img_size=sides_of(rng, patch), patch_size=one_of(rng, (9, patch), (1, [patch, patch])),
        in_chans=one_of(rng, (8, ABSENT), (1, 1), (1, 4), (1, 3)),
        num_classes=one_of(rng, (3, 5), (2, 0), (1, 1), (1, 2), (1, 40), (1, ABSENT)),
        global_pool=one_of(rng, (6, ABSENT), (2, "token"), (2, "avg"), (1, "map"), (1, rng.choice(pools))),
        class_token=seldom(rng, True, False, False, share=0.2), no_embed_class=seldom(rng, True, False, share=0.25),
        pool_include_prefix=ABSENT if eva else seldom(rng, True, False, share=0.1),
        mlp_ratio=one_of(rng, (6, ABSENT), (2, 2.0), (1, 3), (1, 2.6667), (1, 1.3)),
        qkv_bias=seldom(rng, True, False, share=0.2), qk_norm=seldom(rng, True, False, share=0.15),
        init_values=one_of(rng, (10, ABSENT), (2, 1e-5), (1, None), (1, 0.5), (1, 0), (1, 1)),
        dynamic_img_size=seldom(rng, True, True, False, share=0.25),
        dynamic_img_pad=seldom(rng, True, False, share=0.04),
        drop_rate=seldom(rng, 0.1), attn_drop_rate=seldom(rng, 0.1), drop_path_rate=seldom(rng, 0.2),
        patch_drop_rate=seldom(rng, 0.3), pos_drop_rate=seldom(rng, 0.1), proj_drop_rate=seldom(rng, 0.1))
    if rng.random() < 0.15:  # the heads, and perhaps the sizes, of the name
        arguments["embed_dim"] = 96
        del arguments["num_heads"]
        for key in rng.choice([["embed_dim"], ["img_size", "patch_size"], []]):
            del arguments[key]
    registers = one_of(rng, (6, ABSENT), (1, 0), (1, 1), (1, 3))
    if eva:
        arguments.update(given(
            num_reg_tokens=registers, use_fc_norm=seldom(rng, True, False, None, share=0.2),
            rope_temperature=seldom(rng, 50.0, 1000, share=0.15), use_abs_pos_emb=seldom(rng, True, False, share=rare),
            swiglu_mlp=seldom(rng, True, False, share=rare), scale_mlp=seldom(rng, True, False, share=rare),
            qkv_fused=seldom(rng, True, False, share=rare), use_rot_pos_emb=seldom(rng, True, False, share=rare),
            attn_pool_num_heads=seldom(rng, 1, None, share=rare),
            use_pre_transformer_norm=seldom(rng, True, False, share=rare)))
    else:
        arguments.update(given(
            reg_tokens=registers, fc_norm=seldom(rng, True, False, None, share=0.2),
            pre_norm=seldom(rng, True, False, share=0.15), weight_init=seldom(rng, "", "skip", "jax"),
            final_norm=seldom(rng, True, False, share=rare), pos_embed=seldom(rng, "", "none", "learn", share=rare),
            fix_init=seldom(rng, True, False, share=rare), scale_attn_norm=seldom(rng, True, False, share=rare),
            scale_mlp_norm=seldom(rng, True, False, share=rare), proj_bias=seldom(rng, True, False, share=rare),
            act_layer=seldom(rng, "gelu_tanh", "quick_gelu", "relu", share=rare),
            norm_layer=seldom(rng, "rmsnorm", "layernorm", share=rare)))
    return given(library="timm", **{"class": name}, arguments=arguments, save=draw_saving(rng),
                 reset=seldom(rng, [3, "avg"], [0, "token"], [4, None], [0, "avg"], share=0.1),
                 resize=seldom(rng, [sides_of(rng, patch), None], [sides_of(rng, 12), 12], share=0.05),
                 wrapper=seldom(rng, "TimmWrapperModel", "TimmWrapperForImageClassification", share=0.1))


#: Classes of transformers by that of their configuration, with how often they are drawn.
CLASSES: dict[str, tuple[int, list[str]]] = {
    "ViTConfig": (4, ["ViTModel", "ViTForImageClassification", "ViTForMaskedImageModeling"]),
    "DeiTConfig": (4, ["DeiTModel", "DeiTForImageClassification", "DeiTForImageClassificationWithTeacher",
                       "DeiTForMaskedImageModeling"]),
    "ViTMAEConfig": (2, ["ViTMAEModel", "ViTMAEForPreTraining"]),
    "ViTMSNConfig": (2, ["ViTMSNModel", "ViTMSNForImageClassification"]),
    "Dinov2Config": (4, ["Dinov2Model", "Dinov2ForImageClassification", "Dinov2Backbone"]),
    "Dinov2WithRegistersConfig": (4, ["Dinov2WithRegistersModel", "Dinov2WithRegistersForImageClassification",
                                      "Dinov2WithRegistersBackbone"]),
    "DINOv3ViTConfig": (4, ["DINOv3ViTModel", "DINOv3ViTBackbone"]),
    "CLIPVisionConfig": (3, ["CLIPVisionModel", "CLIPVisionModelWithProjection"]),
    "CLIPConfig": (2, ["CLIPModel", "CLIPForImageClassification"]),
    "SiglipVisionConfig": (3, ["SiglipVisionModel"]),
    "SiglipConfig": (2, ["SiglipModel", "SiglipForImageClassification"]),
    "Siglip2VisionConfig": (3, ["Siglip2VisionModel"]),
    "Siglip2Config": (2, ["Siglip2Model", "Siglip2ForImageClassification"]),
    "MetaClip2VisionConfig": (2, ["MetaClip2VisionModel", "MetaClip2VisionModelWithProjection"]),
    "MetaClip2Config": (2, ["MetaClip2Model", "MetaClip2ForImageClassification"]),
    "AltCLIPVisionConfig": (2, ["AltCLIPVisionModel"]), "AltCLIPConfig": (2, ["AltCLIPModel"]),
    "ChineseCLIPVisionConfig": (2, ["ChineseCLIPVisionModel"]), "ChineseCLIPConfig": (2, ["ChineseCLIPModel"]),
    "IJepaConfig": (3, ["IJepaModel", "IJepaForImageClassification"]),
    "BeitConfig": (1, ["BeitModel"]), "YolosConfig": (1, ["YolosModel"]),
    "Data2VecVisionConfig": (1, ["Data2VecVisionModel"]), "Aimv2VisionConfig": (1, ["Aimv2VisionModel"])}
#: The configurations of CLIP and its copies begin with these, and those of two towers are TOWERS.
CLIPS = ("CLIP", "AltCLIP", "ChineseCLIP", "MetaClip2")
TOWERS = ("CLIPConfig", "AltCLIPConfig", "MetaClip2Config", "ChineseCLIPConfig", "SiglipConfig", "Siglip2Config")
TEXT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 99}


def draw_members(rng: random.Random, kind: str) -> dict[str, Any]:
    """Members of the configuration of a model or of its image tower."""
    heads, patch = rng.randint(1, 4), rng.choice([4, 8, 8, 16])
    dino, ratio = kind.startswith(("Dinov", "DINO")), kind.startswith("Dinov2")
    members = given(
        hidden_size=heads * rng.choice([16, 24, 32, 16, 24, 32, 20]), num_hidden_layers=rng.randint(1, 3),
        num_attention_heads=heads,
        patch_size=one_of(rng, (9, patch), (1, [patch, patch])),
        num_channels=one_of(rng, (8, ABSENT), (1, 1), (1, 4)),
        hidden_act=one_of(rng, (14, ABSENT), (2, "gelu"), (2, "gelu_new"), (1, "gelu_pytorch_tanh"), (1, "quick_gelu"),
                          (1, "gelu_python"), (1, "gelu_fast"), (1, rng.choice(["relu", "silu", "gelu_10", "tanh"]))),
        layer_norm_eps=one_of(rng, (6, ABSENT), (1, 1e-5), (1, 1e-6), (1, 1e-3)))
    if ratio:
        members.update(given(mlp_ratio=one_of(rng, (2, ABSENT), (2, 2), (1, 3), (1, 1)),
                             use_swiglu_ffn=seldom(rng, True, True, False, share=0.25)))
    else:
        members["intermediate_size"] = rng.choice([48, 100, 128])
    if kind.startswith("Siglip2"):
        members["num_patches"] = one_of(rng, (6, rng.randint(2, 5) ** 2), (1, 6), (1, 12))
    else:
        members["image_size"] = sides_of(rng, patch)
    if not kind.startswith((*CLIPS, "Siglip", "DINOv3", "Aimv2")):
        members.update(given(qkv_bias=seldom(rng, True, False, False, share=0.25)))
    if kind.startswith("Siglip"):
        members.update(given(vision_use_head=seldom(rng, True, False, False, share=0.3)))
    if kind.startswith("DINOv3"):
        members.update(given(
            **{f"{part}_bias": seldom(rng, True, False, share=0.15)
               for part in ("query", "key", "value", "proj", "mlp")},
            use_gated_mlp=seldom(rng, True, False, share=0.25), rope_theta=seldom(rng, 50.0, 100.0, share=0.2),
            pos_embed_rescale=seldom(rng, None, 1.5), pos_embed_jitter=seldom(rng, 0.5)))
        if members.get("use_gated_mlp") and rng.random() < 0.8:
            members["hidden_act"] = rng.choice(["silu", "swish"])
    if kind in ("Dinov2WithRegistersConfig", "DINOv3ViTConfig"):
        members.update(given(num_register_tokens=one_of(rng, (2, ABSENT), (2, 1), (1, 3), (1, 0))))
    if dino:
        members.update(given(
            layerscale_value=seldom(rng, 0.1, 2.0, 0.0, share=0.2), reshape_hidden_states=seldom(rng, False),
            apply_layernorm=seldom(rng, False), out_indices=seldom(rng, [1]), drop_path_rate=seldom(rng, 0.2)))
    if kind == "Dinov2Config":
        members.update(given(use_mask_token=seldom(rng, False, share=0.2)))
    if kind in ("ViTConfig", "DeiTConfig"):
        members.update(given(pooler_output_size=seldom(rng, 24), pooler_act=seldom(rng, "relu"),
                             encoder_stride=patch))
    if kind.startswith(CLIPS):
        members.update(given(projection_dim=one_of(rng, (2, ABSENT), (2, 20), (1, members["hidden_size"]))))
    if kind == "ViTMAEConfig":
        members.update(mask_ratio=0.0, decoder_hidden_size=32, decoder_num_hidden_layers=1,
                       decoder_num_attention_heads=2, decoder_intermediate_size=64)
    return members


#: Members of a configuration that no edit takes away.
SIZES = ("architectures", "model_type", "transformers_version", "hidden_size", "num_hidden_layers", "patch_size",
         "num_attention_heads", "image_size", "intermediate_size", "num_channels", "num_patches", "mlp_ratio", "width",
         "layers", "head_width", "mask_ratio", "timm_model_name", "architecture", "pretrained_cfg", "model_args",
         "embed_dim", "depth", "num_heads", "img_size", "text_config", "vision_config")


def draw_transformers(rng: random.Random) -> Draw:
    kind = one_of(rng, *((weight, kind) for kind, (weight, _) in CLASSES.items()))
    members = draw_members(rng, kind)
    if kind in TOWERS:
        text = {**TEXT, "projection_size": members["hidden_size"]} if "Sig" in kind else TEXT
        members = given(vision_config=members, text_config=text, projection_dim=seldom(rng, 24, share=0.3))
    labels = one_of(rng, (4, ABSENT), (2, 5), (1, 1), (1, 0), (1, 30))
    members.update(given(num_labels=labels, problem_type=seldom(rng, "regression", "multi_label_classification", None)))
    if labels is not ABSENT and labels and rng.random() < 0.3:
        members["id2label"] = {str(index): f"class {index}" for index in range(labels)}
    name, save = rng.choice(CLASSES[kind][1]), draw_saving(rng)
    if "ImageClassification" in name and "DeiT" not in name and rng.random() < 0.1:
        save["lost"] = "architectures"
    return {"library": "transformers", "class": name, "configuration": kind, "arguments": members, "save": save}


def draw_openclip(rng: random.Random) -> Draw:
    patch, heads, channels = rng.choice([4, 8, 8, 16]), rng.randint(1, 3), rng.choice([16, 32])
    if rng.random() < 0.3:
        name = one_of(rng, (16, rng.choice(["test_vit", "test_vit2", "test_vit3", "test_vit4"])),
                      (1, "vit_tiny_patch16_224"), (1, "eva02_tiny_patch14_224"), (1, "vit_small_patch16_rope_224"),
                      (1, "deit3_small_patch16_224"), (1, "convnext_atto"), (1, "beit_base_patch16_224"))
        tower = given(
            timm_model_name=name, image_size=160 if name.startswith("test_") else 224,
            timm_pool=one_of(rng, (4, ABSENT), (3, "token"), (2, "avg"), (2, "map"), (2, ""), (1, "abs_attn")),
            timm_proj=one_of(rng, (4, ABSENT), (2, "linear"), (2, "none"), (2, ""), (1, "mlp"), (1, None)),
            timm_proj_bias=seldom(rng, True, False, share=0.3), timm_drop=seldom(rng, 0.1),
            timm_drop_path=seldom(rng, 0.1, None), patch_dropout=seldom(rng, 0.2), layers=seldom(rng, 12),
            width=seldom(rng, 768))
    else:
        name = ""
        tower = given(
            image_size=sides_of(rng, patch), layers=one_of(rng, (60, rng.randint(1, 3)), (1, [1, 1, 1, 1])),
            width=heads * channels, head_width=one_of(rng, (9, channels), (1, channels - 3),
                                                      (2, ABSENT if heads * channels >= 64 else channels)),
            patch_size=one_of(rng, (9, patch), (1, [patch, patch])), mlp_ratio=seldom(rng, 2.0, 3, 2.3, share=0.3),
            ls_init_value=seldom(rng, 0.1, None, 0.0, share=0.3), patch_dropout=seldom(rng, 0.2, 0.0),
            no_ln_pre=seldom(rng, True, False, share=0.3),
            pos_embed_type=seldom(rng, "learnable", "sin_cos_2d", share=0.3),
            pool_type=one_of(rng, (6, ABSENT), (2, "tok"), (4, "avg"), (1, "none")),
            final_ln_after_pool=seldom(rng, True, False, share=0.3), output_tokens=seldom(rng, False, True),
            act_kwargs=seldom(rng, {"approximate": "tanh"}, {"approximate": "none"}, None, {}, share=0.2),
            norm_kwargs=seldom(rng, {"eps": 1e-6}, {"eps": 1e-3}, None, {}, {"bias": False}, share=0.2),
            block_type=seldom(rng, "default", "custom", None, share=0.2), attentional_pool=seldom(rng, True, False),
            attn_pooler_queries=seldom(rng, 4), **{key: seldom(rng, True, False, share=0.03) for key in (
                "qk_norm", "scaled_cosine_attn", "scale_heads", "scale_attn_inner", "scale_attn", "scale_fc")})
    members = given(embed_dim=one_of(rng, (3, 20), (1, heads * channels)),
                    quick_gelu=seldom(rng, True, False, share=0.3),
                    init_logit_bias=seldom(rng, -10), custom_text=seldom(rng, True, False, share=0.3))
    text = {"context_length": 8, "vocab_size": 99, "width": 16, "heads": 2, "layers": 1}
    return {"library": "openclip", "class": name or "own", "arguments": {**members, "vision_cfg": tower,
            "text_cfg": text}, "save": draw_saving(rng)}
