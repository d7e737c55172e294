/* What the files of this folder share: a checkpoint that is being opened. */
#ifndef SV_OPEN_INTERNAL_H
#define SV_OPEN_INTERNAL_H

#include "models/load/load_internal.h"
#include "models/open/facts.h"

#include <shiftvit/load.h>

enum { SV_MAX_PREFIXES = 10, SV_MAX_PASSED = 48, SV_MAX_OTHERS = 40, SV_OPEN_PATH = 4096 };

/* A JSON file beside the weights. */
typedef struct sv_side_file {
    const char *name; /* "config.json" */
    void *text;
    size_t bytes;
    sv_json *json; /* NULL: there is no such file */
} sv_side_file;

enum {
    SV_SIDE_CONFIG,
    SV_SIDE_PREPROCESSOR,
    SV_SIDE_PROCESSOR,
    SV_SIDE_OPENCLIP,
    SV_SIDE_ADAPTER, /* this and what follows is in the folder of an adapter */
    SV_SIDE_ADAPTER_PREPROCESSOR,
    SV_SIDE_ADAPTER_PROCESSOR,
    SV_SIDE_FILES
};

typedef struct sv_open {
    svit_context *context;
    const sv_allocator *allocator;
    const char *path;           /* what the caller named */
    char weights[SV_OPEN_PATH]; /* the file of the weights */
    sv_safetensors *file;
    sv_side_file side[SV_SIDE_FILES];
    /* The root of config.json or of OpenCLIP's configuration, whichever is about the tensors. The
     * other one is NULL, as both are if neither file is there. */
    const sv_json_value *config, *openclip;
    sv_name_map map;  /* with the prefixes below */
    char prefix[128]; /* before the names of the encoder, "" or ending with a dot */
    char prefix_text[SV_MAX_PREFIXES][128];
    const char *prefixes[SV_MAX_PREFIXES + 1];
    const char *passed[SV_MAX_PASSED + 1]; /* patterns of tensors that the model leaves out */
    size_t passed_count;
    char others[SV_MAX_OTHERS][136]; /* such patterns of copies of the encoder */
    size_t other_count;
    sv_facts facts;
    sv_adapter adapter;              /* of PEFT; its map is the model's with the prefixes below */
    char adapter_path[SV_OPEN_PATH]; /* of its weights; "": there is none */
    char adapter_prefix_text[2 * SV_MAX_PREFIXES][160];
    const char *adapter_prefixes[2 * SV_MAX_PREFIXES + 1];
    size_t adapter_prefix_count;
    bool distillation_is_register; /* the distillation token has no head and is not read */
    bool has_positions;            /* the configuration or timm's name tells of learnt positions */
    int32_t pools_prefix; /* whether timm's pooling takes the tokens before the patches, too: 1, -1;
                             0: nothing states it */
    double image[2];      /* height and width that a file states of its images; 0: none does */
    double mlp_ratio; /* of a plain MLP's width to the model's, as a file states it; 0: none does */
    double classes;   /* that a file states of its classifier; 0: none does */
    const char *classes_from; /* what states them */
    int32_t output;           /* of a classifier, SVIT_OUTPUT_*; 0: nothing states it */
    bool has_pipeline;
    bool has_colours; /* scale, mean and variance of `pipeline` are known, if not more of it */
    svit_pipeline_config pipeline;
    const sv_json_value *class_names; /* an array of texts, or an object of them by number */
} sv_open;

/* folder.c: finds the weights and the JSON files that lie beside them, and opens them. If the
 * folder has an adapter, those are of the model that it changes: `base`, or what its configuration
 * names. */
svit_status sv_open_files(sv_open *open, const char *base, svit_error *err);
void sv_open_close(sv_open *open);

/* adapter.c: reads the adapter's configuration, opens it, and sets open->path to the model's. */
svit_status sv_open_adapter(sv_open *open, const char *base, svit_error *err);

/* Makes the names of the adapter's tensors, once those of the model's are known. */
svit_status sv_adapter_names(sv_open *open, svit_error *err);

/* Reports the tensors that no weight has taken, as extra ones. SVIT_E_FORMAT names one that
 * belongs to nothing that the model leaves out. */
svit_status sv_adapter_check(const sv_open *open, svit_load_report *report, svit_error *err);
void sv_adapter_close(sv_open *open);

/* dialect.c: finds out whose names the tensors have and what stands before them, and which
 * configuration is about them. `wanted` is the caller's prefix, or NULL. */
svit_status sv_open_dialect(sv_open *open, const char *wanted, svit_error *err);

/* Lets tensors that match a pattern be passed over. */
void sv_open_pass(sv_open *open, const char *pattern);

/* from_tensors.c: states what the names and shapes of the tensors tell. */
svit_status sv_open_from_tensors(sv_open *open, svit_error *err);

/* positions.c: states the tokens before the patches, which tokens have positions, and the grid of
 * those if it is not that of the input; the size of an input that nothing states is that of the
 * grid. */
svit_status sv_open_state_positions(sv_open *open, svit_error *err);

