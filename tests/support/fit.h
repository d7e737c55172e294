/* Helpers for tests of models, optimisers and training: calls that must succeed or fail, a tiny
 * model, temporary folders. */
#ifndef TEST_FIT_H
#define TEST_FIT_H

#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Requires that a call succeeds. Its last argument may be `err`. */
#define WORKS(call)                                                                                \
    do {                                                                                           \
        svit_error works_error = {.struct_size = sizeof works_error};                              \
        svit_error *err = &works_error;                                                            \
        (void)err;                                                                                 \
        svit_status works_status = (call);                                                         \
        ck_assert_msg(works_status == SVIT_OK, "%s gave %d (%s)", #call, (int)works_status,        \
                      works_error.message);                                                        \
    } while (0)

/* Requires that a call fails with `wanted` and that its message contains `part`. */
#define FAILS(call, wanted, part)                                                                  \
    do {                                                                                           \
        svit_error fails_error = {.struct_size = sizeof fails_error};                              \
        svit_error *err = &fails_error;                                                            \
        svit_status fails_status = (call);                                                         \
        ck_assert_msg(fails_status == (wanted), "%s gave %d (%s), not %d", #call,                  \
                      (int)fails_status, fails_error.message, (int)(wanted));                      \
        ck_assert_int_eq(fails_error.code, (wanted));                                              \
        ck_assert_msg(strstr(fails_error.message, (part)) != NULL, "'%s' is not in '%s'", (part),  \
                      fails_error.message);                                                        \
    } while (0)

typedef struct fit_folder {
    char path[64];
} fit_folder;

static inline fit_folder fit_folder_make(void)
{
    fit_folder folder = {"/tmp/shiftvit-fit-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(folder.path));
    return folder;
}

static inline const char *fit_path(const fit_folder *folder, const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder->path, name);
    return path;
}

static inline void fit_folder_remove(const fit_folder *folder)
{
    static const char *const files[] = {
        "checkpoint.safetensors", "best.safetensors", "history.csv", "model.safetensors",
        "other.safetensors",      "image.png",        "run.json",    ".lock"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(fit_path(folder, files[i]));
    ck_assert_int_eq(rmdir(folder->path), 0);
}

static inline void fit_write(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
    ck_assert_int_eq(fclose(file), 0);
}

/* Returns the whole file, NUL-terminated; the caller frees it. */
static inline char *fit_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(size + 1);
    ck_assert_uint_eq(fread(data, 1, size, file), size);
    data[size] = '\0';
    fclose(file);
    if (bytes)
        *bytes = size;
    return data;
}

static inline svit_context *fit_context(uint32_t threads)
{
    svit_context_config config;
    svit_context_config_init(&config, sizeof config);
    config.threads = threads;
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

/* A ShiftViT for images of 8x8 pixels: patches of 2, two stages of 8 and 16 channels. */
static inline svit_model_config fit_model_config(uint32_t classes)
{
    svit_model_config config;
    WORKS(svit_model_config_init(&config, sizeof config));
    config.input_height = config.input_width = 8;
    config.num_classes = classes;
    config.patch_size = 2;
    config.dim = 8;
    config.stages = 2;
    config.blocks[0] = config.blocks[1] = 1;
    config.blocks[2] = config.blocks[3] = 0;
    config.num_div = 4;
    return config;
}

static inline svit_model *fit_model(svit_context *context, uint32_t classes, uint64_t seed)
{
    svit_model_config config = fit_model_config(classes);
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, seed, err));
    return model;
}

static inline size_t fit_elements(const svit_model *model, const char *name)
{
    int64_t shape[8];
    size_t rank, elements = 1;
    WORKS(svit_model_parameter_shape(model, name, shape, &rank, err));
    for (size_t i = 0; i < rank; i++)
        elements *= (size_t)shape[i];
    return elements;
}

/* Copies the gradients of all parameters, one after another, and returns where they end. */
static inline float *fit_copy_gradients(const svit_model *model, const svit_session *session,
                                        float *to)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t elements = fit_elements(model, name);
        WORKS(svit_session_get_gradient(session, name, to, elements, err));
        to += elements;
    }
    return to;
}

static inline float *fit_copy_weights(const svit_model *model, float *to)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t elements = fit_elements(model, name);
        WORKS(svit_model_get_parameter(model, name, to, elements, err));
        to += elements;
    }
    return to;
}

/* Whether two configurations have the same JSON. The structs' padding does not count. */
static inline int fit_same_config(const svit_model_config *a, const svit_model_config *b)
{
    char x[2048], y[2048];
    WORKS(svit_model_config_to_json(a, x, sizeof x, NULL, err));
    WORKS(svit_model_config_to_json(b, y, sizeof y, NULL, err));
    return strcmp(x, y) == 0;
}

static inline int fit_same_pipeline(const svit_pipeline_config *a, const svit_pipeline_config *b)
{
    char x[2048], y[2048];
    WORKS(svit_pipeline_config_to_json(a, x, sizeof x, NULL, err));
    WORKS(svit_pipeline_config_to_json(b, y, sizeof y, NULL, err));
    return strcmp(x, y) == 0;
}

/* Returns all weights in file order; the caller frees them. *elements may be NULL. */
static inline float *fit_weights(const svit_model *model, size_t *elements)
{
    size_t total = (size_t)svit_model_parameter_elements(model), at = 0;
    float *weights = malloc(total * sizeof *weights);
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t count = fit_elements(model, name);
        WORKS(svit_model_get_parameter(model, name, weights + at, count, err));
        at += count;
    }
    ck_assert_uint_eq(at, total);
    if (elements)
        *elements = total;
    return weights;
}

/* Whether two models have the same weights to the bit. */
static inline int fit_same(const svit_model *a, const svit_model *b)
{
    size_t elements;
    float *x = fit_weights(a, &elements), *y = fit_weights(b, NULL);
    int same = memcmp(x, y, elements * sizeof *x) == 0;
    free(x);
    free(y);
    return same;
}

#endif
