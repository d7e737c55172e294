/* Models: configuration, parameters and files. */
#ifndef SHIFTVIT_MODEL_H
#define SHIFTVIT_MODEL_H

#include <shiftvit/context.h>
#include <shiftvit/image.h>
#include <shiftvit/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model is a configuration with its parameters, class names and preprocessing. Any number of
 * threads may read it. A call that changes it (svit_model_set_parameter, svit_step and the like)
 * needs it alone. */
typedef struct svit_model svit_model;

/* The capacities of `blocks` and `head_units` in svit_model_config. */
enum {
    SVIT_MAX_STAGES = 8,     /* of `blocks` */
    SVIT_MAX_HEAD_LAYERS = 8 /* of `head_units` */
};

/* The family of the model. */
enum {
    SVIT_ARCHITECTURE_SHIFTVIT = 0, /* ShiftViT (Wang et al. 2022) */
    SVIT_ARCHITECTURE_VIT = 1,  /* ViT (Dosovitskiy et al. 2021); with shifted patch tokenization
                                   and locality self-attention, SL-ViT (Lee, Lee, Song 2021) */
    SVIT_ARCHITECTURE_MIXER = 2 /* MLP-Mixer (Tolstikhin et al. 2021) */
};

/* What the shift layer of a ShiftViT does with four of its channel groups. */
enum {
    SVIT_SHIFT_TRUE = 0, /* shifts each by shift_pixel in one direction, fills with 0 (the paper) */
    SVIT_SHIFT_KERAS = 1 /* leaves them in place, sets one border line to 0 (Keras' example) */
};

/* How num_div divides the C channels into shift groups. */
enum {
    SVIT_GROUPS_CHANNELS = 0, /* a group has C / num_div channels */
    SVIT_GROUPS_SECTIONS = 1  /* there are C / num_div groups */
};

/* The normalisation of a ShiftViT. */
enum {
    SVIT_NORM_LAYER = 0, /* layer norm: over the C channels of each token */
    SVIT_NORM_GROUP = 1  /* group norm with one group: over height, width and C of each image */
};

/* The padding of the patch embedding and of the patch merging. */
enum {
    SVIT_PADDING_SAME = 0, /* zeros at the border */
    SVIT_PADDING_VALID = 1 /* none */
};

/* How the DropPath rate (stochastic depth, Huang et al. 2016) grows with depth. */
enum {
    SVIT_DROP_PATH_STAGE = 0,   /* linearly from 0 to drop_path over the blocks of each stage */
    SVIT_DROP_PATH_NETWORK = 1, /* linearly from 0 to drop_path over all blocks */
    SVIT_DROP_PATH_CONSTANT = 2 /* not at all: drop_path in every block */
};

/* The initial weights. */
enum {
    SVIT_INIT_KERAS = 0,     /* Glorot uniform, biases 0 (Keras' examples). "seed" in JSON; the only
                                one of an MLP-Mixer */
    SVIT_INIT_PAPER = 1,     /* the papers' code: in a ShiftViT, truncated normal with a standard
                                deviation of 0.02; in a ViT, Xavier normal. "paper" in JSON */
    SVIT_INIT_KERAS_3_14 = 2 /* as SVIT_INIT_KERAS, but the fans of the attention weights are
                                counted as Keras did up to version 3.14. "keras-3.14" in JSON */
};

/* How a ViT turns an image into tokens. */
enum {
    SVIT_TOKENIZER_PATCH = 0, /* patches and a linear layer */
    SVIT_TOKENIZER_SPT = 1,   /* shifted patch tokenization (Lee, Lee, Song 2021) */
    SVIT_TOKENIZER_CONV = 2   /* as SVIT_STEM_CONV (Xiao et al. 2021), with patch_bias */
};

/* The attention of a ViT. In differential attention (Ye et al. 2024) each half of the queries and
 * keys of a head gives a map of attention weights. The values are weighted by the first map minus
 * lambda, which is learnt, times the second one, and each head's output has a root-mean-square
 * norm. head_dim is even, rope is SVIT_ROPE_NONE, and qk_norm and attention_norm are 0. */
enum {
    SVIT_ATTENTION_GLOBAL = 0, /* scores are divided by sqrt(head_dim) */
    SVIT_ATTENTION_LSA = 1,    /* locality self-attention (Lee, Lee, Song 2021): the temperature is
                                  learnt and the diagonal of the scores is masked */
    SVIT_ATTENTION_DIFFERENTIAL = 2 /* differential attention */
};

