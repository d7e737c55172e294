/* Long runs that must neither grow nor change: see soak.c. */
#ifndef SOAK_H
#define SOAK_H

#include <shiftvit/shiftvit.h>

#include <stdbool.h>
#include <stddef.h>

/* Ends the process with a message if the condition does not hold. */
#define HOLDS(condition, ...)                                                                      \
    ((condition) ? (void)0 : soak_failed(#condition, __FILE__, __LINE__, __VA_ARGS__))
#define WORKS(call) HOLDS((call) == SVIT_OK, "%s", err.message)
_Noreturn void soak_failed(const char *condition, const char *file, int line, const char *format,
                           ...) __attribute__((format(printf, 4, 5)));

/* A context whose allocations soak_live_bytes counts. */
svit_context *soak_context(uint32_t threads);
size_t soak_live_bytes(void);

/* What the process has now: bytes that malloc has given out, bytes in memory, and open file
 * descriptors. */
typedef struct soak_use {
    size_t given, resident, files;
} soak_use;
soak_use soak_use_now(void);

/* malloc may have given out `bytes` more, and no file may have stayed open but for those of a
 * moment. Bytes are not compared where malloc does not tell them, as under a sanitizer. */
void soak_check_growth(const soak_use *before, const soak_use *after, size_t bytes);

double soak_seconds(void);
void soak_sleep(double seconds);

/* A number of 0..count-1 of a stream that *state holds. */
size_t soak_choose(uint64_t *state, size_t count);

/* Trains for `steps` steps in `folder`, with checkpoints, while other threads evaluate and predict
 * with the best weights so far. */
void soak_train(size_t steps, const char *folder);

/* Predicts for `seconds` in `threads` threads that share a model: the files of the folders as they
 * are, whose results must be those of one thread, and damaged. */
void soak_predict(double seconds, size_t threads, char **folders, int count);

#endif
