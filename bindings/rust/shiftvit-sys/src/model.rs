//! Models: configuration, parameters and files.

// Written by bindings/rust/generate from the C headers.

// The capacities of `blocks` and `head_units` in svit_model_config.

/// of `blocks`
pub const SVIT_MAX_STAGES: i32 = 8;
/// of `head_units`
pub const SVIT_MAX_HEAD_LAYERS: i32 = 8;

// The family of the model.

/// ShiftViT (Wang et al. 2022)
pub const SVIT_ARCHITECTURE_SHIFTVIT: i32 = 0;
/// ViT (Dosovitskiy et al. 2021); with shifted patch tokenization
/// and locality self-attention, SL-ViT (Lee, Lee, Song 2021)
pub const SVIT_ARCHITECTURE_VIT: i32 = 1;
/// MLP-Mixer (Tolstikhin et al. 2021)
pub const SVIT_ARCHITECTURE_MIXER: i32 = 2;

// What the shift layer of a ShiftViT does with four of its channel groups.

/// shifts each by shift_pixel in one direction, fills with 0 (the paper)
pub const SVIT_SHIFT_TRUE: i32 = 0;
/// leaves them in place, sets one border line to 0 (Keras' example)
pub const SVIT_SHIFT_KERAS: i32 = 1;

// How num_div divides the C channels into shift groups.

/// a group has C / num_div channels
pub const SVIT_GROUPS_CHANNELS: i32 = 0;
/// there are C / num_div groups
pub const SVIT_GROUPS_SECTIONS: i32 = 1;

// The normalisation of a ShiftViT.

/// layer norm: over the C channels of each token
pub const SVIT_NORM_LAYER: i32 = 0;
/// group norm with one group: over height, width and C of each image
pub const SVIT_NORM_GROUP: i32 = 1;

// The padding of the patch embedding and of the patch merging.

/// zeros at the border
pub const SVIT_PADDING_SAME: i32 = 0;
/// none
pub const SVIT_PADDING_VALID: i32 = 1;

// How the DropPath rate (stochastic depth, Huang et al. 2016) grows with depth.

/// linearly from 0 to drop_path over the blocks of each stage
pub const SVIT_DROP_PATH_STAGE: i32 = 0;
/// linearly from 0 to drop_path over all blocks
pub const SVIT_DROP_PATH_NETWORK: i32 = 1;
/// not at all: drop_path in every block
pub const SVIT_DROP_PATH_CONSTANT: i32 = 2;

// The initial weights.

/// Glorot uniform, biases 0 (Keras' examples). "seed" in JSON; the only
/// one of an MLP-Mixer
pub const SVIT_INIT_KERAS: i32 = 0;
/// the papers' code: in a ShiftViT, truncated normal with a standard
/// deviation of 0.02; in a ViT, Xavier normal. "paper" in JSON
pub const SVIT_INIT_PAPER: i32 = 1;
/// as SVIT_INIT_KERAS, but the fans of the attention weights are
/// counted as Keras did up to version 3.14. "keras-3.14" in JSON
pub const SVIT_INIT_KERAS_3_14: i32 = 2;

// How a ViT turns an image into tokens.

/// patches and a linear layer
pub const SVIT_TOKENIZER_PATCH: i32 = 0;
/// shifted patch tokenization (Lee, Lee, Song 2021)
pub const SVIT_TOKENIZER_SPT: i32 = 1;
/// as SVIT_STEM_CONV (Xiao et al. 2021), with patch_bias
pub const SVIT_TOKENIZER_CONV: i32 = 2;

// The attention of a ViT. In differential attention (Ye et al. 2024) each half of the queries and
// keys of a head gives a map of attention weights. The values are weighted by the first map minus
// lambda, which is learnt, times the second one, and each head's output has a root-mean-square
// norm. head_dim is even, rope is SVIT_ROPE_NONE, and qk_norm and attention_norm are 0.

/// scores are divided by sqrt(head_dim)
pub const SVIT_ATTENTION_GLOBAL: i32 = 0;
/// locality self-attention (Lee, Lee, Song 2021): the temperature is
/// learnt and the diagonal of the scores is masked
pub const SVIT_ATTENTION_LSA: i32 = 1;
/// differential attention
pub const SVIT_ATTENTION_DIFFERENTIAL: i32 = 2;

