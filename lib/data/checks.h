/* Checks of the arguments of public functions. `where` is the name of the public function, with
 * which messages begin. */
#ifndef SV_CHECKS_H
#define SV_CHECKS_H

#include "base/status.h"

enum {
    SV_SIDE_LIMIT = 16384,   /* pixels along one side of an image */
    SV_CHANNEL_LIMIT = 1024, /* channels of an image */
    SV_RGB = 3               /* channels of an RGB image */
};

/* SVIT_E_ARGUMENT unless `value` is in min..max. `what` is the argument's name. */
svit_status sv_check_range(const char *where, const char *what, size_t value, size_t min,
                           size_t max, svit_error *err);

/* SVIT_E_ARGUMENT unless `value` is 0 or 1. */
svit_status sv_check_flag(const char *where, const char *what, int32_t value, svit_error *err);

/* SVIT_E_ARGUMENT unless both sides of an image are 1..SV_SIDE_LIMIT. The message puts `prefix`
 * before the words height and width. */
svit_status sv_check_sides(const char *where, const char *prefix, size_t height, size_t width,
                           svit_error *err);

/* SVIT_E_ARGUMENT unless the image of a file can have that many channels: 1, 3 or 4. */
svit_status sv_check_file_channels(const char *where, size_t channels, svit_error *err);

/* SVIT_E_ARGUMENT, naming the image if there are several, if a value of images[n, elements] is not
 * in -limit..limit. */
svit_status sv_check_values(const char *where, const float *images, size_t n, size_t elements,
                            double limit, svit_error *err);

/* SVIT_E_ARGUMENT if `in` and `out` are the same array. */
svit_status sv_check_distinct(const char *where, const void *in, const void *out, svit_error *err);

#endif
