/* Helpers for tests of mapped models: a model, its file, and its probabilities. */
#ifndef TEST_MODEL_MAP_SUPPORT_H
#define TEST_MODEL_MAP_SUPPORT_H

#include "fit.h"

#include "base/numbers/byte_order.h"
#include "models/model.h"

enum { CLASSES = 5, BATCH = 3, INPUT = BATCH * 8 * 8 * 3 };

static svit_context *context;
static fit_folder folder;
static char path[512];
static svit_model *origin;
static float input[INPUT];

static inline svit_model *create(uint32_t dim, uint32_t blocks)
{
    svit_model_config config = fit_model_config(CLASSES);
    config.dim = dim;
    config.blocks[0] = blocks;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    return model;
}

static inline void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    snprintf(path, sizeof path, "%s", fit_path(&folder, "model.safetensors"));
    origin = create(16, 1);
    WORKS(svit_model_save(origin, path, err));
    for (size_t i = 0; i < INPUT; i++)
        input[i] = (float)(i * i % 83) / 83;
}

static inline void teardown(void)
{
    svit_model_free(origin);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

static inline svit_model *load(int mapped)
{
    svit_model *model = NULL;
    WORKS((mapped ? svit_model_map : svit_model_load)(&model, context, path, err));
    return model;
}

static inline int is_mapped(const svit_model *model)
{
    return model->mapping.base != NULL;
}

/* Whether the model is mapped, where its file may be: a big-endian machine converts every file. */
static inline int is_mapped_here(const svit_model *model)
{
    return is_mapped(model) == SV_IS_LITTLE_ENDIAN;
}

static inline svit_session *session_of(svit_model *model, int32_t mode)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = BATCH;
    config.mode = mode;
    svit_session *session = NULL;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

typedef struct answer {
    float logits[BATCH * CLASSES];
} answer;

static inline answer ask(svit_session *session)
{
    answer found;
    WORKS(svit_forward(session, input, BATCH, found.logits, err));
    return found;
}

static inline answer ask_model(svit_model *model)
{
    svit_session *session = session_of(model, SVIT_MODE_INFER);
    answer found = ask(session);
    svit_session_free(session);
    return found;
}

static inline void assert_equal(answer a, answer b)
{
    ck_assert_mem_eq(a.logits, b.logits, sizeof a.logits);
}

#endif
