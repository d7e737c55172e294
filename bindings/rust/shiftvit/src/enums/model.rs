//! The choices of `model.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The family of the model.
    pub enum Architecture {
        /// ShiftViT (Wang et al. 2022).
        Shiftvit = SVIT_ARCHITECTURE_SHIFTVIT,
        /// ViT (Dosovitskiy et al. 2021); with shifted patch tokenization
        /// and locality self-attention, SL-ViT (Lee, Lee, Song 2021).
        Vit = SVIT_ARCHITECTURE_VIT,
        /// MLP-Mixer (Tolstikhin et al. 2021).
        Mixer = SVIT_ARCHITECTURE_MIXER,
    }
}

enumeration! {
    /// What the shift layer of a ShiftViT does with four of its channel groups.
    pub enum Shift {
        /// Shifts each by shift_pixel in one direction, fills with 0 (the paper).
        True = SVIT_SHIFT_TRUE,
        /// Leaves them in place, sets one border line to 0 (Keras' example).
        Keras = SVIT_SHIFT_KERAS,
    }
}

enumeration! {
    /// How num_div divides the C channels into shift groups.
    pub enum ShiftGroups {
        /// A group has C / num_div channels.
        Channels = SVIT_GROUPS_CHANNELS,
        /// There are C / num_div groups.
        Sections = SVIT_GROUPS_SECTIONS,
    }
}

enumeration! {
    /// The normalisation of a ShiftViT.
    pub enum Norm {
        /// Layer norm: over the C channels of each token.
        Layer = SVIT_NORM_LAYER,
        /// Group norm with one group: over height, width and C of each image.
        Group = SVIT_NORM_GROUP,
    }
}

enumeration! {
    /// The padding of the patch embedding and of the patch merging.
    pub enum Padding {
        /// Zeros at the border.
        Same = SVIT_PADDING_SAME,
        /// None.
        Valid = SVIT_PADDING_VALID,
    }
}

enumeration! {
    /// How the DropPath rate (stochastic depth, Huang et al. 2016) grows with depth.
    pub enum DropPathRule {
        /// Linearly from 0 to drop_path over the blocks of each stage.
        Stage = SVIT_DROP_PATH_STAGE,
        /// Linearly from 0 to drop_path over all blocks.
        Network = SVIT_DROP_PATH_NETWORK,
        /// Not at all: drop_path in every block.
        Constant = SVIT_DROP_PATH_CONSTANT,
    }
}

enumeration! {
    /// The initial weights.
    pub enum Init {
        /// Glorot uniform, biases 0 (Keras' examples). "seed" in JSON; the only
        /// one of an MLP-Mixer.
        Keras = SVIT_INIT_KERAS,
        /// The papers' code: in a ShiftViT, truncated normal with a standard
        /// deviation of 0.02; in a ViT, Xavier normal. "paper" in JSON.
        Paper = SVIT_INIT_PAPER,
        /// As `Init::Keras`, but the fans of the attention weights are
        /// counted as Keras did up to version 3.14. "keras-3.14" in JSON.
        Keras314 = SVIT_INIT_KERAS_3_14,
    }
}

enumeration! {
    /// How a ViT turns an image into tokens.
    pub enum Tokenizer {
        /// Patches and a linear layer.
        Patch = SVIT_TOKENIZER_PATCH,
        /// Shifted patch tokenization (Lee, Lee, Song 2021).
        Spt = SVIT_TOKENIZER_SPT,
        /// As `Stem::Conv` (Xiao et al. 2021), with patch_bias.
        Conv = SVIT_TOKENIZER_CONV,
    }
}

enumeration! {
    /// The attention of a ViT. In differential attention (Ye et al. 2024) each half of the queries and
    /// keys of a head gives a map of attention weights. The values are weighted by the first map minus
    /// lambda, which is learnt, times the second one, and each head's output has a root-mean-square
    /// norm. head_dim is even, rope is `Rope::None`, and qk_norm and attention_norm are 0.
    pub enum Attention {
        /// Scores are divided by sqrt(head_dim).
        Global = SVIT_ATTENTION_GLOBAL,
        /// Locality self-attention (Lee, Lee, Song 2021): the temperature is
        /// learnt and the diagonal of the scores is masked.
        Lsa = SVIT_ATTENTION_LSA,
        /// Differential attention.
        Differential = SVIT_ATTENTION_DIFFERENTIAL,
    }
}

