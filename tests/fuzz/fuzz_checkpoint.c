/* Checkpoints: svit_checkpoint_open, their texts and numbers, and restoring into a model, an
 * optimiser and a session. A checkpoint that was restored is saved and restored again. */
#include "fuzz.h"

static svit_optimizer *make_optimizer(svit_model *model, unsigned kind)
{
    svit_error err = FUZZ_ERROR;
    svit_optimizer *optimizer = NULL;
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.kind = (int32_t)(kind % 4);
    config.ema = kind & 4 ? SVIT_EMA_PLAIN : SVIT_EMA_NONE;
    FUZZ_CHECK(svit_optimizer_create(&optimizer, model, &config, &err) == SVIT_OK);
    return optimizer;
}

static svit_session *make_session(svit_model *model)
{
    svit_error err = FUZZ_ERROR;
    svit_session *session = NULL;
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = 1;
    config.mode = SVIT_MODE_TRAIN;
    FUZZ_CHECK(svit_session_create(&session, model, &config, &err) == SVIT_OK);
    return session;
}

static void save_again(svit_model *model, svit_optimizer *optimizer, svit_session *session)
{
    svit_error err = FUZZ_ERROR;
    svit_checkpoint *again = NULL;
    const char *path = fuzz_path("again.safetensors");
    FUZZ_CHECK(svit_checkpoint_save(path, model, optimizer, session, NULL, NULL, 0, &err) ==
               SVIT_OK);
    FUZZ_CHECK(svit_checkpoint_open(&again, fuzz_context(), path, &err) == SVIT_OK);
    FUZZ_CHECK(svit_checkpoint_restore(again, model, optimizer, session, &err) == SVIT_OK);
    svit_checkpoint_free(again);
}

static void restore(const svit_checkpoint *checkpoint, unsigned kind)
{
    svit_error err = FUZZ_ERROR;
    svit_model *model = fuzz_model(kind / 8);
    if (kind & 64)
        fuzz_ok(svit_checkpoint_restore(checkpoint, model, NULL, NULL, &err), &err);
    svit_optimizer *optimizer = make_optimizer(model, kind);
    svit_session *session = make_session(model);
    if (fuzz_ok(svit_checkpoint_restore(checkpoint, model, optimizer, session, &err), &err))
        save_again(model, optimizer, session);
    fuzz_check_model(model);
    svit_session_free(session);
    svit_optimizer_free(optimizer);
    svit_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"optimizer.steps", "optimizer.swapped", "session.counter"};
    svit_error err = FUZZ_ERROR;
    svit_checkpoint *checkpoint = NULL;
    svit_model *model = NULL;
    const unsigned kind = size > 0 ? data[0] : 0;
    const size_t skip = size > 0;
    const char *path = fuzz_file("checkpoint.safetensors", data + skip, size - skip);
    if (fuzz_ok(svit_checkpoint_open(&checkpoint, fuzz_context(), path, &err), &err)) {
        uint64_t value;
        for (int i = 0; i < 3; i++)
            FUZZ_CHECK(svit_checkpoint_get_u64(checkpoint, keys[i], &value, &err) == SVIT_OK);
        fuzz_check_text(svit_checkpoint_value(checkpoint, "note"));
        restore(checkpoint, kind);
    }
    svit_checkpoint_free(checkpoint);
    if (fuzz_ok(svit_model_load(&model, fuzz_context(), path, &err), &err))
        fuzz_check_model(model);
    svit_model_free(model);
    return fuzz_end();
}
