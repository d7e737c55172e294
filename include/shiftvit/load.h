/* Weights of other libraries: loading them, or parts of a file, into a model through name maps,
 * with heads of other shapes and position embeddings of other grids; and saving a model for them.
 */
#ifndef SHIFTVIT_LOAD_H
#define SHIFTVIT_LOAD_H

#include <shiftvit/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What svit_model_load_into passes over instead of failing; flags may be added. */
enum {
    SVIT_LOAD_SKIP_SHAPE_MISMATCH = 1, /* a tensor of another shape: the parameter stays */
    SVIT_LOAD_IGNORE_EXTRA = 2,        /* a tensor that no parameter takes */
    SVIT_LOAD_ALLOW_MISSING = 4        /* a parameter without a tensor: it stays */
};

/* What was done with a file. The caller sets struct_size, text and capacity; the rest is written
 * also if the call fails, and then tells how far it has come. */
typedef struct svit_load_report {
    uint32_t struct_size; /* sizeof(svit_load_report) */
    uint32_t loaded;      /* parameters that were read */
    uint32_t missing;     /* parameters for which the file has no tensor */
    uint32_t mismatched;  /* parameters whose tensor has another shape */
    uint32_t extra;       /* tensors that no parameter takes */
    uint32_t buffers;     /* of these, integers and F64: they are never an error */
    char *text;           /* [capacity] the names, each in a line after "missing ", "mismatched ",
                             "extra ", "buffer " or, of an F64 tensor that a parameter took,
                             "converted ", control characters as in messages; NULL: not wanted */
    uint64_t capacity;    /* bytes of `text`; what does not fit is cut at a whole line */
    uint64_t needed;      /* bytes of the whole text with its NUL byte */
} svit_load_report;

/* Creates a model of `config` with the weights of a safetensors file, whose tensors the name map
 * `map` finds: "timm", "huggingface" (ViT, DeiT, I-JEPA, DINOv2, DINOv3, the image towers of CLIP
 * and SigLIP) or "openclip" for the plain ViTs of these libraries, NULL for the model's own names,
 * or a JSON object. Its keys are names of parameters, or the parts of names before a dot, in which
 * one * stands for a number; its values are the name of a tensor, a list of names that follow each
 * other on the first axis (queries, keys, values), {"tensor": NAME, "transpose": true} for a weight
 * [in, out], or null for a parameter that is 0. In a list the names after the first may begin with
 * ?: where the file lacks that tensor, zeros with the shape of the first take its place. {"tensor":
 * NAME, "part": [a, b, n]} takes parts a to b - 1 of n equal parts of the tensor's rows, and
 * {"tensor": NAME, "block_axis": x} the element of axis x that the number of * says. A parameter
 * without a rule has its own name.
 *
 * The convolution [dim, channels, size, size] of the patch embedding becomes its weight, axes of
 * length 1 at both ends are dropped or added, and a position embedding of another grid (config's
 * position_height and position_width, otherwise that of a file of this library, otherwise that of
 * the model or a square) is interpolated as timm does: bicubic with a = -0.5, antialiased; under
 * the names of transformers as it does: with a = -0.75, not antialiased, except that DINOv2 with
 * registers is as timm and SigLIP 2 bilinear, antialiased.
 * F16, BF16, F64 and I8 tensors are converted. The caller owns *out and frees it with
 * svit_model_free.
 *
 * SVIT_E_IO: the file cannot be read. SVIT_E_FORMAT: it is damaged, or a tensor is missing, has
 * another shape or belongs to no parameter, which svit_model_load_into can allow; or `map` begins
 * as JSON and is none. SVIT_E_ARGUMENT names what of `config` or `map` is not accepted; rules
 * of a map for parameters that the model does not have are passed over. Any thread may call it. */
SVIT_API svit_status svit_model_load_mapped(svit_model **out, svit_context *context,
                                            const svit_model_config *config, const char *path,
                                            const char *map, svit_error *err);

