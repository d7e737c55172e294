//! `ModelConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::enums::Activation;
use crate::enums::Architecture;
use crate::enums::Attention;
use crate::enums::Block;
use crate::enums::ClassToken;
use crate::enums::DropPathRule;
use crate::enums::Init;
use crate::enums::Mixer;
use crate::enums::Mlp;
use crate::enums::Names;
use crate::enums::Norm;
use crate::enums::Padding;
use crate::enums::Pool;
use crate::enums::PositionTokens;
use crate::enums::Rope;
use crate::enums::RopeAxes;
use crate::enums::RopePairs;
use crate::enums::Shift;
use crate::enums::ShiftGroups;
use crate::enums::SptOrder;
use crate::enums::Stem;
use crate::enums::Temperature;
use crate::enums::Tokenizer;
use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// The configuration of a model. The fields are those of the JSON object. Fields that belong to
    /// other architectures are ignored, but for lora_rank and mask_ratio, which are 0 there; presets and
    /// JSON leave them 0.
    pub struct ModelConfig: svit_model_config, svit_model_config_init {
        /// `Architecture`.
        architecture: Architecture;
        /// Pixels, 1..8192.
        input_height: u32;
        /// Pixels, 1..8192.
        input_width: u32;
        /// Channels of the input image, 1..1024.
        in_channels: u32;
        /// 1\..1048576.
        num_classes: u32;
        /// Pixels, 1..256.
        patch_size: u32;
        /// Channels of a token, 1..65536; in a ShiftViT those of the first stage,
        /// doubled by each patch merging.
        dim: u32;
        /// 1\..65536; each stage must have room for four shift groups.
        num_div: u32;
        /// Pixels of the feature map, 0..8192.
        shift_pixel: u32;
        /// `Shift`.
        shift: Shift;
        /// `ShiftGroups`.
        groups: ShiftGroups;
        /// `Norm`.
        norm: Norm;
        /// True: a norm after the patch embedding.
        patch_norm: bool;
        /// True: a norm before the pooling; of a ShiftViT or a ViT.
        final_norm: bool;
        /// `Padding` of the patch embedding. A ViT has it, too: the input
        /// is whole patches, or with `Padding::Valid` pixels behind the last
        /// whole one are not read, as by timm and transformers.
        patch_padding: Padding;
        /// `Padding` of the patch merging.
        merge_padding: Padding;
        /// True: a classification head; false: the pooled features are the logits, and
        /// num_classes is their number.
        classifier: bool;
        /// `DropPathRule`.
        drop_path_rule: DropPathRule;
        /// `Init`.
        init: Init;
        /// ShiftViT only, above 0, at most 1024: the MLP of a shift block of C
        /// channels has (int)(mlp_ratio \* C) hidden channels, at least 1.
        mlp_ratio: f64;
        /// Above 0: the epsilon of all norms.
        norm_eps: f64;
        /// \[0, 1): rate of dropout (Srivastava et al. 2014).
        dropout: f64;
        /// \[0, 1): rate of DropPath.
        drop_path: f64;
        /// Transformer or mixer blocks, 1..1000.
        depth: u32;
        /// Attention heads, 1..65536.
        heads: u32;
        /// Channels of a head, 1..65536; heads \* head_dim is at most 65536.
        head_dim: u32;
        /// Hidden channels of a block's MLP, 1..1048576; in an MLP-Mixer of the
        /// MLP that mixes channels.
        mlp_dim: u32;
        /// `Tokenizer`.
        tokenizer: Tokenizer;
        /// `SptOrder` of image.h, for `Tokenizer::Spt`.
        spt_order: SptOrder;
        /// `Attention`.
        attention: Attention;
        /// `Temperature`, for `Attention::Lsa`.
        temperature: Temperature;
        /// True: queries, keys and values have biases.
        qkv_bias: bool;
        /// True: GELU also after the second layer of the MLP.
        mlp_last_gelu: bool;
        /// `Pool`.
        pool: Pool;
        /// `Names`.
        names: Names;
        /// ViT: rank of the adapters of LoRA (`Model::add_lora`) in every
        /// attention block, at most dim and heads \* head_dim; 0: none.
        lora_rank: u32;
        /// \[0, 1): dropout rate of the attention weights.
        attention_dropout: f64;
        /// \[0, 1): dropout rate before each layer of the head.
        head_dropout: f64;
        /// `Stem`.
        stem: Stem;
        /// `Mixer`.
        mixer: Mixer;
        /// Learnt tokens after the class token, 0..1024 (Darcet et al. 2023).
        register_tokens: u32;
        /// True: DeiT's distillation token after the class token and a second
        /// linear head on it, whose logits are averaged with the first one's
        /// (Touvron et al. 2020); needs `Pool::ClassToken`.
        distilled: bool;
        /// `PositionTokens`.
        position_tokens: PositionTokens;
        /// The grid of patches, 0..8192, of the position embedding in a file,
        /// which is interpolated while it is loaded; 0: that which a model
        /// file states, or else that of the input or a square. A model has 0
        /// here.
        position_height: u32;
        /// Likewise.
        position_width: u32;
        /// True: the patch embedding has a bias.
        patch_bias: bool;
        /// True: a layer norm before the first block (CLIP).
        pre_norm: bool;
        /// True: a learnt factor for each channel of each residual branch
        /// (Touvron et al. 2021).
        layer_scale: bool;
        /// `Activation`.
        activation: Activation;
        /// `Mlp`.
        mlp: Mlp;
        /// True: a layer norm after the pooling.
        head_norm: bool;
        /// Hidden width of the MLP that mixes tokens, 1..1048576.
        token_mlp_dim: u32;
        /// Above 0 with adapters of LoRA, whose product counts lora_alpha / lora_rank
        /// times; without them 0.
        lora_alpha: f64;
        /// `ClassToken`.
        class_token: ClassToken;
        /// `Rope`.
        rope: Rope;
        /// `RopeAxes`.
        rope_axes: RopeAxes;
        /// `RopePairs`.
        rope_pairs: RopePairs;
        /// Above 0 with rotary position embeddings; without them 0.
        rope_theta: f64;
        /// 0\..8192, for `Rope::Axial`.
        rope_offset: f64;
        /// Rows of the grid, 0..8192, that the model was trained with, for
        /// `Rope::Axial`; 0: those of the input.
        rope_height: u32;
        /// Likewise columns.
        rope_width: u32;
        /// True: of queries, keys and values with biases, those of the keys are 0 and
        /// stay so (EVA-02, DINOv3).
        no_key_bias: bool;
        /// True: a layer norm of the channels of each query and key of a head.
        qk_norm: bool;
        /// True: a layer norm of the heads' outputs before their projection.
        attention_norm: bool;
        /// True: a layer norm of the hidden channels of an MLP before its second
        /// layer (EVA-02).
        mlp_norm: bool;
        /// `Pool::Attention`: heads, of dim / pool_heads channels, 1..dim;
        /// otherwise 0.
        pool_heads: u32;
        /// `Pool::Attention`: hidden channels of its MLP, 1..1048576; otherwise
        /// 0\.
        pool_mlp_dim: u32;
        /// True: all layer norms are root-mean-square norms, which subtract no mean
        /// and have no bias (Zhang, Sennrich 2019).
        rms_norm: bool;
        /// `Block`.
        block: Block;
        /// \[0, 1): part of the patches that is masked; 0: none, and no decoder.
        mask_ratio: f64;
    }
    lists {
        /// Shift blocks in each stage, 0..1000.
        blocks: u32, stages;
        /// Channels of each hidden layer, 1..1048576.
        head_units: u32, head_layers;
    }
    held {
    }
}

json!(ModelConfig, svit_model_config_from_json, svit_model_config_to_json);
