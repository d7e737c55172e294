/* Sequences of calls: each byte of the input is an operation, and the next ones are its arguments. The
 * operations share a few handles of each kind, which may be NULL, and let allocations fail. Every call
 * works or explains itself, and nothing is left over at the end. */
#include "datasets.h"

#include <stdio.h>
#include <string.h>

enum { HANDLES = 2, OPERATIONS = 200, NUMBERS = 65536 };

static svit_model *models[HANDLES];
static svit_session *sessions[HANDLES];
static svit_optimizer *optimizers[HANDLES];
static svit_dataset *datasets[HANDLES];
static svit_loader *loaders[HANDLES];
static svit_predictor *predictors[HANDLES];
static svit_checkpoint *checkpoints[HANDLES];
static svit_features *features[HANDLES];
static svit_trainer *trainers[HANDLES];
static float numbers[NUMBERS], results[NUMBERS];
static int32_t labels[NUMBERS];
static fuzz_bytes input;

static unsigned choose(unsigned count)
{
    return (unsigned)fuzz_take(&input, 1) % count;
}

#define ANY(handles) ((handles)[choose(HANDLES)])

/* Creates a handle in a place whose old one is freed. */
#define CREATE(handles, free_handle, ...)                                                          \
    do {                                                                                           \
        const unsigned place = choose(HANDLES);                                                    \
        free_handle((handles)[place]);                                                             \
        (handles)[place] = NULL;                                                                   \
        if (!fuzz_ok(__VA_ARGS__, err))                                                            \
            FUZZ_CHECK(!(handles)[place]);                                                         \
    } while (0)
#define OUT(handles) (&(handles)[place])

static const char *file_of(const char *kind)
{
    char name[32];
    snprintf(name, sizeof name, "%s%u", kind, choose(2));
    return fuzz_path(name);
}

static void model_operation(unsigned which, svit_error *err)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static const char *const patterns[] = {"*", "head*", "blocks.0.*", "nothing", "*bias"};
    svit_model_config config;
    svit_pipeline_config pipeline = small_pipeline();
    svit_model *model = ANY(models);
    switch (which) {
    case 0:
        fuzz_model_config(&config, choose(3));
        CREATE(models, svit_model_free,
               svit_model_create(OUT(models), fuzz_context(), &config, 2, err));
        break;
    case 1:
        CREATE(models, svit_model_free,
               svit_model_load(OUT(models), fuzz_context(), file_of("model"), err));
        break;
    case 2:
        fuzz_ok(svit_model_save_as(model, file_of("model"), (int32_t)choose(5), err), err);
        break;
    case 3:
        fuzz_ok(svit_model_set_classes(model, names, choose(5), err), err);
        break;
    case 4:
        pipeline.channels = choose(4) ? 3 : choose(5);
        fuzz_ok(svit_model_set_pipeline(model, choose(4) ? &pipeline : NULL, err), err);
        break;
    case 5:
        fuzz_ok(svit_model_set_trainable(model, patterns[choose(5)], (int32_t)choose(3), err), err);
        break;
    case 6:
        fuzz_ok(svit_model_replace_head(model, choose(6), 3, err), err);
        break;
    case 7:
        fuzz_ok(svit_model_add_classes(model, choose(3), 3, err), err);
        break;
    case 8:
        fuzz_ok(svit_model_add_lora(model, choose(4), choose(4), 1, err), err);
        break;
    case 9:
        fuzz_ok(svit_model_merge_lora(model, err), err);
        break;
    case 10:
        fuzz_ok(svit_model_export_onnx(model, file_of("onnx"), NULL, err), err);
        break;
    case 11:
        fuzz_ok(svit_model_load_into(model, file_of("model"), NULL, choose(8), NULL, err), err);
        break;
    case 12:
        CREATE(models, svit_model_free,
               svit_model_map(OUT(models), fuzz_context(), file_of("model"), err));
        break;
    default:
        fuzz_ok(svit_model_set_output(model, (int32_t)choose(5), err), err);
    }
}