/* The temperature of locality self-attention. */
enum {
    SVIT_TEMPERATURE_DIVIDE = 0,  /* one a layer, starts at sqrt(head_dim), divides the scores */
    SVIT_TEMPERATURE_MULTIPLY = 1 /* one a head, starts at head_dim^-0.5, multiplies the scores */
};

/* The stem of a ShiftViT, which makes tokens of the image. */
enum {
    SVIT_STEM_PATCH = 0,    /* a linear map of each patch */
    SVIT_STEM_WHITENED = 1, /* a linear map of each patch to twice its values, a GELU, and a linear
                              map to the tokens. svit_model_whiten gives the first map the whitening
                              filters of training images and their negatives (Jordan 2024) */
    SVIT_STEM_CONV = 2      /* two convolutions of 3 x 3 pixels with zero padding: to half of `dim`,
                               with the stride patch_size / 2; a GELU; to `dim`, with the stride 2.
                               patch_size is 2 or 4, `dim` is even, patch_padding is "same" */
};

/* What mixes the tokens of a ShiftViT before each MLP. */
enum {
    SVIT_MIXER_SHIFT = 0,    /* the shift of four groups of channels */
    SVIT_MIXER_DEPTHWISE = 1 /* a depthwise convolution with a residual connection, in place of the
                                shift: x + conv(x), 3 x 3 taps for each channel, zero padding and
                                bias. Its parameters are "dwconv" of each block */
};

/* What the head of a ViT takes as its input. Unless `class_token` says otherwise, the model has a
 * class token with SVIT_POOL_CLASS_TOKEN, SVIT_POOL_MEAN_PATCHES and SVIT_POOL_CLASS_MEAN. */
enum {
    SVIT_POOL_FLATTEN = 0,      /* all tokens, one after another */
    SVIT_POOL_CLASS_TOKEN = 1,  /* the class token; in a distilled model also the distillation
                                   token */
    SVIT_POOL_MEAN = 2,         /* the mean of the tokens */
    SVIT_POOL_MEAN_PATCHES = 3, /* the mean of the patches, without class and register tokens */
    SVIT_POOL_CLASS_MEAN = 4,   /* the class token and that mean, one after the other */
    SVIT_POOL_ATTENTION = 5     /* attention pooling (Lee et al. 2019; Zhai et al. 2023): one learnt
                                   query attends to all tokens, a residual MLP follows */
};

/* Whether a ViT has a class token. */
enum {
    SVIT_CLASS_TOKEN_BY_POOL = 0, /* as `pool` says */
    SVIT_CLASS_TOKEN_NONE = 1,    /* never; with SVIT_POOL_MEAN, SVIT_POOL_MEAN_PATCHES,
                                     SVIT_POOL_FLATTEN and SVIT_POOL_ATTENTION */
    SVIT_CLASS_TOKEN_PRESENT = 2  /* always */
};

/* Rotary position embeddings of a ViT (Su et al. 2021): the queries and keys of patches are rotated
 * by angles that grow with their places in the grid, pair of channels by pair. Tokens before the
 * patches are not rotated. With d the channels of a head, and rope_theta the base:
 * SVIT_ROPE_AXIAL and SVIT_ROPE_CENTRED give the first d / 4 pairs to one axis of the grid and the
 * others to the other one; pair j of an axis turns by place * f(j). d is a multiple of 4. */
enum {
    SVIT_ROPE_NONE = 0,    /* no rotation */
    SVIT_ROPE_AXIAL = 1,   /* f(j) = rope_theta^(-4 j / d), place = (index + rope_offset), counted
                             from 0; with rope_height and rope_width times that size by the
                             grid's (EVA-02, Fang et al. 2023) */
    SVIT_ROPE_CENTRED = 2, /* f(j) = 2 pi rope_theta^(-4 j / d), place = 2 (index + 1/2) / (size of
                             the axis) - 1 (DINOv3, Simeoni et al. 2025) */
    SVIT_ROPE_MIXED = 3    /* each block and head has learnt frequencies for both axes, whose angles
                             add up (Heo et al. 2024); rope_theta gives their initial values */
};

/* Which axis of the grid the first half of the angles belongs to. */
enum {
    SVIT_ROPE_AXES_ROWS_FIRST = 0,   /* the number of the row ("ij" in timm) */
    SVIT_ROPE_AXES_COLUMNS_FIRST = 1 /* the number of the column ("xy" in timm) */
};