/* Whether the file has the tensors of a parameter; then *shape is that of the parameter there. */
bool sv_open_find(const sv_open *open, const char *parameter, sv_tensor_desc *shape);
bool sv_open_has(const sv_open *open, const char *parameter);

/* Whether the first tensor of a parameter has this name, behind a prefix or not. */
bool sv_open_is_named(const sv_open *open, const char *parameter, const char *name);

/* What states a fact that follows from names and shapes, and its statement. */
#define SV_OPEN_TENSORS "the tensors"
svit_status sv_open_state_shape(sv_open *open, const char *field, size_t value, svit_error *err);

/* from_huggingface.c, from_timm.c, from_openclip.c: state what a configuration tells. */
svit_status sv_open_from_huggingface(sv_open *open, svit_error *err);
svit_status sv_open_from_timm(sv_open *open, svit_error *err);
svit_status sv_open_from_openclip(sv_open *open, svit_error *err);

/* from_openclip.c: SVIT_E_UNSUPPORTED, naming the member, if open_clip_config.json is about an
 * image tower that is no ViT. */
svit_status sv_open_refuse_openclip(const sv_open *open, const sv_json_value *root,
                                    svit_error *err);

/* from_timm.c: finds the pooling of timm's word, of which "avg" takes the tokens before the patches
 * if pools_prefix says so. Returns false for another word; NULL is none. */
bool sv_open_timm_pool(int32_t *out, const sv_open *open, const char *name);

/* timm_names.c: SVIT_E_UNSUPPORTED, naming the family, if this is the name of one of timm's models
 * that this library does not compute. NULL is no name. */
svit_status sv_open_refuse_timm_name(const sv_open *open, const char *name, svit_error *err);

/* Writes the name of one of timm's models as the tables of names have it: without the owner before
 * it and the tag of its weights behind it, "timm/vit_tiny_patch16_224.augreg_in21k", and with
 * underscores where this library's presets have dashes. The tables have no longer one. */
enum { SV_TIMM_NAME = 128 };
void sv_open_bare_timm_name(char out[SV_TIMM_NAME], const char *name);

/* timm_usual.c: logs a warning where the tensors tell something else than timm's models of this
 * name usually have. */
void sv_open_compare_with_usual(const sv_open *open, const char *whole);

/* timm_words.c: SVIT_E_UNSUPPORTED unless the name is made of words that timm's ViTs have in their
 * names. */
svit_status sv_open_check_timm_words(const sv_open *open, const char *whole, svit_error *err);

/* timm_names.c: states what the name of one of timm's models, which is not refused, tells. */
svit_status sv_open_from_timm_name(sv_open *open, const char *name, svit_error *err);

/* Sets pools_prefix by the name, unless it is known. */
void sv_open_note_timm_prefix(sv_open *open, const char *name);

/* preprocessing.c: timm's description of the weights in its config.json, which older files have
 * among the other members; NULL: there is none. */
const sv_json_value *sv_open_timm_pretrained(const sv_json_value *root);

/* Sets the pipeline of a model of this configuration, if a file describes one that this library
 * has, or its colours alone. */
void sv_open_preprocessing(sv_open *open, const svit_model_config *model);

/* Lets the input of a model of transformers be what its preprocessor makes of images, where the
 * configuration has another size, for which it was trained: DINOv2's 518, of which 224 are used. */
void sv_open_take_crop(sv_open *open);

/* statements.c: states a flag or a number of a JSON object, if it is there. */
svit_status sv_open_state_member(sv_open *open, const sv_json_value *object, const char *key,
                                 const char *field, const char *file, svit_error *err);

/* Notes the size of the images that a file states first, whose grid that of the positions is. */
void sv_open_note_image(sv_open *open, double height, double width);

/* Reads a number, or two, height and width. `from` names it in SVIT_E_FORMAT. */
svit_status sv_open_read_sides(const sv_open *open, const sv_json_value *size, const char *from,
                               double *height, double *width, svit_error *err);

/* States the side of the patches by a number or two equal ones, if `size` is there. */
svit_status sv_open_state_patch(sv_open *open, const sv_json_value *size, const char *from,
                                svit_error *err);

/* States the size of the input by a number or two, height and width, if `size` is there. */
svit_status sv_open_state_image(sv_open *open, const sv_json_value *size, const char *from,
                                svit_error *err);

/* Sets what a predictor makes of the logits to what transformers' pipeline makes of them: by
 * problem_type, and of one label the sigmoid. SVIT_E_UNSUPPORTED names one that is not known. */
svit_status sv_open_state_output(sv_open *open, const sv_json_value *root, svit_error *err);

/* States the activation of a name such as "gelu_pytorch_tanh". */
svit_status sv_open_state_activation(sv_open *open, const char *name, const char *file,
                                     svit_error *err);

/* Whether an array or an object has a name of a class; `as_texts`: one that is a text. LABEL_0 and
 * so on, which transformers writes for classes without names, are none. */
bool sv_open_has_names(const sv_json_value *names, bool as_texts);

#endif
