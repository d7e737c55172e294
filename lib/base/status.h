/* How functions report failures: a status, and a message of one line that names the thing, its
 * value and what is accepted. */
#ifndef SV_STATUS_H
#define SV_STATUS_H

#include <shiftvit/status.h>

#if defined(__GNUC__)
#define SV_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SV_PRINTF(text, first)
#endif

/* Fills `err`, which may be NULL, with a message formatted as by printf. Returns `status`. */
svit_status sv_fail(svit_error *err, svit_status status, const char *format, ...) SV_PRINTF(3, 4);

/* Fails with SVIT_E_MEMORY because `bytes` bytes for `what` could not be allocated. */
svit_status sv_fail_memory(svit_error *err, size_t bytes, const char *what);

/* Fails with SVIT_E_ARGUMENT because `argument` of `function` is NULL. */
svit_status sv_fail_null(svit_error *err, const char *function, const char *argument);

/* Fails as a function of the caller has, with its message, or one that names the function if
 * `message` is empty. A positive status becomes SVIT_E_STOPPED. */
svit_status sv_fail_function(svit_error *err, svit_status status, const char *function,
                             const char *message);

/* Puts "where: " before the message of an error that a callee has filled, unless it begins with
 * that. Returns `status`. */
svit_status sv_fail_in(svit_error *err, svit_status status, const char *where);

/* Does the same if `status` is SVIT_E_MEMORY, whose messages say what for and not of which file.
 * Returns `status`, also of a success. */
svit_status sv_fail_memory_in(svit_error *err, svit_status status, const char *where);

/* Writes the system's text for an errno value to `buffer`. Returns `buffer`. */
const char *sv_errno_text(int code, char *buffer, size_t capacity);

/* Analysers look at one file at a time: this tells them that a failure is one. */
#if (defined(__clang_analyzer__) || defined(SV_ANALYZER)) && !defined(SV_STATUS_DEFINES)
#define sv_fail(err, status, ...) (sv_fail(err, status, __VA_ARGS__), (status))
#define sv_fail_memory(...) (sv_fail_memory(__VA_ARGS__), SVIT_E_MEMORY)
#define sv_fail_null(...) (sv_fail_null(__VA_ARGS__), SVIT_E_ARGUMENT)
#endif

/* Returns from the calling function with the callee's status unless it is SVIT_OK. */
#define SVIT_TRY(call)                                                                             \
    do {                                                                                           \
        svit_status try_status = (call);                                                           \
        if (try_status != SVIT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

/* For public functions: returns SVIT_E_ARGUMENT, naming the argument, if a pointer is NULL. */
#define SV_REQUIRE(pointer)                                                                        \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return sv_fail_null(err, __func__, #pointer);                                          \
    } while (0)

#endif
