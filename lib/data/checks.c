/* Checks of the arguments of public functions, all with the same wording. */
#include "data/checks.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

svit_status sv_check_range(const char *where, const char *what, size_t value, size_t min,
                           size_t max, svit_error *err)
{
    if (value >= min && value <= max)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "%s: %s is %zu; %zu..%zu are accepted", where, what, value,
                   min, max);
}

svit_status sv_check_flag(const char *where, const char *what, int32_t value, svit_error *err)
{
    if (value == 0 || value == 1)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "%s: %s is %d; 0 and 1 are accepted", where, what,
                   (int)value);
}

svit_status sv_check_sides(const char *where, const char *prefix, size_t height, size_t width,
                           svit_error *err)
{
    bool fits = height >= 1 && height <= SV_SIDE_LIMIT;
    if (fits && width >= 1 && width <= SV_SIDE_LIMIT)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "%s: %s%s is %zu; 1..%d are accepted", where, prefix,
                   fits ? "width" : "height", fits ? width : height, SV_SIDE_LIMIT);
}

svit_status sv_check_file_channels(const char *where, size_t channels, svit_error *err)
{
    if (channels == 1 || channels == 3 || channels == 4)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "%s: channels is %zu; files give images of 1 (grey), 3 (RGB) and 4 (RGBA)",
                   where, channels);
}

svit_status sv_check_values(const char *where, const float *images, size_t n, size_t elements,
                            double limit, svit_error *err)
{
    size_t i = 0;
    while (i < n * elements && fabs((double)images[i]) <= limit)
        i++;
    if (i == n * elements)
        return SVIT_OK;
    char which[32] = "the image";
    if (n > 1)
        snprintf(which, sizeof which, "image %zu", i / elements);
    return sv_fail(err, SVIT_E_ARGUMENT, "%s: %s has the value %g; -%.3g..%.3g is accepted", where,
                   which, (double)images[i], limit, limit);
}

svit_status sv_check_distinct(const char *where, const void *in, const void *out, svit_error *err)
{
    if (in != out)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "%s: in and out are the same array; different ones are needed", where);
}