/* Which channels of a head a rotary position embedding rotates together. */
enum {
    SVIT_ROPE_PAIRS_NEIGHBOURS = 0, /* 2 j and 2 j + 1 */
    SVIT_ROPE_PAIRS_HALVES = 1      /* j and j + d / 2 */
};

/* The tokens of a ViT that have position embeddings. The order of tokens is: class, distillation,
 * registers, patches. */
enum {
    SVIT_POSITION_ALL = 0,           /* all tokens */
    SVIT_POSITION_PATCHES = 1,       /* the patches alone (timm's models with registers) */
    SVIT_POSITION_CLASS_PATCHES = 2, /* all but the registers (Hugging Face's) */
    SVIT_POSITION_NONE = 3           /* none: the model has no position embedding */
};

/* The activation after the first layer of a ViT's MLP. */
enum {
    SVIT_ACTIVATION_GELU = 0,      /* x Phi(x) (Hendrycks, Gimpel 2016) */
    SVIT_ACTIVATION_GELU_TANH = 1, /* its approximation by tanh */
    SVIT_ACTIVATION_QUICK_GELU = 2 /* x sigmoid(1.702 x) (OpenAI's CLIP) */
};

/* The MLP of a ViT. */
enum {
    SVIT_MLP_PLAIN = 0, /* two linear layers with the activation between them */
    SVIT_MLP_SWIGLU = 1 /* W3 (silu(W1 x) * (W2 x)) (Shazeer 2020), mlp_dim the width of each half.
                           "mlp.fc1" has the rows of W1, then those of W2 */
};

/* The blocks of a ViT. A parallel block (Dehghani et al. 2023) has one norm, "norm1", one
 * LayerScale, "ls1.gamma", and one DropPath. */
enum {
    SVIT_BLOCK_SEQUENTIAL = 0,    /* y = x + attention(norm1(x)), then y + mlp(norm2(y)) */
    SVIT_BLOCK_PARALLEL = 1,      /* x + attention(norm1(x)) + mlp(norm1(x)) */
    SVIT_BLOCK_PARALLEL_FUSED = 2 /* the same without a bias of the attention's projection, so that
                                     it and the second layer of the MLP are one linear map */
};

/* The names of a ViT's parameters in files. */
enum {
    SVIT_NAMES_TIMM = 0, /* names in timm's style. "seed" in JSON */
    SVIT_NAMES_PAPER = 1 /* names of the SL-ViT paper's code. "paper" in JSON */
};

/* What a predictor makes of the logits. */
enum {
    SVIT_OUTPUT_AUTO = 0,    /* not stated: what the model's file says, otherwise softmax */
    SVIT_OUTPUT_SOFTMAX = 1, /* probabilities of classes, which sum to 1 */
    SVIT_OUTPUT_SIGMOID = 2, /* the probability of each label by itself, for several labels */
    SVIT_OUTPUT_LOGITS = 3   /* the logits as they are, also for models that predict numbers */
};

/* The configuration of a model. The fields are those of the JSON object. Fields that belong to
 * other architectures are ignored, but for lora_rank and mask_ratio, which are 0 there; presets and
 * JSON leave them 0. */
