/* Skips the checks of what the build under test leaves out. */
#ifndef TEST_BUILD_H
#define TEST_BUILD_H

#include "suite.h"

#ifdef SV_HAVE_BLAS
enum { HAS_CBLAS = 1 };
#else
enum { HAS_CBLAS = 0 };
#endif
#ifdef SV_HAVE_PNG
enum { HAS_PNG = 1 };
#else
enum { HAS_PNG = 0 };
#endif

/* Ends the test, and reports it as skipped, unless `has` holds. */
#define NEEDS(has, what)                                                                           \
    if (!(has)) {                                                                                  \
        skip_check("this build has no " what);                                                     \
        return;                                                                                    \
    }                                                                                              \
    (void)0

#endif