// The temperature of locality self-attention.

/// one a layer, starts at sqrt(head_dim), divides the scores
pub const SVIT_TEMPERATURE_DIVIDE: i32 = 0;
/// one a head, starts at head_dim^-0.5, multiplies the scores
pub const SVIT_TEMPERATURE_MULTIPLY: i32 = 1;

// The stem of a ShiftViT, which makes tokens of the image.

/// a linear map of each patch
pub const SVIT_STEM_PATCH: i32 = 0;
/// a linear map of each patch to twice its values, a GELU, and a linear
/// map to the tokens. svit_model_whiten gives the first map the whitening
/// filters of training images and their negatives (Jordan 2024)
pub const SVIT_STEM_WHITENED: i32 = 1;
/// two convolutions of 3 x 3 pixels with zero padding: to half of `dim`,
/// with the stride patch_size / 2; a GELU; to `dim`, with the stride 2.
/// patch_size is 2 or 4, `dim` is even, patch_padding is "same"
pub const SVIT_STEM_CONV: i32 = 2;

// What mixes the tokens of a ShiftViT before each MLP.

/// the shift of four groups of channels
pub const SVIT_MIXER_SHIFT: i32 = 0;
/// a depthwise convolution with a residual connection, in place of the
/// shift: x + conv(x), 3 x 3 taps for each channel, zero padding and
/// bias. Its parameters are "dwconv" of each block
pub const SVIT_MIXER_DEPTHWISE: i32 = 1;

// What the head of a ViT takes as its input. Unless `class_token` says otherwise, the model has a
// class token with SVIT_POOL_CLASS_TOKEN, SVIT_POOL_MEAN_PATCHES and SVIT_POOL_CLASS_MEAN.

/// all tokens, one after another
pub const SVIT_POOL_FLATTEN: i32 = 0;
/// the class token; in a distilled model also the distillation
/// token
pub const SVIT_POOL_CLASS_TOKEN: i32 = 1;
/// the mean of the tokens
pub const SVIT_POOL_MEAN: i32 = 2;
/// the mean of the patches, without class and register tokens
pub const SVIT_POOL_MEAN_PATCHES: i32 = 3;
/// the class token and that mean, one after the other
pub const SVIT_POOL_CLASS_MEAN: i32 = 4;
/// attention pooling (Lee et al. 2019; Zhai et al. 2023): one learnt
/// query attends to all tokens, a residual MLP follows
pub const SVIT_POOL_ATTENTION: i32 = 5;

// Whether a ViT has a class token.

/// as `pool` says
pub const SVIT_CLASS_TOKEN_BY_POOL: i32 = 0;
/// never; with SVIT_POOL_MEAN, SVIT_POOL_MEAN_PATCHES,
/// SVIT_POOL_FLATTEN and SVIT_POOL_ATTENTION
pub const SVIT_CLASS_TOKEN_NONE: i32 = 1;
/// always
pub const SVIT_CLASS_TOKEN_PRESENT: i32 = 2;

// Rotary position embeddings of a ViT (Su et al. 2021): the queries and keys of patches are rotated
// by angles that grow with their places in the grid, pair of channels by pair. Tokens before the
// patches are not rotated. With d the channels of a head, and rope_theta the base:
// SVIT_ROPE_AXIAL and SVIT_ROPE_CENTRED give the first d / 4 pairs to one axis of the grid and the
// others to the other one; pair j of an axis turns by place * f(j). d is a multiple of 4.

/// no rotation
pub const SVIT_ROPE_NONE: i32 = 0;
/// f(j) = rope_theta^(-4 j / d), place = (index + rope_offset), counted
/// from 0; with rope_height and rope_width times that size by the
/// grid's (EVA-02, Fang et al. 2023)
pub const SVIT_ROPE_AXIAL: i32 = 1;
/// f(j) = 2 pi rope_theta^(-4 j / d), place = 2 (index + 1/2) / (size of
/// the axis) - 1 (DINOv3, Simeoni et al. 2025)
pub const SVIT_ROPE_CENTRED: i32 = 2;
/// each block and head has learnt frequencies for both axes, whose angles
/// add up (Heo et al. 2024); rope_theta gives their initial values
pub const SVIT_ROPE_MIXED: i32 = 3;