typedef struct svit_model_config {
    uint32_t struct_size;  /* sizeof(svit_model_config) */
    int32_t architecture;  /* SVIT_ARCHITECTURE_* */
    uint32_t input_height; /* pixels, 1..8192 */
    uint32_t input_width;  /* pixels, 1..8192 */
    uint32_t in_channels;  /* channels of the input image, 1..1024 */
    uint32_t num_classes;  /* 1..1048576 */
    uint32_t patch_size;   /* pixels, 1..256 */
    uint32_t dim;          /* channels of a token, 1..65536; in a ShiftViT those of the first stage,
                              doubled by each patch merging */

    /* ShiftViT only. */
    uint32_t stages;       /* 1..SVIT_MAX_STAGES */
    uint32_t blocks[8];    /* shift blocks in each stage, 0..1000 */
    uint32_t num_div;      /* 1..65536; each stage must have room for four shift groups */
    uint32_t shift_pixel;  /* pixels of the feature map, 0..8192 */
    int32_t shift;         /* SVIT_SHIFT_* */
    int32_t groups;        /* SVIT_GROUPS_* */
    int32_t norm;          /* SVIT_NORM_* */
    int32_t patch_norm;    /* 1: a norm after the patch embedding */
    int32_t final_norm;    /* 1: a norm before the pooling; of a ShiftViT or a ViT */
    int32_t patch_padding; /* SVIT_PADDING_* of the patch embedding. A ViT has it, too: the input
                              is whole patches, or with SVIT_PADDING_VALID pixels behind the last
                              whole one are not read, as by timm and transformers */
    int32_t merge_padding; /* SVIT_PADDING_* of the patch merging */

    /* All architectures, but for mlp_ratio. */
    int32_t classifier;     /* 1: a classification head; 0: the pooled features are the logits, and
                               num_classes is their number */
    int32_t drop_path_rule; /* SVIT_DROP_PATH_* */
    int32_t init;           /* SVIT_INIT_* */
    uint32_t reserved;      /* 0; another value is SVIT_E_VERSION */
    double mlp_ratio;       /* ShiftViT only, above 0, at most 1024: the MLP of a shift block of C
                               channels has (int)(mlp_ratio * C) hidden channels, at least 1 */
    double norm_eps;        /* above 0: the epsilon of all norms */
    double dropout;         /* [0, 1): rate of dropout (Srivastava et al. 2014) */
    double drop_path;       /* [0, 1): rate of DropPath */

    /* ViT only, but for depth and mlp_dim, which an MLP-Mixer has too. */
    uint32_t depth;         /* transformer or mixer blocks, 1..1000 */
    uint32_t heads;         /* attention heads, 1..65536 */
    uint32_t head_dim;      /* channels of a head, 1..65536; heads * head_dim is at most 65536 */
    uint32_t mlp_dim;       /* hidden channels of a block's MLP, 1..1048576; in an MLP-Mixer of the
                               MLP that mixes channels */
    int32_t tokenizer;      /* SVIT_TOKENIZER_* */
    int32_t spt_order;      /* SVIT_SPT_* of image.h, for SVIT_TOKENIZER_SPT */
    int32_t attention;      /* SVIT_ATTENTION_* */
    int32_t temperature;    /* SVIT_TEMPERATURE_*, for SVIT_ATTENTION_LSA */
    int32_t qkv_bias;       /* 1: queries, keys and values have biases */
    int32_t mlp_last_gelu;  /* 1: GELU also after the second layer of the MLP */
    int32_t pool;           /* SVIT_POOL_* */
    uint32_t head_layers;   /* hidden layers of the classification head, 0..SVIT_MAX_HEAD_LAYERS */
    uint32_t head_units[8]; /* channels of each hidden layer, 1..1048576 */
    int32_t names;          /* SVIT_NAMES_* */
    uint32_t lora_rank;     /* ViT: rank of the adapters of LoRA (svit_model_add_lora) in every
                               attention block, at most dim and heads * head_dim; 0: none */
    double attention_dropout; /* [0, 1): dropout rate of the attention weights */
    double head_dropout;      /* [0, 1): dropout rate before each layer of the head */

    /* ShiftViT only. */
    int32_t stem;  /* SVIT_STEM_* */
    int32_t mixer; /* SVIT_MIXER_* */

    /* ViT only: what pretrained families have. */
    uint32_t register_tokens; /* learnt tokens after the class token, 0..1024 (Darcet et al. 2023)
                               */
    int32_t distilled;        /* 1: DeiT's distillation token after the class token and a second
                                 linear head on it, whose logits are averaged with the first one's
                                 (Touvron et al. 2020); needs SVIT_POOL_CLASS_TOKEN */
    int32_t position_tokens;  /* SVIT_POSITION_* */
    uint32_t position_height; /* the grid of patches, 0..8192, of the position embedding in a file,
                                 which is interpolated while it is loaded; 0: that which a model
                                 file states, or else that of the input or a square. A model has 0
                                 here */
    uint32_t position_width;  /* likewise */
    int32_t patch_bias;       /* 1: the patch embedding has a bias */
    int32_t pre_norm;         /* 1: a layer norm before the first block (CLIP) */
    int32_t layer_scale;      /* 1: a learnt factor for each channel of each residual branch
                                 (Touvron et al. 2021) */
    int32_t activation;       /* SVIT_ACTIVATION_* */
    int32_t mlp;              /* SVIT_MLP_* */
    int32_t head_norm;        /* 1: a layer norm after the pooling */

    /* MLP-Mixer only. */
    uint32_t token_mlp_dim; /* hidden width of the MLP that mixes tokens, 1..1048576 */

    /* ViT. */
    double lora_alpha; /* above 0 with adapters of LoRA, whose product counts lora_alpha / lora_rank
                          times; without them 0 */

    /* ViT only: what further families have. */
    int32_t class_token;  /* SVIT_CLASS_TOKEN_* */
    int32_t rope;         /* SVIT_ROPE_* */
    int32_t rope_axes;    /* SVIT_ROPE_AXES_* */
    int32_t rope_pairs;   /* SVIT_ROPE_PAIRS_* */
    double rope_theta;    /* above 0 with rotary position embeddings; without them 0 */
    double rope_offset;   /* 0..8192, for SVIT_ROPE_AXIAL */
    uint32_t rope_height; /* rows of the grid, 0..8192, that the model was trained with, for
                              SVIT_ROPE_AXIAL; 0: those of the input */
    uint32_t rope_width;  /* likewise columns */
    int32_t no_key_bias;  /* 1: of queries, keys and values with biases, those of the keys are 0 and
                              stay so (EVA-02, DINOv3) */
    int32_t qk_norm;      /* 1: a layer norm of the channels of each query and key of a head */
    int32_t attention_norm; /* 1: a layer norm of the heads' outputs before their projection */
    int32_t mlp_norm;       /* 1: a layer norm of the hidden channels of an MLP before its second
                              layer (EVA-02) */
    uint32_t pool_heads;    /* SVIT_POOL_ATTENTION: heads, of dim / pool_heads channels, 1..dim;
                              otherwise 0 */
    uint32_t pool_mlp_dim; /* SVIT_POOL_ATTENTION: hidden channels of its MLP, 1..1048576; otherwise
                              0 */
    int32_t rms_norm;      /* 1: all layer norms are root-mean-square norms, which subtract no mean
                              and have no bias (Zhang, Sennrich 2019) */
    int32_t block;         /* SVIT_BLOCK_* */

    /* ViT only: masked autoencoding (He et al. 2021). The blocks see the patches that are not
     * masked. A decoder of two blocks, of half the heads and with MLPs four times as wide as its
     * tokens, reconstructs the normalised pixels of the masked ones. The logits are those, patch by
     * patch, 0 for visible ones. Training draws masks; in inference there is one for all images. A
     * trainer needs SVIT_LOSS_MSE, and takes its targets from the images. svit_model_replace_head
     * makes a classifier of such a model. */
    double mask_ratio; /* [0, 1): part of the patches that is masked; 0: none, and no decoder */
} svit_model_config;

