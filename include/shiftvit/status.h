/* Status codes, the error record, and the public constants by name. */
#ifndef SHIFTVIT_STATUS_H
#define SHIFTVIT_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* Every public function carries this mark; it is empty for those who link against the library. */
#ifndef SVIT_API
#define SVIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns: SVIT_OK, or one of the negative codes below. Values are never reused. */
typedef int32_t svit_status;

enum {
    SVIT_OK = 0,             /* the call did what it says */
    SVIT_E_ARGUMENT = -1,    /* an argument, field or option is outside what is accepted */
    SVIT_E_MEMORY = -2,      /* the allocator returned NULL, or a size does not fit size_t */
    SVIT_E_STATE = -3,       /* calls out of order: backward before forward, say */
    SVIT_E_IO = -4,          /* a file could not be opened, read, written, or renamed */
    SVIT_E_FORMAT = -5,      /* a file or text is not what it claims to be */
    SVIT_E_VERSION = -6,     /* made by a newer library than this one */
    SVIT_E_STOPPED = -7,     /* a callback asked to stop */
    SVIT_E_UNSUPPORTED = -8, /* legal, but not available in this build or on this machine */
    SVIT_E_NUMERIC = -9      /* an input, loss or gradient is not finite */
};

/* Where a failing call explains itself. The caller owns it; every `svit_error *` may be NULL.
 * It is written only on failure: `code` is the status returned, `message` names the argument,
 * file or field, its value, and what would be accepted (NUL-terminated, cut to fit).
 * Set `struct_size` to sizeof(svit_error). */
typedef struct svit_error {
    uint32_t struct_size;
    int32_t code;
    char message[248];
} svit_error;

/* The name of a status, "SVIT_E_IO" say; "SVIT_E_?" for a value that is none. Static storage,
 * never NULL. Any thread. */
SVIT_API const char *svit_status_name(svit_status status);

/* Fills `err` (NULL allowed) as a failing call does and returns `status`, so that a callback or a
 * binding can report in the library's own form. A NULL message reads as "". Any thread. */
SVIT_API svit_status svit_error_set(svit_error *err, svit_status status, const char *message);

/* The value of a public constant by its name, "SVIT_MODE_TRAIN" say, for languages that cannot
 * read C headers. SVIT_E_ARGUMENT for a name that is no constant of this library. Any thread. */
SVIT_API svit_status svit_constant(const char *name, int64_t *value, svit_error *err);

/* The name of the public constant number `index`, from 0; NULL past the end. Static storage. */
SVIT_API const char *svit_constant_name(size_t index);

#ifdef __cplusplus
}
#endif

#endif
