/* Writes those seeds of the corpus that the library has to make: models, checkpoints and features.
 *
 * usage: fuzz_seeds FOLDER     FOLDER is tests/fuzz/corpus, with its folders */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static const char *folder;

static const char *path_of(const char *target, const char *name, unsigned number)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s-%u", folder, target, name, number);
    return path;
}

static void write_models(void)
{
    static const char *const targets[] = {"model_file", "model_memory", "model_map"};
    svit_error err = FUZZ_ERROR;
    for (unsigned kind = 0; kind < 3; kind++) {
        svit_model *model = fuzz_model(kind);
        for (int target = 0; target < 3; target++)
            for (unsigned dtype = 0; dtype < 4; dtype++)
                FUZZ_CHECK(svit_model_save_as(model,
                                              path_of(targets[target], "model", 4 * kind + dtype),
                                              (int32_t)dtype, &err) == SVIT_OK);
        svit_model_free(model);
    }
}

/* A byte for the target, then the checkpoint of a run of one step. */
static void write_checkpoint(unsigned kind)
{
    static const char *const keys[] = {"note"}, *const values[] = {"a text"};
    static float images[8 * 8 * 3], logits[3];
    svit_error err = FUZZ_ERROR;
    svit_model *model = fuzz_model(kind / 8);
    svit_optimizer *optimizer = NULL;
    svit_session *session = NULL;
    svit_optimizer_config config;
    svit_session_config options;
    svit_optimizer_config_init(&config, sizeof config);
    config.kind = (int32_t)(kind % 4);
    config.ema = kind & 4 ? SVIT_EMA_PLAIN : SVIT_EMA_NONE;
    svit_session_config_init(&options, sizeof options);
    options.max_batch = 1;
    options.mode = SVIT_MODE_TRAIN;
    FUZZ_CHECK(svit_optimizer_create(&optimizer, model, &config, &err) == SVIT_OK);
    FUZZ_CHECK(svit_session_create(&session, model, &options, &err) == SVIT_OK);
    FUZZ_CHECK(svit_forward(session, images, 1, logits, &err) == SVIT_OK);
    FUZZ_CHECK(svit_backward(session, logits, 1, &err) == SVIT_OK);
    FUZZ_CHECK(svit_step(optimizer, session, &err) == SVIT_OK);
    const char *plain = fuzz_path("checkpoint");
    FUZZ_CHECK(svit_checkpoint_save(plain, model, optimizer, session, keys, values, 1, &err) ==
               SVIT_OK);
    FILE *from = fopen(plain, "rb"), *to = fopen(path_of("checkpoint", "run", kind), "wb");
    FUZZ_CHECK(from && to);
    fputc((int)kind, to);
    for (int byte; (byte = fgetc(from)) != EOF;)
        fputc(byte, to);
    fclose(to);
    fclose(from);
    svit_session_free(session);
    svit_optimizer_free(optimizer);
    svit_model_free(model);
}

static void write_features(void)
{
    static const float values[12] = {1, 2, 3, -1, 0.5f, 4, 0, 0, 0, 9, 8, 7};
    static const int32_t labels[4] = {0, 1, 1, -1};
    static const char *const names[] = {"cat", "dog"};
    for (unsigned i = 0; i < 2; i++) {
        svit_error err = FUZZ_ERROR;
        svit_features *set = NULL;
        FUZZ_CHECK(svit_features_create(&set, fuzz_context(), values, labels, 4, 3, 2,
                                        i ? names : NULL, &err) == SVIT_OK);
        FUZZ_CHECK(svit_features_save(set, path_of("features", "set", i), &err) == SVIT_OK);
        svit_features_free(set);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return EXIT_FAILURE;
    folder = argv[1];
    write_models();
    for (unsigned kind = 0; kind < 24; kind += 5)
        write_checkpoint(kind);
    write_features();
    return EXIT_SUCCESS;
}