/* Fills `config` with the default ShiftViT, the preset shiftvit-cifar10. `size` is
 * sizeof(svit_model_config) as the caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_model_config_init(svit_model_config *config, size_t size);

/* Fills `config` from the preset of this name; svit_model_preset_name lists them. SVIT_E_ARGUMENT
 * means that there is no such preset. SVIT_E_VERSION: a struct of this `size` lacks a field that is
 * not at its default. Any thread may call it. */
SVIT_API svit_status svit_model_config_preset(svit_model_config *config, size_t size,
                                              const char *preset, svit_error *err);

/* Returns the name of preset number `index`, from 0, or NULL past the end. The text has static
 * storage. Any thread may call it. */
SVIT_API const char *svit_model_preset_name(size_t index);

/* Returns the name of an architecture by its index, which is its SVIT_ARCHITECTURE_*: static
 * storage, or NULL past the end. Any thread may call it. */
SVIT_API const char *svit_model_architecture_name(size_t index);

/* Fills `config` from a JSON object whose keys are the names of the fields, but for `stages` and
 * `head_layers`, which follow from the lengths of "blocks" and "head_units"; a missing one takes
 * the default of the architecture. Fields that are 0 or 1 are true or false, and enumerators words,
 * which svit_config_fields lists. `config` is written only on success. SVIT_E_ARGUMENT names a key
 * that is unknown or belongs to another architecture, or a value that is not accepted;
 * SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a struct of this `size`
 * lacks a field that is not at its default. Any thread may call it. */
SVIT_API svit_status svit_model_config_from_json(svit_model_config *config, size_t size,
                                                 const char *json, svit_error *err);

/* Writes `config` as a JSON object with every field of its architecture. `buffer`, `capacity` and
 * `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is out of range. Any
 * thread may call it. */
SVIT_API svit_status svit_model_config_to_json(const svit_model_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err);

/* Creates a model with random initial weights, which depend on the configuration and `seed` alone.
 * The caller owns *out and frees it with svit_model_free. SVIT_E_ARGUMENT names the field that is
 * not accepted; SVIT_E_MEMORY says how much memory is missing. Any thread may call it. */
SVIT_API svit_status svit_model_create(svit_model **out, svit_context *context,
                                       const svit_model_config *config, uint64_t seed,
                                       svit_error *err);

/* Drops the caller's reference to a model. Sessions and optimisers keep their model alive. NULL is
 * allowed. */