// Which axis of the grid the first half of the angles belongs to.

/// the number of the row ("ij" in timm)
pub const SVIT_ROPE_AXES_ROWS_FIRST: i32 = 0;
/// the number of the column ("xy" in timm)
pub const SVIT_ROPE_AXES_COLUMNS_FIRST: i32 = 1;

// Which channels of a head a rotary position embedding rotates together.

/// 2 j and 2 j + 1
pub const SVIT_ROPE_PAIRS_NEIGHBOURS: i32 = 0;
/// j and j + d / 2
pub const SVIT_ROPE_PAIRS_HALVES: i32 = 1;

// The tokens of a ViT that have position embeddings. The order of tokens is: class, distillation,
// registers, patches.

/// all tokens
pub const SVIT_POSITION_ALL: i32 = 0;
/// the patches alone (timm's models with registers)
pub const SVIT_POSITION_PATCHES: i32 = 1;
/// all but the registers (Hugging Face's)
pub const SVIT_POSITION_CLASS_PATCHES: i32 = 2;
/// none: the model has no position embedding
pub const SVIT_POSITION_NONE: i32 = 3;

// The activation after the first layer of a ViT's MLP.

/// x Phi(x) (Hendrycks, Gimpel 2016)
pub const SVIT_ACTIVATION_GELU: i32 = 0;
/// its approximation by tanh
pub const SVIT_ACTIVATION_GELU_TANH: i32 = 1;
/// x sigmoid(1.702 x) (OpenAI's CLIP)
pub const SVIT_ACTIVATION_QUICK_GELU: i32 = 2;

// The MLP of a ViT.

/// two linear layers with the activation between them
pub const SVIT_MLP_PLAIN: i32 = 0;
/// W3 (silu(W1 x) \* (W2 x)) (Shazeer 2020), mlp_dim the width of each half.
/// "mlp.fc1" has the rows of W1, then those of W2
pub const SVIT_MLP_SWIGLU: i32 = 1;

// The blocks of a ViT. A parallel block (Dehghani et al. 2023) has one norm, "norm1", one
// LayerScale, "ls1.gamma", and one DropPath.

/// y = x + attention(norm1(x)), then y + mlp(norm2(y))
pub const SVIT_BLOCK_SEQUENTIAL: i32 = 0;
/// x + attention(norm1(x)) + mlp(norm1(x))
pub const SVIT_BLOCK_PARALLEL: i32 = 1;
/// the same without a bias of the attention's projection, so that
/// it and the second layer of the MLP are one linear map
pub const SVIT_BLOCK_PARALLEL_FUSED: i32 = 2;

// The names of a ViT's parameters in files.

/// names in timm's style. "seed" in JSON
pub const SVIT_NAMES_TIMM: i32 = 0;
/// names of the SL-ViT paper's code. "paper" in JSON
pub const SVIT_NAMES_PAPER: i32 = 1;

// What a predictor makes of the logits.

/// not stated: what the model's file says, otherwise softmax
pub const SVIT_OUTPUT_AUTO: i32 = 0;
/// probabilities of classes, which sum to 1
pub const SVIT_OUTPUT_SOFTMAX: i32 = 1;
/// the probability of each label by itself, for several labels
pub const SVIT_OUTPUT_SIGMOID: i32 = 2;
/// the logits as they are, also for models that predict numbers
pub const SVIT_OUTPUT_LOGITS: i32 = 3;

// How the parameters of a file are stored.

/// float32: keeps every bit
pub const SVIT_DTYPE_F32: i32 = 0;
/// float16, rounded to nearest
pub const SVIT_DTYPE_F16: i32 = 1;
/// bfloat16, rounded to nearest
pub const SVIT_DTYPE_BF16: i32 = 2;
/// each row (the first axis) of a tensor of rank 2 or more as whole numbers
/// in -127..127 and a float32 scale, the row's largest magnitude / 127, in
/// a tensor of the name with ".scale" after it; a row whose scale would be
/// below 1.2e-38 becomes 0. Other tensors stay float32
pub const SVIT_DTYPE_I8: i32 = 3;