static void session_operation(unsigned which, svit_error *err)
{
    svit_session_config config;
    svit_optimizer_config optimizer;
    svit_session *session = ANY(sessions);
    const size_t n = choose(4);
    svit_session_config_init(&config, sizeof config);
    svit_optimizer_config_init(&optimizer, sizeof optimizer);
    switch (which) {
    case 0:
        config.max_batch = choose(4);
        config.mode = (int32_t)choose(3);
        config.compute = (int32_t)choose(4);
        config.memory = (int32_t)choose(3);
        config.input_gradient = (int32_t)choose(2);
        CREATE(sessions, svit_session_free,
               svit_session_create(OUT(sessions), ANY(models), &config, err));
        break;
    case 1:
        fuzz_ok(svit_forward(session, numbers, n, results, err), err);
        break;
    case 2:
        fuzz_ok(svit_backward(session, numbers, n, err), err);
        break;
    case 3:
        fuzz_ok(svit_backward_input(session, numbers, n, results, err), err);
        break;
    case 4:
        fuzz_ok(svit_session_set_mode(session, (int32_t)choose(3), err), err);
        break;
    case 5:
        fuzz_ok(svit_session_zero_gradients(session, err), err);
        break;
    case 6:
        optimizer.kind = (int32_t)choose(5);
        optimizer.ema = (int32_t)choose(5);
        optimizer.total_steps = 5;
        optimizer.lookahead = choose(3);
        optimizer.clip_norm = choose(2);
        CREATE(optimizers, svit_optimizer_free,
               svit_optimizer_create(OUT(optimizers), ANY(models), &optimizer, err));
        break;
    case 7:
        fuzz_ok(svit_step(ANY(optimizers), session, err), err);
        break;
    case 8:
        fuzz_ok(svit_optimizer_swap_ema(ANY(optimizers), err), err);
        break;
    case 9:
        fuzz_ok(svit_optimizer_set_f64(ANY(optimizers), choose(2) ? "learning_rate" : "momentum",
                                       choose(3) / 2.0, err),
                err);
        break;
    default:
        fuzz_ok(svit_session_set_counter(session, choose(9), err), err);
    }
}

static void checkpoint_operation(unsigned which, svit_error *err)
{
    static const char *const keys[] = {"note"}, *const values[] = {"a text"};
    svit_checkpoint *checkpoint = ANY(checkpoints);
    svit_session *session = choose(3) ? ANY(sessions) : NULL;
    svit_optimizer *optimizer = choose(3) ? ANY(optimizers) : NULL;
    switch (which) {
    case 0:
        fuzz_ok(svit_checkpoint_save(file_of("checkpoint"), ANY(models), optimizer, session, keys,
                                     values, choose(2), err),
                err);
        break;
    case 1:
        CREATE(checkpoints, svit_checkpoint_free,
               svit_checkpoint_open(OUT(checkpoints), fuzz_context(), file_of("checkpoint"), err));
        break;
    default:
        fuzz_ok(svit_checkpoint_restore(checkpoint, ANY(models), optimizer, session, err), err);
    }
}

static void dataset_operation(unsigned which, svit_error *err)
{
    static uint8_t pixels[9 * 8 * 8 * 3];
    static const char *const names[] = {"c", "a", "b", "d"};
    const size_t indices[] = {choose(9), choose(9), choose(12)};
    svit_loader_config config;
    const svit_pipeline_config pipeline = small_pipeline();
    size_t n;
    switch (which) {
    case 0:
        CREATE(datasets, svit_dataset_free,
               svit_dataset_memory(OUT(datasets), fuzz_context(), pixels, labels, choose(10), 8, 8,
                                   3, choose(5), err));
        break;
    case 1:
        CREATE(datasets, svit_dataset_free,
               svit_dataset_memory_targets(OUT(datasets), fuzz_context(), pixels, numbers,
                                           choose(10), 8, 8, 3, choose(5), err));
        break;
    case 2:
    case 3:
    case 4: {
        /* A view keeps its parent, which may be in the place that it takes. */
        svit_dataset *parent = ANY(datasets), *view = NULL;
        const svit_status status =
            which == 2   ? svit_dataset_slice(&view, parent, choose(9), choose(9), err)
            : which == 3 ? svit_dataset_select(&view, parent, indices, choose(4), err)
                         : svit_dataset_match_classes(&view, parent, names, choose(5), err);
        if (fuzz_ok(status, err)) {
            const unsigned place = choose(HANDLES);
            svit_dataset_free(datasets[place]);
            datasets[place] = view;
        }
        break;
    }
    case 5:
        svit_loader_config_init(&config, sizeof config);
        config.batch = choose(5);
        config.shuffle = (int32_t)choose(2);
        config.augment = (int32_t)choose(2);
        config.prefetch = choose(3);
        CREATE(loaders, svit_loader_free,
               svit_loader_create(OUT(loaders), ANY(datasets), &pipeline, &config, err));
        break;
    case 6:
        fuzz_ok(svit_loader_next(ANY(loaders), results, labels + 64, &n, err), err);
        break;
    case 7:
        fuzz_ok(svit_loader_next_targets(ANY(loaders), results, results + 4096, &n, err), err);
        break;
    default:
        fuzz_ok(svit_loader_seek(ANY(loaders), choose(3), choose(6), err), err);
    }
}

