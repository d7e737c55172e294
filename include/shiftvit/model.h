/* Models: configuration, parameters, files. */
#ifndef SHIFTVIT_MODEL_H
#define SHIFTVIT_MODEL_H

#include <shiftvit/context.h>
#include <shiftvit/image.h>
#include <shiftvit/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A configuration with its parameters, class names and preprocessing. Any number of threads may
 * read it; a writer (set, step, load into) needs it alone. */
typedef struct svit_model svit_model;

enum { SVIT_MAX_STAGES = 8, SVIT_MAX_HEAD_LAYERS = 8 };

enum {
    SVIT_ARCHITECTURE_SHIFTVIT = 0,
    SVIT_ARCHITECTURE_VIT = 1 /* with shifted patches and locality self-attention: SL-ViT */
};
enum {
    SVIT_SHIFT_TRUE = 0, /* groups move by shift_pixel, zero fill (the paper) */
    SVIT_SHIFT_KERAS = 1 /* groups stay, one border line is cleared (what the Keras code does) */
};
enum {
    SVIT_GROUPS_CHANNELS = 0, /* a group has C / num_div channels */
    SVIT_GROUPS_SECTIONS = 1  /* there are C / num_div groups */
};
enum {
    SVIT_NORM_LAYER = 0, /* per token over C */
    SVIT_NORM_GROUP = 1  /* per image over H, W, C */
};
enum { SVIT_PADDING_SAME = 0, SVIT_PADDING_VALID = 1 };
enum {
    SVIT_DROP_PATH_STAGE = 0,   /* 0 .. rate over the blocks of each stage */
    SVIT_DROP_PATH_NETWORK = 1, /* 0 .. rate over all blocks */
    SVIT_DROP_PATH_CONSTANT = 2 /* the same rate in every block */
};
enum {
    SVIT_INIT_KERAS = 0,     /* Glorot uniform, biases 0 (the Keras code) */
    SVIT_INIT_PAPER = 1,     /* the paper's code: truncated normal, standard deviation 0.02, in a
                                ShiftViT; Xavier normal in a ViT */
    SVIT_INIT_KERAS_3_14 = 2 /* as SVIT_INIT_KERAS, but that attention's weights have the fans that
                                Keras counted up to 3.14, as if they were a convolution's */
};

enum {
    SVIT_TOKENIZER_PATCH = 0, /* patches, then a linear layer */
    SVIT_TOKENIZER_SPT = 1    /* shifted patch tokenization (Lee, Lee, Song 2021); any patch size */
};
enum {
    SVIT_ATTENTION_GLOBAL = 0, /* scores divided by sqrt(head_dim) */
    SVIT_ATTENTION_LSA = 1     /* locality self-attention: own temperature, diagonal masked */
};
enum {
    SVIT_TEMPERATURE_DIVIDE = 0,  /* one a layer divides, starts at sqrt(head_dim) */
    SVIT_TEMPERATURE_MULTIPLY = 1 /* one a head multiplies, starts at head_dim^-0.5 */
};
enum { SVIT_POOL_FLATTEN = 0, SVIT_POOL_CLASS_TOKEN = 1, SVIT_POOL_MEAN = 2 };
enum {
    SVIT_NAMES_TIMM = 0, /* parameter names like timm's */
    SVIT_NAMES_PAPER = 1 /* those of the SL-ViT paper's code */
};

/* What a model is made of. Fields are those of the JSON configuration object. A field of the other
 * architecture says nothing: presets and JSON leave it 0, and no check looks at it. */