/* How svit_model_open finds out what a checkpoint is; all but the first field may be 0 or NULL. */
typedef struct svit_open_options {
    uint32_t struct_size; /* sizeof(svit_open_options) */
    uint32_t reserved;    /* 0 */
    const char *name;     /* which of timm's models the weights are of, such as
                             "vit_tiny_patch16_224", where no configuration lies beside them; an
                             owner before a / and a tag behind a dot may stay, and dashes stand for
                             underscores */
    const char *fields;   /* a JSON object of fields of svit_model_config, which have the last word:
                             {"heads": 3, "norm_eps": 1e-6} */
    const char *prefix; /* what the names of the encoder begin with, with its last dot, if the file
                             has several encoders: "teacher.backbone." */
    const char *base;   /* the folder or file of the model that a PEFT adapter changes; NULL: what
                             adapter_config.json names */
} svit_open_options;

/* Fills `options` with the defaults: NULL in each field. `size` is sizeof(svit_open_options) as the
 * caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_open_options_init(svit_open_options *options, size_t size);

/* Creates a model of a checkpoint: a file of this library, or a ViT of timm, transformers or
 * OpenCLIP in safetensors. `path` is that file or the folder that holds it (best.safetensors,
 * model.safetensors, model.safetensors.index.json, open_clip_model.safetensors or
 * checkpoint.safetensors, the first that is there). The configuration follows from the JSON files
 * beside the weights (config.json of transformers or of timm on the hub, open_clip_config.json),
 * from the names and shapes of the tensors, and from `options`, which may be NULL; a file of this
 * library says all of it, so that `fields` are not read there, and `name`, `prefix` and `base` are
 * SVIT_E_ARGUMENT. Two sources that contradict each other are SVIT_E_FORMAT, with both in the
 * message, and so is a file that has lost tensors, as far as the others, a configuration or its
 * class show it. What nothing tells is asked for: SVIT_E_ARGUMENT names the fields and their
 * candidates. The model gets the class names (id2label, label_names, labels), the pipeline
 * (preprocessor_config.json, pretrained_cfg, preprocess_cfg) and the output (problem_type, see
 * svit_model_set_output) of these files.
 *
 * `report`, which may be NULL, is written as by svit_model_load_into; before its other lines come
 * "field NAME VALUE SOURCE" for each field and what states it.
 *
 * A folder that holds an adapter of PEFT (adapter_config.json, adapter_model.safetensors; LoRA) is
 * the model that it changes with the adapter merged into the weights. What it has for modules that
 * the model leaves out, such as a text tower, is counted as extra tensors. `fields` that is no JSON
 * is SVIT_E_FORMAT.
 *
 * What stands before the names of the encoder ("module.", "model.", "backbone.") is found out; of
 * several encoders an average of weights or a teacher is taken, and the others are left out. A
 * model that this library does not compute is SVIT_E_UNSUPPORTED, with its family, and so is a name
 * with a word that timm's ViTs do not have. Other errors are those of svit_model_load_mapped. The
 * caller owns *out and frees it with svit_model_free. Any thread may call it. */
SVIT_API svit_status svit_model_open(svit_model **out, svit_context *context, const char *path,
                                     const svit_open_options *options, svit_load_report *report,
                                     svit_error *err);

/* Reads the parameters of `model` from a file as svit_model_load_mapped does, and passes over what
 * `flags`, a sum of SVIT_LOAD_*, allow. `report` may be NULL. The model changes only on success,
 * and then needs it alone. Errors are those of svit_model_load_mapped; SVIT_E_ARGUMENT also for
 * unknown flags. */
SVIT_API svit_status svit_model_load_into(svit_model *model, const char *path, const char *map,
                                          uint32_t flags, svit_load_report *report,
                                          svit_error *err);

/* Gives a model a new classifier of num_classes classes with random initial weights, which depend
 * on `seed`; hidden layers of the head stay. A model without a classifier, whose logits are its
 * features, gets one. Class names, texts (svit_model_set_text_head) and threshold
 * (svit_model_set_threshold) are dropped, and so is what was stated of the logits
 * (svit_model_set_output). The model needs to be alone: SVIT_E_STATE while sessions, optimisers or
 * predictors of it exist. SVIT_E_ARGUMENT: num_classes is not accepted. */
