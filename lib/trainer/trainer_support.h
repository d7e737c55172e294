/* Texts and the clock of the trainer. */
#ifndef SV_TRAINER_SUPPORT_H
#define SV_TRAINER_SUPPORT_H

#include "base/status.h"

#include <shiftvit/context.h>

/* Returns the seconds of a clock that never goes back. */
double sv_trainer_clock(void);

/* A text that grows. Start from zero with the context set; free with sv_trainer_text_free. */
typedef struct sv_trainer_text {
    svit_context *context;
    char *data; /* NUL-terminated; NULL before the first addition */
    size_t length, capacity;
    int32_t failed; /* 1: an addition found no memory, and the text is incomplete */
} sv_trainer_text;

/* Appends formatted text. Sets `failed` if there is not enough memory. */
void sv_trainer_text_add(sv_trainer_text *text, const char *format, ...) SV_PRINTF(2, 3);

/* Appends data[bytes], which may have NUL bytes. Sets `failed` likewise. */
void sv_trainer_text_put(sv_trainer_text *text, const void *data, size_t bytes);

/* Releases the text and makes it empty. */
void sv_trainer_text_free(sv_trainer_text *text);

/* Appends `folder`/`name` to an empty text. */
svit_status sv_trainer_path(sv_trainer_text *path, const char *folder, const char *name,
                            svit_error *err);

/* Prints a number with 9 significant digits and a decimal point, whatever the locale is. Returns
 * `out`. */
enum { SV_TRAINER_NUMBER = 40 };
const char *sv_trainer_number(char out[SV_TRAINER_NUMBER], double value);

#endif
