/* Writes a model to another file, with its weights in another type, or as an ONNX file; reads and
 * writes the files of other libraries. */
#include "models/convert_from.h"
#include "models/model_path.h"
#include "models/text_classes.h"
#include "outputs/output_check.h"
#include "program/json_line.h"
#include "program/shown.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

typedef struct convert_options {
    struct program program;
    config_option config;
    const char *in, *out;
    const char *last; /* the block that the model ends with; NULL: its own */
    int32_t dtype;    /* SVIT_DTYPE_* */
    int32_t to;       /* TO_* */
    svit_onnx_options onnx;
    name_source from;
    text_classes texts;
} convert_options;

enum {
    KEY_DTYPE = 0x300,
    KEY_FROM,
    KEY_MAP,
    KEY_SKIP_HEAD,
    KEY_IGNORE_EXTRA,
    KEY_TO,
    KEY_TRUNCATE,
    KEY_PREPROCESSING,
    KEY_PROBABILITIES,
    KEY_TEXTS,
    KEY_SCALE,
    KEY_BIAS
};

/* The names of SVIT_DTYPE_*. */
static const char *const dtype_names[] = {"f32", "f16", "bf16", "int8", NULL};

static const char *const family_names[] = {"timm", "huggingface", "openclip", NULL};

/* The kinds of files that are written, and their names. */
enum { TO_SHIFTVIT, TO_PYTORCH, TO_ONNX };
static const char *const target_names[] = {"shiftvit", "pytorch", "onnx", NULL};

static const struct option_line option_list[] = {
    {"from", KEY_FROM, "LIBRARY", 0,
     "IN is a safetensors file of timm, huggingface or openclip; --preset says of which model"},
    {"map", KEY_MAP, "FILE.json", 0,
     "The names of IN's tensors, in place of --from: an object of rules from names of parameters "
     "to "
     "names of tensors"},
    {"skip-head", KEY_SKIP_HEAD, NULL, 0,
     "With --from or --map: the classifier keeps its initial weights, so the file's may be absent "
     "or "
     "of another size"},
    {"ignore-extra", KEY_IGNORE_EXTRA, "PATTERN", 0,
     "With --from or --map: pass over tensors of IN that no parameter takes and whose names match "
     "PATTERN, in which * stands for any characters; up to 32 times"},
    {"dtype", KEY_DTYPE, "TYPE", 0,
     "How the weights are stored: f32 (default), f16, bf16, or int8 with a scale for each row"},
    {"to", KEY_TO, "KIND", 0,
     "What OUT becomes: shiftvit (default), a model file; pytorch, safetensors in which a ViT has "
     "the "
     "names and shapes of timm; or onnx, a file for other runtimes"},
    {"truncate", KEY_TRUNCATE, "BLOCK", 0,
     "End the model after a block, such as layers.2.blocks.0 or blocks.7: what it computes are the "
     "features there, and shiftvit-head or shiftvit-train give it a classifier"},
    {"preprocessing", KEY_PREPROCESSING, NULL, 0,
     "With --to onnx: the graph takes bytes and preprocesses them as the model's file says"},
    {"probabilities", KEY_PROBABILITIES, NULL, 0,
     "With --to onnx: the graph ends with probabilities, of the classes, the labels or the texts"},
    {"texts", KEY_TEXTS, "FILE.safetensors", 0,
     "The model's logits are embeddings, as CLIP's are: its classes become those of FILE, a file "
     "of "
     "features with the embedding of a text for each class"},
    {"logit-scale", KEY_SCALE, "S", 0,
     "With --texts: what cosine similarities are multiplied with (default 100, as CLIP's)"},
    {"logit-bias", KEY_BIAS, "B", 0, "With --texts: what is added then (default 0)"},
    {NULL, 0, NULL, 0, NULL},
};

static int is_foreign(const convert_options *self)
{
    return self->from.family || self->from.map_path;
}

