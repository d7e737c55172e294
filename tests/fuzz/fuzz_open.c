/* Checkpoints of other libraries. The input, behind a byte of choices, is one of the files of a
 * folder: config.json beside weights of timm, preprocessor_config.json, open_clip_config.json, the
 * index of shards, the weights themselves, or the caller's fields. Whatever it says, the folder is
 * refused with a message or opened as a model that runs. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG, PREPROCESSOR, OPENCLIP, INDEX, WEIGHTS, FIELDS, KINDS };

static const char TIMM[] =
    "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":2}}";

/* A small ViT under timm's names. */
static void write_weights(const char *name)
{
    static const char small[] =
        "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"num_classes\":3,"
        "\"patch_size\":4,\"dim\":8,\"depth\":1,\"heads\":2,\"head_dim\":4,\"mlp_dim\":8,\"pool\":"
        "\"class_token\",\"head_units\":[],\"mlp_last_gelu\":false}";
    svit_error err = FUZZ_ERROR;
    svit_model_config config;
    svit_model *model = NULL;
    FUZZ_CHECK(svit_model_config_from_json(&config, sizeof config, small, &err) == SVIT_OK);
    FUZZ_CHECK(svit_model_create(&model, fuzz_context(), &config, 1, &err) == SVIT_OK);
    FUZZ_CHECK(svit_model_save_mapped(model, fuzz_path(name), "timm", &err) == SVIT_OK);
    svit_model_free(model);
}

/* Writes the folder; returns the caller's fields, to be freed, or NULL. */
static char *write_folder(unsigned kind, const uint8_t *data, size_t size)
{
    static const char *const files[] = {[CONFIG] = "config.json",
                                        [PREPROCESSOR] = "preprocessor_config.json",
                                        [OPENCLIP] = "open_clip_config.json",
                                        [INDEX] = "model.safetensors.index.json",
                                        [WEIGHTS] = "model.safetensors"};
    if (kind != OPENCLIP)
        fuzz_file("config.json", TIMM, sizeof TIMM - 1);
    if (kind != WEIGHTS)
        write_weights(kind == INDEX ? "part.safetensors" : "model.safetensors");
    if (kind == FIELDS)
        return fuzz_text(data, size);
    fuzz_file(files[kind], data, size);
    return NULL;
}

static char *folder_of(const char *path)
{
    char *folder = strdup(path);
    FUZZ_CHECK(folder);
    *strrchr(folder, '/') = '\0';
    return folder;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_model *model = NULL;
    char text[2000] = "";
    if (size == 0)
        return 0;
    const unsigned choice = data[0];
    svit_load_report report = {
        .struct_size = sizeof report, .text = text, .capacity = choice & 128 ? 60 : sizeof text};
    char *fields = write_folder(choice % KINDS, data + 1, size - 1);
    char *folder = folder_of(fuzz_path("model.safetensors"));
    const svit_open_options options = {.struct_size = sizeof options,
                                       .fields = fields,
                                       .name = choice & 64 ? "vit_tiny_patch16_224" : NULL};
    if (fuzz_ok(svit_model_open(&model, fuzz_context(), folder, &options, &report, &err), &err))
        fuzz_check_model(model);
    fuzz_check_text(text);
    svit_model_free(model);
    free(folder);
    free(fields);
    fuzz_clear_folder();
    return fuzz_end();
}
