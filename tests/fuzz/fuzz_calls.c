/* Sequences of calls: each byte of the input is an operation of the tables in calls/, and the next
 * ones are its arguments. The operations share a few handles of each kind, which may be NULL, come
 * in any order and let allocations fail. Every call works or explains itself, and nothing is left
 * over at the end. */
#include "calls/calls.h"

#include <stdio.h>
#include <string.h>

calls_handles calls;
float calls_numbers[NUMBERS], calls_results[NUMBERS];
int32_t calls_labels[NUMBERS];
svit_error calls_error;
static fuzz_bytes input;

unsigned calls_choose(unsigned count)
{
    return (unsigned)fuzz_take(&input, 1) % count;
}

fuzz_bytes *calls_input(void)
{
    return &input;
}

const char *calls_file(const char *kind)
{
    char name[32];
    snprintf(name, sizeof name, "%u-%s", calls_choose(2), kind);
    return fuzz_path(name);
}

static void operation(void)
{
    static const calls_table *const tables[] = {
        &calls_of_models,     &calls_of_training, &calls_of_sessions,
        &calls_of_datasets,   &calls_of_loaders,  &calls_of_features,
        &calls_of_predictors, &calls_of_trainers, &calls_of_files};
    unsigned number = (unsigned)fuzz_take(&input, 1), total = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        total += tables[i]->count;
    FUZZ_CHECK(total <= 256);
    number %= total;
    calls_error = (svit_error)FUZZ_ERROR;
    for (size_t i = 0;; i++) {
        if (number < tables[i]->count) {
            tables[i]->operations[number]();
            return;
        }
        number -= tables[i]->count;
    }
}

static void free_all(void)
{
    for (unsigned place = 0; place < HANDLES; place++) {
        svit_trainer_free(calls.trainers[place]);
        svit_features_free(calls.features[place]);
        svit_extractor_free(calls.extractors[place]);
        svit_checkpoint_free(calls.checkpoints[place]);
        svit_predictor_free(calls.predictors[place]);
        svit_loader_free(calls.loaders[place]);
        svit_dataset_free(calls.datasets[place]);
        svit_optimizer_free(calls.optimizers[place]);
        svit_session_free(calls.sessions[place]);
        svit_model_free(calls.models[place]);
        svit_folder_lock_free(calls.locks[place]);
        svit_image_free(calls.images[place]);
    }
    memset(&calls, 0, sizeof calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_context();
    input = (fuzz_bytes){data, size};
    fuzz_clear_folder();
    for (int i = 0; i < NUMBERS; i++) {
        calls_numbers[i] = (float)((i * 37) % 101) / 101;
        calls_labels[i] = i % 3;
    }
    for (int i = 0; i < CALLS && input.size > 0; i++)
        operation();
    fuzz_fail_allocation(0, false);
    free_all();
    return fuzz_end();
}