enumeration! {
    /// The temperature of locality self-attention.
    pub enum Temperature {
        /// One a layer, starts at sqrt(head_dim), divides the scores.
        Divide = SVIT_TEMPERATURE_DIVIDE,
        /// One a head, starts at head_dim^-0.5, multiplies the scores.
        Multiply = SVIT_TEMPERATURE_MULTIPLY,
    }
}

enumeration! {
    /// The stem of a ShiftViT, which makes tokens of the image.
    pub enum Stem {
        /// A linear map of each patch.
        Patch = SVIT_STEM_PATCH,
        /// A linear map of each patch to twice its values, a GELU, and a linear
        /// map to the tokens. `Model::whiten` gives the first map the whitening
        /// filters of training images and their negatives (Jordan 2024).
        Whitened = SVIT_STEM_WHITENED,
        /// Two convolutions of 3 x 3 pixels with zero padding: to half of `dim`,
        /// with the stride patch_size / 2; a GELU; to `dim`, with the stride 2.
        /// patch_size is 2 or 4, `dim` is even, patch_padding is "same".
        Conv = SVIT_STEM_CONV,
    }
}

enumeration! {
    /// What mixes the tokens of a ShiftViT before each MLP.
    pub enum Mixer {
        /// The shift of four groups of channels.
        Shift = SVIT_MIXER_SHIFT,
        /// A depthwise convolution with a residual connection, in place of the
        /// shift: x + conv(x), 3 x 3 taps for each channel, zero padding and
        /// bias. Its parameters are "dwconv" of each block.
        Depthwise = SVIT_MIXER_DEPTHWISE,
    }
}

enumeration! {
    /// What the head of a ViT takes as its input. Unless `class_token` says otherwise, the model has a
    /// class token with `Pool::ClassToken`, `Pool::MeanPatches` and `Pool::ClassMean`.
    pub enum Pool {
        /// All tokens, one after another.
        Flatten = SVIT_POOL_FLATTEN,
        /// The class token; in a distilled model also the distillation
        /// token.
        ClassToken = SVIT_POOL_CLASS_TOKEN,
        /// The mean of the tokens.
        Mean = SVIT_POOL_MEAN,
        /// The mean of the patches, without class and register tokens.
        MeanPatches = SVIT_POOL_MEAN_PATCHES,
        /// The class token and that mean, one after the other.
        ClassMean = SVIT_POOL_CLASS_MEAN,
        /// Attention pooling (Lee et al. 2019; Zhai et al. 2023): one learnt
        /// query attends to all tokens, a residual MLP follows.
        Attention = SVIT_POOL_ATTENTION,
    }
}

enumeration! {
    /// Whether a ViT has a class token.
    pub enum ClassToken {
        /// As `pool` says.
        ByPool = SVIT_CLASS_TOKEN_BY_POOL,
        /// Never; with `Pool::Mean`, `Pool::MeanPatches`,
        /// `Pool::Flatten` and `Pool::Attention`.
        None = SVIT_CLASS_TOKEN_NONE,
        /// Always.
        Present = SVIT_CLASS_TOKEN_PRESENT,
    }
}

enumeration! {
    /// Rotary position embeddings of a ViT (Su et al. 2021): the queries and keys of patches are rotated
    /// by angles that grow with their places in the grid, pair of channels by pair. Tokens before the
    /// patches are not rotated. With d the channels of a head, and rope_theta the base:
    /// `Rope::Axial` and `Rope::Centred` give the first d / 4 pairs to one axis of the grid and the
    /// others to the other one; pair j of an axis turns by place \* f(j). d is a multiple of 4.
    pub enum Rope {
        /// No rotation.
        None = SVIT_ROPE_NONE,
        /// F(j) = rope_theta^(-4 j / d), place = (index + rope_offset), counted
        /// from 0; with rope_height and rope_width times that size by the
        /// grid's (EVA-02, Fang et al. 2023).
        Axial = SVIT_ROPE_AXIAL,
        /// F(j) = 2 pi rope_theta^(-4 j / d), place = 2 (index + 1/2) / (size of
        /// the axis) - 1 (DINOv3, Simeoni et al. 2025).
        Centred = SVIT_ROPE_CENTRED,
        /// Each block and head has learnt frequencies for both axes, whose angles
        /// add up (Heo et al. 2024); rope_theta gives their initial values.
        Mixed = SVIT_ROPE_MIXED,
    }
}

