/* What the trainer needs besides the public API: messages, struct sizes, memory, texts, the
 * clock. */
#ifndef SV_TRAINER_SUPPORT_H
#define SV_TRAINER_SUPPORT_H

#include <shiftvit/context.h>
#include <shiftvit/file.h>

#if defined(__GNUC__)
#define TRAINER_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#define TRAINER_PRINTF(string, first)
#endif

/* Returns the callee's failure unchanged. */
#define TRAINER_TRY(call)                                                                          \
    do {                                                                                           \
        svit_status try_status = (call);                                                           \
        if (try_status != SVIT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

/* Fails with SVIT_E_ARGUMENT and the name of the argument if a pointer is NULL. */
#define TRAINER_REQUIRE(pointer)                                                                   \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return sv_trainer_fail(err, SVIT_E_ARGUMENT,                                           \
                                   "%s: %s is NULL; a valid pointer is needed", __func__,          \
                                   #pointer);                                                      \
    } while (0)

/* Formats a message into `err` (NULL is allowed) and returns `status`. */
svit_status sv_trainer_fail(svit_error *err, svit_status status, const char *format, ...)
    TRAINER_PRINTF(3, 4);

/* Copies a caller's struct over the defaults in `local`. It may be shorter or longer than the
 * library's; `min` is the smallest size that is accepted. SVIT_E_VERSION: a field that this
 * library does not know is not zero. `what` names the type in messages. */
svit_status sv_trainer_import(void *local, size_t local_size, const void *in, size_t min,
                              const char *what, svit_error *err);

/* Copies a struct of the library to a caller's of `size` bytes, which may be shorter or longer. */
svit_status sv_trainer_export(void *out, size_t size, const void *local, size_t local_size,
                              const char *what, svit_error *err);

/* Allocates count * size zeroed bytes and writes their address to the pointer at `out`. Release
 * them with svit_context_release and the same number of bytes. */
svit_status sv_trainer_allocate(svit_context *context, void *out, size_t count, size_t size,
                                svit_error *err);

/* Writes a copy of `text` to *out, or NULL for NULL. Release it with sv_trainer_release_text. */
svit_status sv_trainer_copy(const char **out, svit_context *context, const char *text,
                            svit_error *err);

/* Releases a copy of sv_trainer_copy. NULL is allowed. */
void sv_trainer_release_text(svit_context *context, const char *text);

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
void sv_trainer_text_add(sv_trainer_text *text, const char *format, ...) TRAINER_PRINTF(2, 3);

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