/// A model is a configuration with its parameters, class names and preprocessing. Any number of
/// threads may read it. A call that changes it (svit_model_set_parameter, svit_step and the like)
/// needs it alone.
#[repr(C)]
pub struct svit_model {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// The configuration of a model. The fields are those of the JSON object. Fields that belong to
/// other architectures are ignored, but for lora_rank and mask_ratio, which are 0 there; presets and
/// JSON leave them 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_model_config {
    /// sizeof(svit_model_config)
    pub struct_size: u32,
    /// SVIT_ARCHITECTURE_\*
    pub architecture: i32,
    /// pixels, 1..8192
    pub input_height: u32,
    /// pixels, 1..8192
    pub input_width: u32,
    /// channels of the input image, 1..1024
    pub in_channels: u32,
    /// 1\..1048576
    pub num_classes: u32,
    /// pixels, 1..256
    pub patch_size: u32,
    /// channels of a token, 1..65536; in a ShiftViT those of the first stage,
    /// doubled by each patch merging
    pub dim: u32,
    /// 1\..SVIT_MAX_STAGES
    pub stages: u32,
    /// shift blocks in each stage, 0..1000
    pub blocks: [u32; 8],
    /// 1\..65536; each stage must have room for four shift groups
    pub num_div: u32,
    /// pixels of the feature map, 0..8192
    pub shift_pixel: u32,
    /// SVIT_SHIFT_\*
    pub shift: i32,
    /// SVIT_GROUPS_\*
    pub groups: i32,
    /// SVIT_NORM_\*
    pub norm: i32,
    /// 1: a norm after the patch embedding
    pub patch_norm: i32,
    /// 1: a norm before the pooling; of a ShiftViT or a ViT
    pub final_norm: i32,
    /// SVIT_PADDING_\* of the patch embedding. A ViT has it, too: the input
    /// is whole patches, or with SVIT_PADDING_VALID pixels behind the last
    /// whole one are not read, as by timm and transformers
    pub patch_padding: i32,
    /// SVIT_PADDING_\* of the patch merging
    pub merge_padding: i32,
    /// 1: a classification head; 0: the pooled features are the logits, and
    /// num_classes is their number
    pub classifier: i32,
    /// SVIT_DROP_PATH_\*
    pub drop_path_rule: i32,
    /// SVIT_INIT_\*
    pub init: i32,
    /// 0; another value is SVIT_E_VERSION
    pub reserved: u32,
    /// ShiftViT only, above 0, at most 1024: the MLP of a shift block of C
    /// channels has (int)(mlp_ratio \* C) hidden channels, at least 1
    pub mlp_ratio: f64,
    /// above 0: the epsilon of all norms
    pub norm_eps: f64,
    /// \[0, 1): rate of dropout (Srivastava et al. 2014)
    pub dropout: f64,
    /// \[0, 1): rate of DropPath
    pub drop_path: f64,
    /// transformer or mixer blocks, 1..1000
    pub depth: u32,
    /// attention heads, 1..65536
    pub heads: u32,
    /// channels of a head, 1..65536; heads \* head_dim is at most 65536
    pub head_dim: u32,
    /// hidden channels of a block's MLP, 1..1048576; in an MLP-Mixer of the
    /// MLP that mixes channels
    pub mlp_dim: u32,
    /// SVIT_TOKENIZER_\*
    pub tokenizer: i32,
    /// SVIT_SPT_\* of image.h, for SVIT_TOKENIZER_SPT
    pub spt_order: i32,
    /// SVIT_ATTENTION_\*
    pub attention: i32,
    /// SVIT_TEMPERATURE_\*, for SVIT_ATTENTION_LSA
    pub temperature: i32,
    /// 1: queries, keys and values have biases
    pub qkv_bias: i32,
    /// 1: GELU also after the second layer of the MLP
    pub mlp_last_gelu: i32,
    /// SVIT_POOL_\*
    pub pool: i32,
    /// hidden layers of the classification head, 0..SVIT_MAX_HEAD_LAYERS
    pub head_layers: u32,
    /// channels of each hidden layer, 1..1048576
    pub head_units: [u32; 8],
    /// SVIT_NAMES_\*
    pub names: i32,
    /// ViT: rank of the adapters of LoRA (svit_model_add_lora) in every
    /// attention block, at most dim and heads \* head_dim; 0: none
    pub lora_rank: u32,
    /// \[0, 1): dropout rate of the attention weights
    pub attention_dropout: f64,
    /// \[0, 1): dropout rate before each layer of the head
    pub head_dropout: f64,
    /// SVIT_STEM_\*
    pub stem: i32,
    /// SVIT_MIXER_\*
    pub mixer: i32,
    /// learnt tokens after the class token, 0..1024 (Darcet et al. 2023)
    pub register_tokens: u32,
    /// 1: DeiT's distillation token after the class token and a second
    /// linear head on it, whose logits are averaged with the first one's
    /// (Touvron et al. 2020); needs SVIT_POOL_CLASS_TOKEN
    pub distilled: i32,
    /// SVIT_POSITION_\*
    pub position_tokens: i32,
    /// the grid of patches, 0..8192, of the position embedding in a file,
    /// which is interpolated while it is loaded; 0: that which a model
    /// file states, or else that of the input or a square. A model has 0
    /// here
    pub position_height: u32,
    /// likewise
    pub position_width: u32,
    /// 1: the patch embedding has a bias
    pub patch_bias: i32,
    /// 1: a layer norm before the first block (CLIP)
    pub pre_norm: i32,
    /// 1: a learnt factor for each channel of each residual branch
    /// (Touvron et al. 2021)
    pub layer_scale: i32,
    /// SVIT_ACTIVATION_\*
    pub activation: i32,
    /// SVIT_MLP_\*
    pub mlp: i32,
    /// 1: a layer norm after the pooling
    pub head_norm: i32,
    /// hidden width of the MLP that mixes tokens, 1..1048576
    pub token_mlp_dim: u32,
    /// above 0 with adapters of LoRA, whose product counts lora_alpha / lora_rank
    /// times; without them 0
    pub lora_alpha: f64,
    /// SVIT_CLASS_TOKEN_\*
    pub class_token: i32,
    /// SVIT_ROPE_\*
    pub rope: i32,
    /// SVIT_ROPE_AXES_\*
    pub rope_axes: i32,
    /// SVIT_ROPE_PAIRS_\*
    pub rope_pairs: i32,
    /// above 0 with rotary position embeddings; without them 0
    pub rope_theta: f64,
    /// 0\..8192, for SVIT_ROPE_AXIAL
    pub rope_offset: f64,
    /// rows of the grid, 0..8192, that the model was trained with, for
    /// SVIT_ROPE_AXIAL; 0: those of the input
    pub rope_height: u32,
    /// likewise columns
    pub rope_width: u32,
    /// 1: of queries, keys and values with biases, those of the keys are 0 and
    /// stay so (EVA-02, DINOv3)
    pub no_key_bias: i32,
    /// 1: a layer norm of the channels of each query and key of a head
    pub qk_norm: i32,
    /// 1: a layer norm of the heads' outputs before their projection
    pub attention_norm: i32,
    /// 1: a layer norm of the hidden channels of an MLP before its second
    /// layer (EVA-02)
    pub mlp_norm: i32,
    /// SVIT_POOL_ATTENTION: heads, of dim / pool_heads channels, 1..dim;
    /// otherwise 0
    pub pool_heads: u32,
    /// SVIT_POOL_ATTENTION: hidden channels of its MLP, 1..1048576; otherwise
    /// 0
    pub pool_mlp_dim: u32,
    /// 1: all layer norms are root-mean-square norms, which subtract no mean
    /// and have no bias (Zhang, Sennrich 2019)
    pub rms_norm: i32,
    /// SVIT_BLOCK_\*
    pub block: i32,
    /// \[0, 1): part of the patches that is masked; 0: none, and no decoder
    pub mask_ratio: f64,
}
