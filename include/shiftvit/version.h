/* The version of the library: at compile time from macros, at run time from functions. */
#ifndef SHIFTVIT_VERSION_H
#define SHIFTVIT_VERSION_H

#include <shiftvit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers, for the preprocessor. SVIT_VERSION_NUMBER is larger for a newer
 * release; minor and patch are 0..255. */
#define SVIT_VERSION_MAJOR 0
#define SVIT_VERSION_MINOR 4
#define SVIT_VERSION_PATCH 0
#define SVIT_VERSION_NUMBER                                                                        \
    (SVIT_VERSION_MAJOR << 16 | SVIT_VERSION_MINOR << 8 | SVIT_VERSION_PATCH)

/* 1 if these headers are of the release major.minor.patch or of a newer one, else 0. A program that
 * uses a function of version 0.3.0 where it exists writes `#if SVIT_VERSION_AT_LEAST(0, 3, 0)`. */
#define SVIT_VERSION_AT_LEAST(major, minor, patch)                                                 \
    (SVIT_VERSION_NUMBER >= ((major) << 16 | (minor) << 8 | (patch)))

/* Returns the version of the library that the program runs with, as major << 16 | minor << 8 |
 * patch. It differs from SVIT_VERSION_NUMBER if the shared library was updated after the program
 * was compiled. Any thread may call it. */
SVIT_API uint32_t svit_version_number(void);

/* Returns the same version as text, "major.minor.patch". The text has static storage and is never
 * NULL. Any thread may call it. */
SVIT_API const char *svit_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
