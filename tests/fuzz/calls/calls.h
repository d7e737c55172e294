/* What the operations of the target `calls` share: a few handles of each kind, buffers, and choices
 * from the input. An operation makes one call of the library, with whatever handles there are. */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include "../datasets.h"

/* Places of a kind of handle; the calls of a sequence; elements of a buffer; handles of a kind that
 * an operation may make larger without end have at most SAMPLES samples. */
enum { HANDLES = 2, CALLS = 200, NUMBERS = 65536, SAMPLES = 64 };

/* All handles that a sequence has. Each may be NULL. */
typedef struct calls_handles {
    svit_model *models[HANDLES];
    svit_session *sessions[HANDLES];
    svit_optimizer *optimizers[HANDLES];
    svit_dataset *datasets[HANDLES];
    svit_loader *loaders[HANDLES];
    svit_predictor *predictors[HANDLES];
    svit_checkpoint *checkpoints[HANDLES];
    svit_features *features[HANDLES];
    svit_extractor *extractors[HANDLES];
    svit_trainer *trainers[HANDLES];
    svit_folder_lock *locks[HANDLES];
    svit_image *images[HANDLES];
} calls_handles;

extern calls_handles calls;

/* Values in -1..1, what the calls write, and labels 0..2. */
extern float calls_numbers[NUMBERS], calls_results[NUMBERS];
extern int32_t calls_labels[NUMBERS];

/* The record of the operation that runs. */
extern svit_error calls_error;
#define ERR (&calls_error)

/* A number of 0..count-1, and a number of its own range, from the input. */
unsigned calls_choose(unsigned count);
fuzz_bytes *calls_input(void);

/* One of the handles of a kind. */
#define ANY(kind) (calls.kind[calls_choose(HANDLES)])

/* Checks what a call said, and returns whether it succeeded. */
#define TRY(...) fuzz_ok(__VA_ARGS__, ERR)

/* Frees the handle of a place and lets a call fill the place: `out` stands for its address. A call
 * that fails leaves NULL. */
#define CREATE(kind, free_handle, ...)                                                             \
    do {                                                                                           \
        const unsigned place = calls_choose(HANDLES);                                              \
        free_handle(calls.kind[place]);                                                            \
        calls.kind[place] = NULL;                                                                  \
        if (!TRY(__VA_ARGS__))                                                                     \
            FUZZ_CHECK(!calls.kind[place]);                                                        \
    } while (0)
#define OUT(kind) (&calls.kind[place])

/* A file or folder of the sequence: one of two of that kind. */
const char *calls_file(const char *kind);

/* The operations of a file, with their number. */
typedef void (*calls_operation)(void);
typedef struct calls_table {
    const calls_operation *operations;
    unsigned count;
} calls_table;
#define CALLS_TABLE(operations)                                                                    \
    {                                                                                              \
        (operations), sizeof(operations) / sizeof *(operations)                                    \
    }
extern const calls_table calls_of_models, calls_of_training, calls_of_sessions, calls_of_datasets,
    calls_of_loaders, calls_of_features, calls_of_predictors, calls_of_trainers, calls_of_files;

#endif