SVIT_API void svit_model_free(svit_model *model);

/* Reads a model from a safetensors file with a configuration in its header, such as those of
 * svit_model_save and svit_checkpoint_save. F16, BF16, F64 and I8 tensors are converted to float32.
 * The caller owns *out and frees it with svit_model_free.
 *
 * SVIT_E_IO: the file cannot be read. SVIT_E_FORMAT: it is truncated, its offsets are inconsistent,
 * or a tensor is missing or has another shape. SVIT_E_ARGUMENT: the file has no configuration;
 * svit_model_load_with_config opens it. Any thread may call it. */
SVIT_API svit_status svit_model_load(svit_model **out, svit_context *context, const char *path,
                                     svit_error *err);

/* Loads a model as svit_model_load does, but maps the file into memory instead of copying the
 * weights. Processes that map the same file share its pages, and sessions that pack the weights
 * release them again. All checks of svit_model_load are made. A file that cannot be used in place
 * (tensors that are not F32, or an order of tensors other than that of svit_model_save) is loaded
 * as svit_model_load does. Changes of the model's parameters are private: they never reach the
 * file.
 *
 * While the model lives, the file may be removed, renamed, or replaced by a rename as
 * svit_model_save does it. It must not be written or truncated in place: the model might then take
 * on the new bytes, and an access beyond the end raises SIGBUS, as with every mapped file. The
 * caller owns *out and frees it with svit_model_free. Errors are those of svit_model_load. Any
 * thread may call it. */
SVIT_API svit_status svit_model_map(svit_model **out, svit_context *context, const char *path,
                                    svit_error *err);

/* Loads a file as svit_model_load does, with the caller's configuration. The file needs no
 * configuration; if it has one, the caller's is used instead. */
SVIT_API svit_status svit_model_load_with_config(svit_model **out, svit_context *context,
                                                 const svit_model_config *config, const char *path,
                                                 svit_error *err);

/* How the parameters of a file are stored. */
enum {
    SVIT_DTYPE_F32 = 0,  /* float32: keeps every bit */
    SVIT_DTYPE_F16 = 1,  /* float16, rounded to nearest */
    SVIT_DTYPE_BF16 = 2, /* bfloat16, rounded to nearest */
    SVIT_DTYPE_I8 = 3    /* each row (the first axis) of a tensor of rank 2 or more as whole numbers
                            in -127..127 and a float32 scale, the row's largest magnitude / 127, in
                            a tensor of the name with ".scale" after it; a row whose scale would be
                            below 1.2e-38 becomes 0. Other tensors stay float32 */
};

/* Writes a model file as svit_model_save does, with parameters stored as `dtype`, one of
 * SVIT_DTYPE_*. svit_model_load reads all of them. SVIT_E_ARGUMENT names an element that F16 or
 * BF16 cannot hold. */
SVIT_API svit_status svit_model_save_as(const svit_model *model, const char *path, int32_t dtype,
                                        svit_error *err);

/* Writes the configuration, parameters (float32), class names and preprocessing as a
 * safetensors file, and replaces an existing file atomically, as svit_file_replace. SVIT_E_NUMERIC
 * names a parameter with a value that is not finite; an existing file stays. SVIT_E_IO names the
 * path. */
SVIT_API svit_status svit_model_save(const svit_model *model, const char *path, svit_error *err);

/* Reads a model from data[bytes], the bytes of a model file. The bytes are copied, so the caller
 * may free them when the call returns. All checks and errors are those of svit_model_load, but for
 * SVIT_E_IO; messages say "the model in memory" instead of a path. The caller owns *out and frees
 * it with svit_model_free. Any thread may call it. */
SVIT_API svit_status svit_model_load_memory(svit_model **out, svit_context *context,
                                            const void *data, size_t bytes, svit_error *err);

/* Writes to buffer[capacity] the bytes of the file that svit_model_save writes. Writes the number
 * of these bytes into *needed, which may be NULL; with a capacity of 0 it does nothing else and
 * succeeds, and `buffer` may be NULL. SVIT_E_ARGUMENT means that they do not fit; `buffer` is then
 * unchanged. SVIT_E_NUMERIC names a parameter with a value that is not finite, for which a capacity
 * of 0 does not look. */
SVIT_API svit_status svit_model_save_memory(const svit_model *model, void *buffer, size_t capacity,
                                            size_t *needed, svit_error *err);

/* Copies the configuration of the model to *config. `size` is sizeof(svit_model_config) as the
 * caller was compiled. SVIT_E_VERSION: a struct of this `size` lacks a field that is not at its
 * default. */
