/* Status codes, the error record, and the public constants by name. */
#ifndef SHIFTVIT_STATUS_H
#define SHIFTVIT_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* Marks every public function. It is empty in programs that link against the library. */
#ifndef SVIT_API
#define SVIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns: SVIT_OK or one of the negative codes below. */
typedef int32_t svit_status;

/* The status codes. A value is never given to another meaning in a later release. */
enum {
    SVIT_OK = 0,             /* the call succeeded */
    SVIT_E_ARGUMENT = -1,    /* an argument or a field is outside what is accepted */
    SVIT_E_MEMORY = -2,      /* the allocator returned NULL, or a size does not fit size_t */
    SVIT_E_STATE = -3,       /* calls are out of order, for example backward before forward */
    SVIT_E_IO = -4,          /* a file could not be opened, read, written or renamed */
    SVIT_E_FORMAT = -5,      /* the contents of a file or a text are malformed */
    SVIT_E_VERSION = -6,     /* the data or the struct comes from a newer library */
    SVIT_E_STOPPED = -7,     /* a callback asked to stop */
    SVIT_E_UNSUPPORTED = -8, /* legal, but not available in this build or on this machine */
    SVIT_E_NUMERIC = -9      /* an input, logit, loss or gradient is infinite or NaN */
};

/* The record in which a failed call explains itself. The caller owns it, sets `struct_size`, and
 * passes its address as the last argument; NULL is accepted everywhere. It is written only on
 * failure. */
typedef struct svit_error {
    uint32_t struct_size; /* sizeof(svit_error), set by the caller */
    int32_t code;         /* the status that the call returned */
    char message[248];    /* names the argument, field or file, its value and what is accepted;
                             UTF-8 without control characters, cut to fit, NUL-terminated */
} svit_error;

/* Returns the name of a status, for example "SVIT_E_IO", or "SVIT_E_?" for a value that is no
 * status. The text has static storage and is never NULL. Any thread may call it. */
SVIT_API const char *svit_status_name(svit_status status);

/* Fills `err` as a failed call does and returns `status`. Callbacks and bindings use it to report
 * failures in the library's form. `err` may be NULL; a NULL message is stored as "". Any thread may
 * call it. */
SVIT_API svit_status svit_error_set(svit_error *err, svit_status status, const char *message);

/* Writes the value of the public constant `name`, for example "SVIT_MODE_TRAIN", to *value. It
 * serves languages that cannot read C headers. SVIT_E_ARGUMENT means that the library has no
 * constant of this name. Any thread may call it. */
SVIT_API svit_status svit_constant(const char *name, int64_t *value, svit_error *err);

/* Returns the name of the public constant number `index`, from 0, or NULL past the end. The text
 * has static storage. Any thread may call it. */
SVIT_API const char *svit_constant_name(size_t index);

#ifdef __cplusplus
}
#endif

#endif