static void feature_operation(unsigned which, svit_error *err)
{
    svit_predictor_config predictor;
    svit_predictor_config_init(&predictor, sizeof predictor);
    svit_head_config head;
    svit_head_config_init(&head, sizeof head);
    head.epochs = 2;
    static const uint8_t pixels[4 * 8 * 8 * 4];
    svit_features *set = ANY(features);
    switch (which) {
    case 0:
        CREATE(features, svit_features_free,
               svit_features_compute(OUT(features), ANY(models), ANY(datasets), NULL, NULL, err));
        break;
    case 1:
        CREATE(features, svit_features_free,
               svit_features_create(OUT(features), fuzz_context(), numbers, labels, choose(6),
                                    choose(4) ? 16 : choose(20), choose(5), NULL, err));
        break;
    case 2:
        fuzz_ok(svit_features_append(set, ANY(features), err), err);
        break;
    case 3:
        fuzz_ok(svit_features_save(set, file_of("features"), err), err);
        break;
    case 4:
        CREATE(features, svit_features_free,
               svit_features_load(OUT(features), fuzz_context(), file_of("features"), err));
        break;
    case 5:
        fuzz_ok(svit_model_fit_head(ANY(models), set, &head, err), err);
        break;
    case 6:
        fuzz_ok(svit_model_fit_class(ANY(models), choose(2) ? "new" : NULL, set,
                                     choose(2) ? ANY(features) : NULL, NULL, err),
                err);
        break;
    case 7:
        predictor.max_batch = choose(4);
        predictor.compute = (int32_t)choose(3);
        CREATE(predictors, svit_predictor_free,
               svit_predictor_create_from_model(OUT(predictors), ANY(models), &predictor, err));
        break;
    default:
        fuzz_ok(
            svit_predict_u8(ANY(predictors), pixels, choose(4), choose(9), choose(9), results, err),
            err);
    }
}

static void trainer_operation(unsigned which, svit_error *err)
{
    svit_trainer_config config;
    svit_trainer_event event;
    const svit_pipeline_config pipeline = small_pipeline();
    svit_trainer *trainer = ANY(trainers);
    svit_trainer_config_init(&config, sizeof config);
    switch (which) {
    case 0:
        config.epochs = choose(4);
        config.batch = choose(5);
        config.prefetch = choose(2);
        config.keep = (int32_t)choose(2);
        config.loss = (int32_t)choose(4);
        config.existing = (int32_t)choose(3);
        config.folder = choose(2) ? file_of("run") : NULL;
        CREATE(trainers, svit_trainer_free,
               svit_trainer_create(OUT(trainers), fuzz_context(), ANY(models), ANY(datasets),
                                   choose(2) ? ANY(datasets) : NULL, &config, NULL, &pipeline,
                                   err));
        break;
    case 1:
        fuzz_ok(svit_trainer_resume(trainer, err), err);
        break;
    case 2:
        fuzz_ok(svit_trainer_checkpoint(trainer, err), err);
        break;
    default:
        fuzz_ok(svit_trainer_step(trainer, &event, sizeof event, err), err);
    }
}

static void free_operation(unsigned which)
{
    const unsigned place = choose(HANDLES);
#define FREE(number, handles, free_handle)                                                         \
    if (which == (number)) {                                                                       \
        free_handle((handles)[place]);                                                             \
        (handles)[place] = NULL;                                                                   \
    }
    FREE(0, models, svit_model_free)
    FREE(1, sessions, svit_session_free)
    FREE(2, optimizers, svit_optimizer_free)
    FREE(3, datasets, svit_dataset_free)
    FREE(4, loaders, svit_loader_free)
    FREE(5, predictors, svit_predictor_free)
    FREE(6, checkpoints, svit_checkpoint_free)
    FREE(7, features, svit_features_free)
    FREE(8, trainers, svit_trainer_free)
}

static void operation(void)
{
    svit_error err = FUZZ_ERROR;
    const unsigned number = choose(64);
    if (number < 14)
        model_operation(number, &err);
    else if (number < 25)
        session_operation(number - 14, &err);
    else if (number < 28)
        checkpoint_operation(number - 25, &err);
    else if (number < 37)
        dataset_operation(number - 28, &err);
    else if (number < 46)
        feature_operation(number - 37, &err);
    else if (number < 51)
        trainer_operation(number - 46, &err);
    else if (number < 60)
        free_operation(number - 51);
    else if (number < 62)
        fuzz_fail_allocation(choose(40), number == 61);
    else
        fuzz_fail_allocation(0, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_context();
    input = (fuzz_bytes){data, size};
    fuzz_clear_folder();
    for (int i = 0; i < 4096; i++) {
        numbers[i] = (float)((i * 37) % 101) / 101;
        labels[i] = i % 3;
    }
    for (int i = 0; i < OPERATIONS && input.size > 0; i++)
        operation();
    input = (fuzz_bytes){NULL, 0};
    fuzz_fail_allocation(0, false);
    static const uint8_t places[] = {0, 1};
    for (unsigned place = 0; place < HANDLES; place++)
        for (unsigned which = 9; which-- > 0;) {
            input = (fuzz_bytes){&places[place], 1};
            free_operation(which);
        }
    return fuzz_end();
}