typedef struct svit_model_config {
    uint32_t struct_size;  /* sizeof(svit_model_config) */
    int32_t architecture;  /* SVIT_ARCHITECTURE_* */
    uint32_t input_height; /* pixels, 1..8192 */
    uint32_t input_width;  /* pixels, 1..8192 */
    uint32_t in_channels;  /* 1..1024 */
    uint32_t num_classes;  /* 1..1048576 */
    uint32_t patch_size;   /* pixels, 1..256 */
    uint32_t dim;          /* channels of the first stage, doubled at each merge; 1..65536 */
    uint32_t stages;       /* 1..SVIT_MAX_STAGES */
    uint32_t blocks[8];    /* shift blocks of each stage, 0..1000 each */
    uint32_t num_div;      /* 1..65536; four groups must fit the channels of every stage */
    uint32_t shift_pixel;  /* pixels, 0..8192 */
    int32_t shift;         /* SVIT_SHIFT_* */
    int32_t groups;        /* SVIT_GROUPS_* */
    int32_t norm;          /* SVIT_NORM_* */
    int32_t patch_norm;    /* 1: norm after the patch embedding */
    int32_t final_norm;    /* 1: norm before the pooling */
    int32_t patch_padding; /* SVIT_PADDING_* */
    int32_t merge_padding; /* SVIT_PADDING_* */
    int32_t classifier; /* 0: the pooled features are the logits, and num_classes is their number */
    int32_t drop_path_rule; /* SVIT_DROP_PATH_* */
    int32_t init;           /* SVIT_INIT_* */
    uint32_t reserved;      /* 0, as reserved_too; another value is SVIT_E_VERSION */
    double mlp_ratio;       /* above 0, at most 1024; hidden channels are (int)(mlp_ratio * C), at
                               least 1 */
    double norm_eps;        /* above 0 */
    double dropout;         /* [0, 1) */
    double drop_path;       /* [0, 1) */
    uint32_t depth;         /* ViT, as all from here: layers, 1..1000 */
    uint32_t heads;         /* 1..65536 */
    uint32_t head_dim;      /* 1..65536; heads * head_dim is at most 65536 */
    uint32_t mlp_dim;       /* hidden channels of a layer's MLP, 1..1048576 */
    int32_t tokenizer;      /* SVIT_TOKENIZER_* */
    int32_t spt_order;      /* SVIT_SPT_* of image.h */
    int32_t attention;      /* SVIT_ATTENTION_* */
    int32_t temperature;    /* SVIT_TEMPERATURE_*, of SVIT_ATTENTION_LSA */
    int32_t qkv_bias;       /* 1: queries, keys and values have biases */
    int32_t mlp_last_gelu;  /* 1: GELU after the MLP's second layer too */
    int32_t pool;           /* SVIT_POOL_* */
    uint32_t head_layers;   /* hidden layers of the head, 0..SVIT_MAX_HEAD_LAYERS */
    uint32_t head_units[8]; /* channels of each, 1..1048576 */
    int32_t names;          /* SVIT_NAMES_* */
    uint32_t reserved_too;
    double attention_dropout; /* of the attention's weights, [0, 1) */
    double head_dropout;      /* before every layer of the head, [0, 1) */
} svit_model_config;

/* Fills `config` with the default ShiftViT (that of the preset shiftvit-cifar10). */
SVIT_API svit_status svit_model_config_init(svit_model_config *config, size_t size);

/* Fills `config` from a preset: see svit_model_preset_name. SVIT_E_ARGUMENT names an unknown
 * preset. */
SVIT_API svit_status svit_model_config_preset(svit_model_config *config, size_t size,
                                              const char *preset, svit_error *err);

/* The name of preset number `index`, from 0; NULL past the end. Static storage. */
SVIT_API const char *svit_model_preset_name(size_t index);

/* Fills `config` from a JSON object. A field left out takes the architecture's default; a field
 * that is unknown or the other architecture's, a value of the wrong kind or out of range is
 * SVIT_E_ARGUMENT and named, text that is no JSON object is SVIT_E_FORMAT. `config` is written only
 * on success. */
SVIT_API svit_status svit_model_config_from_json(svit_model_config *config, size_t size,
                                                 const char *json, svit_error *err);

/* Writes `config` as a JSON object with every field of its architecture. Buffer rules as
 * svit_context_describe. */
SVIT_API svit_status svit_model_config_to_json(const svit_model_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err);

/* Creates a model with initial weights drawn from `seed`. `*out` is owned by the caller, free with
 * svit_model_free. SVIT_E_ARGUMENT names the field that cannot be built. Any thread. */
SVIT_API svit_status svit_model_create(svit_model **out, svit_context *context,
                                       const svit_model_config *config, uint64_t seed,
                                       svit_error *err);