SVIT_API svit_status svit_model_get_config(const svit_model *model, svit_model_config *config,
                                           size_t size, svit_error *err);

/* Counts the multiply-adds of all matmuls and convolutions, attention included, for one image of
 * the configuration's input size: *forward of a forward pass, and *training of a forward and a
 * backward pass, which has the gradients of both operands of each product, but none of the image.
 * Either may be NULL. Norms, softmax and other element-wise work do not count, nor does
 * recomputation. UINT64_MAX stands for more. Errors are those of svit_model_create for the
 * configuration. Any thread may call it. */
SVIT_API svit_status svit_model_multiply_adds(const svit_model_config *config, uint64_t *forward,
                                              uint64_t *training, svit_error *err);

/* Returns the number of parameter tensors; 0 for NULL. */
SVIT_API size_t svit_model_parameter_count(const svit_model *model);

/* Returns the number of elements of all parameter tensors, each a float; 0 for NULL. */
SVIT_API uint64_t svit_model_parameter_elements(const svit_model *model);

/* Returns the name of parameter tensor number `index`, in the order of the file, or NULL past the
 * end. The text is borrowed until the model is freed. */
SVIT_API const char *svit_model_parameter_name(const svit_model *model, size_t index);

/* Writes the shape of a parameter tensor to `shape` and its number of axes to *rank. The shape is
 * that of the tensor in files, for example [out, in, height, width] for a convolution; the rest of
 * `shape` is 0. SVIT_E_ARGUMENT: there is no parameter of this name. */
SVIT_API svit_status svit_model_parameter_shape(const svit_model *model, const char *name,
                                                int64_t shape[8], size_t *rank, svit_error *err);

/* Copies a parameter tensor to out[elements], row-major in the shape of svit_model_parameter_shape.
 * SVIT_E_ARGUMENT: there is no parameter of this name, or `elements` is not exactly its size. */
SVIT_API svit_status svit_model_get_parameter(const svit_model *model, const char *name, float *out,
                                              size_t elements, svit_error *err);

/* Sets a parameter tensor from in[elements], in the layout of svit_model_get_parameter.
 * SVIT_E_NUMERIC: a value is not finite; the model is then unchanged. SVIT_E_ARGUMENT as
 * svit_model_get_parameter, or a bias of keys is not 0 in a model that has none (no_key_bias). */
SVIT_API svit_status svit_model_set_parameter(svit_model *model, const char *name, const float *in,
                                              size_t elements, svit_error *err);

/* Makes the parameters whose names match `pattern` trainable (1) or frozen (0). In a pattern *
 * stands for any characters and ? for one. All parameters of a new or loaded model are trainable.
 *
 * A frozen parameter is never changed by svit_step: it has no gradient, no weight decay and no
 * momentum. Sessions that are created afterwards compute no gradients of layers whose parameters
 * are all frozen. The backward ends at the lowest trainable layer; layers below it are run as in
 * inference, without dropout and DropPath, and save nothing. Sessions that train and optimisers
 * which were created before are refused with SVIT_E_STATE. Checkpoints carry the setting, model
 * files do not. The call needs the model alone. SVIT_E_ARGUMENT: no parameter matches. */
SVIT_API svit_status svit_model_set_trainable(svit_model *model, const char *pattern,
                                              int32_t trainable, svit_error *err);

/* Writes 1 to *trainable if the parameter `name` is trainable, otherwise 0. SVIT_E_ARGUMENT: there
 * is no such parameter. */
SVIT_API svit_status svit_model_get_trainable(const svit_model *model, const char *name,
                                              int32_t *trainable, svit_error *err);

/* Gives the stem of a model with SVIT_STEM_WHITENED the whitening filters of the patches of n
 * images nhwc[n, input_height, input_width, in_channels], which are normalised as the model's input
 * is. With patch_size p, the patches of p x p pixels lie side by side; pixels that fill no patch
 * are left out. Filter i is v_i / sqrt(l_i + 5e-4), where v_i is an eigenvector of the patches'
 * second moments (without subtracting the mean) and l_i its eigenvalue, from the largest on; filter
 * k + i is its negative, k = p * p * in_channels. The largest element of each v_i is positive. The
 * biases become 0.
 *
 * SVIT_E_STATE: the model has another stem. SVIT_E_ARGUMENT: n is 0. SVIT_E_NUMERIC: a value is not
 * finite. SVIT_E_MEMORY. SVIT_E_STOPPED. The model is unchanged in all cases. The time is that of
 * k^2 operations for each patch, and of some dozens of times k^3. */