enumeration! {
    /// Which axis of the grid the first half of the angles belongs to.
    pub enum RopeAxes {
        /// The number of the row ("ij" in timm).
        RowsFirst = SVIT_ROPE_AXES_ROWS_FIRST,
        /// The number of the column ("xy" in timm).
        ColumnsFirst = SVIT_ROPE_AXES_COLUMNS_FIRST,
    }
}

enumeration! {
    /// Which channels of a head a rotary position embedding rotates together.
    pub enum RopePairs {
        /// 2 j and 2 j + 1.
        Neighbours = SVIT_ROPE_PAIRS_NEIGHBOURS,
        /// J and j + d / 2.
        Halves = SVIT_ROPE_PAIRS_HALVES,
    }
}

enumeration! {
    /// The tokens of a ViT that have position embeddings. The order of tokens is: class, distillation,
    /// registers, patches.
    pub enum PositionTokens {
        /// All tokens.
        All = SVIT_POSITION_ALL,
        /// The patches alone (timm's models with registers).
        Patches = SVIT_POSITION_PATCHES,
        /// All but the registers (Hugging Face's).
        ClassPatches = SVIT_POSITION_CLASS_PATCHES,
        /// None: the model has no position embedding.
        None = SVIT_POSITION_NONE,
    }
}

enumeration! {
    /// The activation after the first layer of a ViT's MLP.
    pub enum Activation {
        /// X Phi(x) (Hendrycks, Gimpel 2016).
        Gelu = SVIT_ACTIVATION_GELU,
        /// Its approximation by tanh.
        GeluTanh = SVIT_ACTIVATION_GELU_TANH,
        /// X sigmoid(1.702 x) (OpenAI's CLIP).
        QuickGelu = SVIT_ACTIVATION_QUICK_GELU,
    }
}

enumeration! {
    /// The MLP of a ViT.
    pub enum Mlp {
        /// Two linear layers with the activation between them.
        Plain = SVIT_MLP_PLAIN,
        /// W3 (silu(W1 x) \* (W2 x)) (Shazeer 2020), mlp_dim the width of each half.
        /// "mlp.fc1" has the rows of W1, then those of W2.
        Swiglu = SVIT_MLP_SWIGLU,
    }
}

enumeration! {
    /// The blocks of a ViT. A parallel block (Dehghani et al. 2023) has one norm, "norm1", one
    /// LayerScale, "ls1.gamma", and one DropPath.
    pub enum Block {
        /// Y = x + attention(norm1(x)), then y + mlp(norm2(y)).
        Sequential = SVIT_BLOCK_SEQUENTIAL,
        /// X + attention(norm1(x)) + mlp(norm1(x)).
        Parallel = SVIT_BLOCK_PARALLEL,
        /// The same without a bias of the attention's projection, so that
        /// it and the second layer of the MLP are one linear map.
        ParallelFused = SVIT_BLOCK_PARALLEL_FUSED,
    }
}

enumeration! {
    /// The names of a ViT's parameters in files.
    pub enum Names {
        /// Names in timm's style. "seed" in JSON.
        Timm = SVIT_NAMES_TIMM,
        /// Names of the SL-ViT paper's code. "paper" in JSON.
        Paper = SVIT_NAMES_PAPER,
    }
}

enumeration! {
    /// What a predictor makes of the logits.
    pub enum Output {
        /// Not stated: what the model's file says, otherwise softmax.
        Auto = SVIT_OUTPUT_AUTO,
        /// Probabilities of classes, which sum to 1.
        Softmax = SVIT_OUTPUT_SOFTMAX,
        /// The probability of each label by itself, for several labels.
        Sigmoid = SVIT_OUTPUT_SIGMOID,
        /// The logits as they are, also for models that predict numbers.
        Logits = SVIT_OUTPUT_LOGITS,
    }
}

enumeration! {
    /// How the parameters of a file are stored.
    pub enum Dtype {
        /// Float32: keeps every bit.
        F32 = SVIT_DTYPE_F32,
        /// Float16, rounded to nearest.
        F16 = SVIT_DTYPE_F16,
        /// Bfloat16, rounded to nearest.
        Bf16 = SVIT_DTYPE_BF16,
        /// Each row (the first axis) of a tensor of rank 2 or more as whole numbers
        /// in -127..127 and a float32 scale, the row's largest magnitude / 127, in
        /// a tensor of the name with ".scale" after it; a row whose scale would be
        /// below 1.2e-38 becomes 0. Other tensors stay float32.
        I8 = SVIT_DTYPE_I8,
    }
}