/* Lets go of a model; sessions and optimisers made from it keep it alive. NULL allowed. */
SVIT_API void svit_model_free(svit_model *model);

/* Reads a safetensors file with a `config`, checkpoints included. `*out` as svit_model_create.
 * SVIT_E_IO, SVIT_E_FORMAT (cut short, lying offsets, a tensor missing or of another shape),
 * SVIT_E_ARGUMENT (a file without `config`: use svit_model_load_with_config). */
SVIT_API svit_status svit_model_load(svit_model **out, svit_context *context, const char *path,
                                     svit_error *err);

/* As svit_model_load, but the weights stay in the file, which is mapped into memory: only what
 * sessions do not pack is copied, the system shares the pages between all who map the file, and a
 * session that has packed the weights gives them back. Every check of svit_model_load is made here
 * too. A file that cannot be used in place (F16 or BF16, tensors in another order than
 * svit_model_save's) is loaded as svit_model_load does. Writing to the model
 * (svit_model_set_parameter, training) copies the pages that are written to: the file never
 * changes. `*out` as svit_model_create; the file may be renamed, replaced by rename, as
 * svit_model_save does, or removed while the model lives. It must not be written to or cut short in
 * place: the model may take on the new bytes, and pages beyond the end raise SIGBUS, which ends the
 * process, as with every mapped file. Any thread. */
SVIT_API svit_status svit_model_map(svit_model **out, svit_context *context, const char *path,
                                    svit_error *err);

/* As svit_model_load, with the caller's configuration, for files that carry none. Where the file
 * has one too, the caller's is used. */
SVIT_API svit_status svit_model_load_with_config(svit_model **out, svit_context *context,
                                                 const svit_model_config *config, const char *path,
                                                 svit_error *err);

/* Writes the model, float32, as a safetensors file; atomic replace as svit_file_replace. */
SVIT_API svit_status svit_model_save(const svit_model *model, const char *path, svit_error *err);

/* Copies the model's configuration out. */
SVIT_API svit_status svit_model_get_config(const svit_model *model, svit_model_config *config,
                                           size_t size, svit_error *err);

/* The number of parameter tensors; 0 for NULL. */
SVIT_API size_t svit_model_parameter_count(const svit_model *model);

/* The number of parameters, each a float; 0 for NULL. */
SVIT_API uint64_t svit_model_parameter_elements(const svit_model *model);

/* The name of tensor number `index` in file order; borrowed until the model ends; NULL past the
 * end. */
SVIT_API const char *svit_model_parameter_name(const svit_model *model, size_t index);

/* The shape of a tensor as files have it; `shape` beyond `*rank` is 0. */
SVIT_API svit_status svit_model_parameter_shape(const svit_model *model, const char *name,
                                                int64_t shape[8], size_t *rank, svit_error *err);

/* Copies a parameter out; row-major in its shape, `elements` exactly its size. */
SVIT_API svit_status svit_model_get_parameter(const svit_model *model, const char *name, float *out,
                                              size_t elements, svit_error *err);

/* Copies a parameter in, as svit_model_get_parameter. SVIT_E_NUMERIC where a value is not finite;
 * nothing is changed then. */
SVIT_API svit_status svit_model_set_parameter(svit_model *model, const char *name, const float *in,
                                              size_t elements, svit_error *err);

/* Gives the model class names, in label order; `names` are copied. `count` is 0 (takes them away)
 * or the number of classes. */
SVIT_API svit_status svit_model_set_classes(svit_model *model, const char *const *names,
                                            size_t count, svit_error *err);

/* The name of a class; NULL where the model has none or past the end. Borrowed until
 * svit_model_set_classes or the model's end. */
SVIT_API const char *svit_model_class_name(const svit_model *model, size_t label);

/* Gives the model the pipeline that turns an image into its input; it is copied and travels in
 * the model's file. NULL takes it away. */
SVIT_API svit_status svit_model_set_pipeline(svit_model *model, const svit_pipeline_config *config,
                                             svit_error *err);

/* Copies the model's pipeline out; SVIT_E_STATE where it has none. */
SVIT_API svit_status svit_model_get_pipeline(const svit_model *model, svit_pipeline_config *config,
                                             size_t size, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