SVIT_API svit_status svit_model_replace_head(svit_model *model, uint32_t num_classes, uint64_t seed,
                                             svit_error *err);

/* Adds `count` classes behind those of the classifier: the old classes keep their weights, the new
 * ones get random initial weights. Class names, texts and threshold are dropped;
 * svit_model_set_classes sets the names again. SVIT_E_STATE: the model has no classifier, or is not
 * alone, as above. */
SVIT_API svit_status svit_model_add_classes(svit_model *model, uint32_t count, uint64_t seed,
                                            svit_error *err);

/* Ends a model after a block: `layer` is the name of the block as svit_session_layer_name lists it,
 * "layers.2.blocks.0" in a ShiftViT, "blocks.7" in a ViT or MLP-Mixer. The blocks behind it and the
 * head are dropped. All that is left keeps its weights and what is frozen, and the pooled features
 * become the logits, of which num_classes is the number, until svit_model_replace_head gives the
 * model a classifier. The final norm stays, except where a ShiftViT loses a stage: its channels are
 * those of the last one. A masked autoencoder becomes its encoder. Class names, texts and threshold
 * are dropped, and so is what was stated of the logits. The model needs to be alone, as above.
 * SVIT_E_ARGUMENT: the model has no block of this name. */
SVIT_API svit_status svit_model_truncate(svit_model *model, const char *layer, svit_error *err);

/* Adds adapters of LoRA (Hu et al. 2021) to a ViT: the weights of queries, keys and values and of
 * the projection of every attention block become W + (alpha / rank) B A. With W [out, in] named
 * NAME.weight, A is NAME.lora_a [rank, in], uniform in +-1 / sqrt(in) and drawn by `seed`, and B is
 * NAME.lora_b [out, rank], 0, so the logits stay the same. All other parameters but the weights and
 * biases of the head become frozen, which svit_model_set_trainable changes. The configuration's
 * lora_rank and lora_alpha become `rank` and `alpha`.
 *
 * Checkpoints have the adapters. svit_model_save, svit_model_save_as, svit_model_save_memory,
 * svit_model_save_mapped and svit_model_export_onnx write the model as svit_model_merge_lora would
 * leave it, and do not change the one in memory. The model needs to be alone, as above.
 *
 * SVIT_E_UNSUPPORTED: the model is no ViT. SVIT_E_STATE: it has adapters, or is not alone.
 * SVIT_E_ARGUMENT: rank is not in 1..min(dim, heads * head_dim), or alpha is not above 0. */
SVIT_API svit_status svit_model_add_lora(svit_model *model, uint32_t rank, double alpha,
                                         uint64_t seed, svit_error *err);

/* Adds (alpha / rank) B A to every weight that has adapters, and removes these. The parameters that
 * are left stay frozen or trainable as they are. SVIT_E_STATE: the model has no adapters, or is not
 * alone, as above. */
SVIT_API svit_status svit_model_merge_lora(svit_model *model, svit_error *err);

/* Writes the parameters of a ViT to a safetensors file under the names and shapes of timm, which
 * `map` must be: "timm". The position embedding is [1, rows, dim], the patch embedding [dim,
 * channels, size, size], the classifier head.weight and head.bias. timm loads the file into a
 * VisionTransformer (VisionTransformerDistilled if the model is distilled) of the same sizes, and
 * svit_model_load_mapped loads it back. Values are float32, and the only metadata is the format
 * "pt". An existing file is replaced atomically, as svit_file_replace.
 *
 * SVIT_E_ARGUMENT: `map` is another. SVIT_E_UNSUPPORTED: timm has no names for the model; the
 * message names the field. The parameters of ShiftViT, MLP-Mixer and of names "paper" have the
 * names and shapes of their PyTorch code already; svit_model_save writes these. SVIT_E_NUMERIC
 * names a parameter with a value that is not finite; an existing file stays. SVIT_E_IO names the
 * path; SVIT_E_MEMORY. Any thread may call it. */
SVIT_API svit_status svit_model_save_mapped(const svit_model *model, const char *path,
                                            const char *map, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