SVIT_API svit_status svit_model_whiten(svit_model *model, const float *nhwc, size_t n,
                                       svit_error *err);

/* Sets the class names, in the order of the labels. The texts are copied and saved with the model.
 * `count` is the number of classes, or 0 to remove the names; SVIT_E_ARGUMENT otherwise, and for a
 * name that is not UTF-8. */
SVIT_API svit_status svit_model_set_classes(svit_model *model, const char *const *names,
                                            size_t count, svit_error *err);

/* Returns the name of class `label`, or NULL past the end or if the model has no names. The text is
 * borrowed until svit_model_set_classes or svit_model_free. */
SVIT_API const char *svit_model_class_name(const svit_model *model, size_t label);

/* States what predictors make of the model's logits: SVIT_OUTPUT_*. It is saved with the model;
 * svit_trainer_create states it by the loss. SVIT_OUTPUT_AUTO removes the statement. Predictors
 * read it when they are created. SVIT_E_ARGUMENT: `output` is none of them. */
SVIT_API svit_status svit_model_set_output(svit_model *model, int32_t output, svit_error *err);

/* Returns what predictors make of the model's logits: SVIT_OUTPUT_SOFTMAX if nothing was stated,
 * never SVIT_OUTPUT_AUTO. 0 for NULL. */
SVIT_API int32_t svit_model_output(const svit_model *model);

/* Gives a model whose logits are embeddings of images, such as the image tower of CLIP, classes
 * that are embeddings of texts: embeddings[classes, channels] with names[classes], where `channels`
 * is the model's num_classes. Predictors that are created afterwards have these classes, whose
 * logits are logit_scale * the cosine similarity + logit_bias. CLIP's scale is the exponential of
 * its parameter logit_scale, about 100, and its bias 0; SigLIP has a bias and SVIT_OUTPUT_SIGMOID.
 * Sessions, evaluation and training see the embeddings as before. All is copied, and saved with the
 * model and in ONNX files, but not in checkpoints; another head removes it. `classes` 0 removes it.
 * SVIT_E_STATE: a session or predictor of the model exists. SVIT_E_ARGUMENT names what is not
 * accepted: a name that is NULL, an embedding whose length is 0 or not finite, a scale not in
 * (0, 1e30], a bias not in [-1e30, 1e30].
 */
SVIT_API svit_status svit_model_set_text_head(svit_model *model, const float *embeddings,
                                              const char *const *names, size_t classes,
                                              size_t channels, double logit_scale,
                                              double logit_bias, svit_error *err);

/* Returns the name of a class that is an embedding of a text; NULL if there is none, beyond the
 * last one, and for NULL. The name is borrowed until the texts change or the model is freed. */
SVIT_API const char *svit_model_text_class_name(const svit_model *model, size_t label);

/* Sets the probability below which svit_predictor_labels takes an image for none of the classes: 0
 * for never, at most 1. It is saved with the model (the metadata key "known_threshold"), and
 * predictors read it when they are created; what they predict stays the same. It belongs to
 * probabilities that change: a step of an optimizer (svit_step), a head for other classes or with
 * more of them (svit_model_add_classes), the end after a block (svit_model_truncate), other texts
 * (svit_model_set_text_head) and an output that is not SVIT_OUTPUT_SOFTMAX remove it; weights that
 * are set, loaded or restored keep it. svit_choose_threshold finds it. SVIT_E_ARGUMENT: it is none
 * of these numbers. */
SVIT_API svit_status svit_model_set_threshold(svit_model *model, double threshold, svit_error *err);

/* Returns that threshold; 0 if there is none, and for NULL. */
SVIT_API double svit_model_threshold(const svit_model *model);

/* Sets the pipeline that turns an image into the model's input. It is copied and saved with the
 * model, and predictors read it when they are created. NULL removes it. SVIT_E_ARGUMENT names the
 * field that is not accepted. */
SVIT_API svit_status svit_model_set_pipeline(svit_model *model, const svit_pipeline_config *config,
                                             svit_error *err);

/* Copies the pipeline of the model to *config. `size` is sizeof(svit_pipeline_config) as the caller
 * was compiled. SVIT_E_STATE: the model has none. SVIT_E_VERSION: a struct of this `size` lacks a
 * field that is not at its default. */
SVIT_API svit_status svit_model_get_pipeline(const svit_model *model, svit_pipeline_config *config,
                                             size_t size, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
