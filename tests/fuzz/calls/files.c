/* Operations of files and locks, failing allocations, and the end of each kind of handle. */
#include "calls.h"

static void lock(void)
{
    CREATE(locks, svit_folder_lock_free,
           svit_folder_lock_create(OUT(locks), fuzz_context(), calls_file("run"), ERR));
}

static void look_into_lock(void)
{
    const svit_folder_lock *held = ANY(locks);
    const int32_t has = svit_folder_lock_has(held, "checkpoint.svit");
    FUZZ_CHECK(has == 0 || has == 1);
}

static void remove_from_lock(void)
{
    TRY(svit_folder_lock_remove(ANY(locks), calls_choose(2) ? "checkpoint.svit" : "../a", ERR));
}

/* Bytes that no reader expects at the end of a file. */
static void append(void)
{
    static const char *const kinds[] = {"model", "checkpoint", "features", "list", "0-a.png"};
    TRY(svit_file_append(calls_file(kinds[calls_choose(5)]), "damage", calls_choose(7), ERR));
}

static void damage(void)
{
    static const char *const kinds[] = {"model", "checkpoint", "features", "run"};
    TRY(svit_file_replace(calls_file(kinds[calls_choose(4)]), calls_numbers, calls_choose(64),
                          ERR));
}

static void fail_one(void)
{
    fuzz_fail_allocation(calls_choose(40), false);
}

static void fail_all(void)
{
    fuzz_fail_allocation(calls_choose(40), true);
}

static void fail_none(void)
{
    fuzz_fail_allocation(0, false);
}

#define FREE(kind, free_handle)                                                                    \
    static void free_##kind(void)                                                                  \
    {                                                                                              \
        const unsigned place = calls_choose(HANDLES);                                              \
        free_handle(calls.kind[place]);                                                            \
        calls.kind[place] = NULL;                                                                  \
    }
FREE(models, svit_model_free)
FREE(sessions, svit_session_free)
FREE(optimizers, svit_optimizer_free)
FREE(datasets, svit_dataset_free)
FREE(loaders, svit_loader_free)
FREE(predictors, svit_predictor_free)
FREE(checkpoints, svit_checkpoint_free)
FREE(features, svit_features_free)
FREE(extractors, svit_extractor_free)
FREE(trainers, svit_trainer_free)
FREE(locks, svit_folder_lock_free)
FREE(images, svit_image_free)

static const calls_operation operations[] = {
    lock,           look_into_lock, remove_from_lock, append,
    damage,         fail_one,       fail_all,         fail_none,
    fail_none,      free_models,    free_sessions,    free_optimizers,
    free_datasets,  free_loaders,   free_predictors,  free_checkpoints,
    free_features,  free_trainers,  free_locks,       free_images,
    free_extractors};
const calls_table calls_of_files = CALLS_TABLE(operations);