static const struct option_rule rules[] = {
    {"logit-scale", {"texts"}, NULL},
    {"logit-bias", {"texts"}, NULL},
    {NULL, {NULL}, NULL},
};

static void check_together(const convert_options *self, struct option_state *state)
{
    if (self->from.family && self->from.map_path)
        option_error(state, "--from and --map both say which names IN has; give one of them");
    if (is_foreign(self) && !self->config.preset && !self->config.file)
        option_error(state, "--from and --map need --preset NAME or --config FILE");
    if (self->from.skip_head && !is_foreign(self))
        option_error(state, "--skip-head needs --from or --map");
    if (self->from.ignored_count > 0 && !is_foreign(self))
        option_error(state, "--ignore-extra needs --from or --map");
    if (self->to == TO_PYTORCH && self->dtype != SVIT_DTYPE_F32)
        option_error(state, "--dtype: a file for pytorch has f32");
    if (self->texts.path && self->last)
        option_error(state, "--texts are classes for the whole model, not for one of --truncate");
    if (self->texts.path && self->to == TO_PYTORCH)
        option_error(state, "--texts: a file for pytorch has no classes that are texts");
    option_check_rules(state, rules);
}

static int parse_option(int key, char *text, struct option_state *state)
{
    convert_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->config;
        state->child_inputs[1] = &self->program;
        return 0;
    case KEY_DTYPE:
        self->dtype = option_choice(state, "--dtype", text, dtype_names);
        return 0;
    case KEY_FROM:
        self->from.family = family_names[option_choice(state, "--from", text, family_names)];
        return 0;
    case KEY_MAP:
        self->from.map_path = text;
        return 0;
    case KEY_SKIP_HEAD:
        self->from.skip_head = 1;
        return 0;
    case KEY_IGNORE_EXTRA:
        if (self->from.ignored_count == CONVERT_MAX_IGNORED)
            option_error(state, "--ignore-extra: at most %d patterns are accepted",
                         CONVERT_MAX_IGNORED);
        self->from.ignored[self->from.ignored_count++] = text;
        return 0;
    case KEY_TO:
        self->to = option_choice(state, "--to", text, target_names);
        return 0;
    case KEY_TRUNCATE:
        self->last = text;
        return 0;
    case KEY_PREPROCESSING:
        self->onnx.preprocessing = 1;
        return 0;
    case KEY_PROBABILITIES:
        self->onnx.output = SVIT_ONNX_PROBABILITIES;
        return 0;
    case KEY_TEXTS:
        self->texts.path = text;
        return 0;
    case KEY_SCALE:
        self->texts.scale = option_real(state, "--logit-scale", text, 1e-6, 1e6);
        return 0;
    case KEY_BIAS:
        self->texts.bias = option_real(state, "--logit-bias", text, -1e6, 1e6);
        return 0;
    case OPTION_ARGUMENT:
        if (self->out)
            option_error(state, "'%s' is a third file; IN and OUT are accepted", text);
        *(self->in ? &self->out : &self->in) = text;
        return 0;
    case OPTION_END:
        if (!self->out)
            option_error(state, "IN and OUT are needed");
        check_together(self, state);
        if (self->to != TO_ONNX && has_ending(self->out, ".onnx"))
            option_error(state, "'%s' has the ending of an ONNX file, which needs --to onnx",
                         self->out);
        if (self->to == TO_ONNX && has_ending(self->out, ".safetensors"))
            option_error(state,
                         "'%s' has the ending of a model file; --to onnx writes an ONNX file",
                         self->out);
        if (self->to == TO_ONNX && self->dtype != SVIT_DTYPE_F32)
            option_error(state, "--dtype %s: an ONNX file has f32", dtype_names[self->dtype]);
        if (self->to != TO_ONNX && self->onnx.preprocessing)
            option_error(state, "--preprocessing belongs to --to onnx");
        if (self->to != TO_ONNX && self->onnx.output != SVIT_ONNX_LOGITS)
            option_error(state, "--probabilities belongs to --to onnx");
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {
    {&checkpoint_table, "A file without configuration, or of another library:"},
    {&program_table, "Common options:"},
    {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    "IN OUT",
    "Writes the model file IN, or that of a training run's folder, to OUT."
    "\vThe new file has the configuration too, the class names of IN, and the preprocessing of IN "
    "or else of the run.json of --config or of the preset; a message says if it has none. Weights "
    "in f16, bf16 and int8 are rounded to nearest; every program reads such a file. An ONNX file "
    "has the graph and the weights: docs/onnx.md.\n\n"
    "A pretrained ViT: shiftvit-convert --from timm --preset deit-tiny-patch16-224 IN OUT. The new "
    "file has the preset's preprocessing.",
    children,
    NULL};

static svit_status report(const convert_options *self, const svit_model *model)
{
    struct stat file;
    char shown[SHOWN_CAPACITY];
    long long bytes = stat(self->out, &file) == 0 ? (long long)file.st_size : 0;
    if (!self->program.json) {
        printf("%llu parameters in %lld bytes: %s\n",
               (unsigned long long)svit_model_parameter_elements(model), bytes,
               shown_text(shown, self->out));
        return SVIT_OK;
    }
    json_t *object = json_pack("{s:o, s:s, s:I}", "out", json_line_text(self->out), "dtype",
                               dtype_names[self->dtype], "bytes", (json_int_t)bytes);
    json_line_print(object, JSON_LINE_DIGITS);
    return SVIT_OK;
}

/* Every file has the adapters of LoRA in the weights. */
static svit_status merge_adapters(struct program *program, svit_model *model)
{
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    return config.lora_rank > 0 ? svit_model_merge_lora(model, &program->err) : SVIT_OK;
}

static svit_status check_out(convert_options *self)
{
    struct program *program = &self->program;
    TRY(output_check_source(program, "OUT", self->out, "IN", self->in));
    TRY(output_check_source(program, "OUT", self->out, "--base", self->config.base));
    TRY(output_check(program, "OUT", self->out, "--map", self->from.map_path));
    TRY(output_check(program, "OUT", self->out, "--config", self->config.file));
    TRY(output_check_replaced(program, "OUT", self->out,
                              self->to == TO_ONNX ? ".onnx" : ".safetensors", NULL));
    return output_check(program, "OUT", self->out, "--texts", self->texts.path);
}

static svit_status convert(convert_options *self, svit_model **model)
{
    struct program *program = &self->program;
    TRY(check_out(self));
    TRY(program_open(program));
    if (is_foreign(self))
        TRY(convert_from(model, program, &self->config, &self->from, self->in));
    else
        TRY(model_open(model, program, &self->config, self->in));
    TRY(model_take_pipeline(*model, program, &self->config));
    if (self->last)
        TRY(svit_model_truncate(*model, self->last, &program->err));
    if (self->texts.path)
        TRY(text_classes_set(program, *model, &self->texts));
    TRY(merge_adapters(program, *model));
    if (self->to == TO_PYTORCH)
        TRY(convert_to_pytorch(program, *model, self->out));
    else if (self->to == TO_ONNX)
        TRY(svit_model_export_onnx(*model, self->out, &self->onnx, &program->err));
    else
        TRY(svit_model_save_as(*model, self->out, self->dtype, &program->err));
    if (self->to == TO_SHIFTVIT)
        model_note_pipeline(program, *model, &self->config);
    return report(self, *model);
}

int main(int argc, char **argv)
{
    convert_options options = {.program = PROGRAM_INIT,
                               .config.opens = "IN",
                               .texts.scale = 100,
                               .onnx = {.struct_size = sizeof(svit_onnx_options)}};
    svit_model *model = NULL;
    program_parse(&parser, argc, argv, &options);
    svit_status status = convert(&options, &model);
    svit_model_free(model);
    return program_exit(&options.program, status);
}
