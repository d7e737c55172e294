/* How a failing function reports: one line that says the thing, its value and what is accepted. */
#ifndef SV_STATUS_H
#define SV_STATUS_H

#include <shiftvit/status.h>

#if defined(__GNUC__)
#define SV_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SV_PRINTF(text, first)
#endif

/* Fills `err` (NULL allowed), message formatted as by printf, and returns `status`. */
svit_status sv_fail(svit_error *err, svit_status status, const char *format, ...) SV_PRINTF(3, 4);

/* SVIT_E_MEMORY for `bytes` wanted for `what`. */
svit_status sv_fail_memory(svit_error *err, size_t bytes, const char *what);

/* Puts "where: " in front of the message of an error that a callee has filled, and returns
 * `status`. */
svit_status sv_fail_in(svit_error *err, svit_status status, const char *where);

/* The system's text for an errno value, into `buffer`; returns `buffer`. */
const char *sv_errno_text(int code, char *buffer, size_t capacity);

/* Returns the callee's failure unchanged. */
#define SVIT_TRY(call)                                                                             \
    do {                                                                                           \
        svit_status try_status = (call);                                                           \
        if (try_status != SVIT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

/* For public doors: fails where a pointer argument is NULL, and names it. */
#define SV_REQUIRE(pointer)                                                                        \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: %s is NULL; a valid pointer is needed",      \
                           __func__, #pointer);                                                    \
    } while (0)

#endif
