/* What the trainer needs besides the public API: messages, growing structs, texts, the clock. */
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

/* Fails where a pointer argument is NULL, and names it. */
#define TRAINER_REQUIRE(pointer)                                                                   \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return sv_trainer_fail(err, SVIT_E_ARGUMENT,                                           \
                                   "%s: %s is NULL; a valid pointer is needed", __func__,          \
                                   #pointer);                                                      \
    } while (0)

svit_status sv_trainer_fail(svit_error *err, svit_status status, const char *format, ...)
    TRAINER_PRINTF(3, 4);

/* A caller's struct, of `least` bytes or more, over the defaults in `own`; and a struct of the
 * library to a caller's. */
svit_status sv_trainer_import(void *own, size_t own_size, const void *in, size_t least,
                              const char *what, svit_error *err);
svit_status sv_trainer_export(void *out, size_t size, const void *own, size_t own_size,
                              const char *what, svit_error *err);

/* count * size bytes, cleared, to be released with that many. */
svit_status sv_trainer_allocate(svit_context *context, void *out, size_t count, size_t size,
                                svit_error *err);

/* A copy of `text`, to be released by sv_trainer_release_text; NULL of NULL. */
svit_status sv_trainer_copy(const char **out, svit_context *context, const char *text,
                            svit_error *err);
void sv_trainer_release_text(svit_context *context, const char *text);

/* Seconds from some moment on, never going back. */
double sv_trainer_clock(void);

/* A text that grows. `failed` is set where there was no memory, and stays. */
typedef struct sv_trainer_text {
    svit_context *context;
    char *data;
    size_t length, capacity;
    int32_t failed;
} sv_trainer_text;
void sv_trainer_text_add(sv_trainer_text *text, const char *format, ...) TRAINER_PRINTF(2, 3);
void sv_trainer_text_free(sv_trainer_text *text);

/* `folder`/`name`, added to an empty text. */
svit_status sv_trainer_path(sv_trainer_text *path, const char *folder, const char *name,
                            svit_error *err);

/* The number with a point whatever the locale says, into `out`; returns `out`. */
enum { SV_TRAINER_NUMBER = 40 };
const char *sv_trainer_number(char out[SV_TRAINER_NUMBER], double value);

#endif
