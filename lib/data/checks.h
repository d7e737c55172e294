/* What public doors of this folder ask of sizes. `where` is the function that asks. */
#ifndef SV_CHECKS_H
#define SV_CHECKS_H

#include "base/status.h"

enum {
    SV_SIDE_LIMIT = 16384,     /* pixels a side of an image */
    SV_PIXEL_LIMIT = 64000000, /* pixels of an image that is decoded or encoded */
    SV_CHANNEL_LIMIT = 1024,   /* channels of a float image */
    SV_RGB = 3                 /* channels of an image of bytes */
};

/* SVIT_E_ARGUMENT where `value` is outside least..most; `what` is the argument's name. */
svit_status sv_check_range(const char *where, const char *what, size_t value, size_t least,
                           size_t most, svit_error *err);

/* Checks both sides of an image; `of` goes in front of the words height and width. */
svit_status sv_check_sides(const char *where, const char *of, size_t height, size_t width,
                           svit_error *err);

/* SVIT_E_ARGUMENT where `in` and `out` are one array. */
svit_status sv_check_distinct(const char *where, const void *in, const void *out, svit_error *err);

#endif
