/* Converts between doubles and decimal text with the C library's strtod and printf. These depend on
 * the program's floating-point environment, which is the default one for the call, and on its
 * locale's decimal point, which is translated. */
#include "config/decimal.h"

#include "base/threads/fp_env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINT = 16 };

/* Finds the locale's decimal point, of one or several bytes, by printing 1.0. Returns its bytes. */
/*@ requires \valid(point + (0 .. POINT - 1));
    assigns point[0 .. POINT - 1];
    ensures 1 <= \result < POINT; */
static size_t find_point(char point[POINT])
{
    char one[POINT + 8];
    int length = snprintf(one, sizeof one, "%.1f", 1.0);
    if (length < 3 || length - 2 >= POINT) {
        strcpy(point, ".");
        return 1;
    }
    memcpy(point, one + 1, (size_t)length - 2);
    point[length - 2] = '\0';
    return (size_t)length - 2;
}

/*@ requires valid_read_string(text);
    assigns \nothing; */
static double to_double(const char *text)
{
    SV_DEFAULT_FP_ENV;
    return strtod(text, NULL);
}

bool sv_decimal_read(double *out, const char *text, size_t bytes)
{
    char point[POINT], copy[SV_DECIMAL_MAX_LENGTH + POINT + 1];
    if (bytes > SV_DECIMAL_MAX_LENGTH)
        return false;
    const char *dot = memchr(text, '.', bytes);
    if (dot) {
        size_t before = (size_t)(dot - text), width = find_point(point);
        memcpy(copy, text, before);
        memcpy(copy + before, point, width);
        memcpy(copy + before + width, dot + 1, bytes - before - 1);
        bytes += width - 1;
    } else {
        memcpy(copy, text, bytes);
    }
    copy[bytes] = '\0';
    double value = to_double(copy);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

/* Turns "1e-05" into "1e-5" and "1e+22" into "1e22". */
static void shorten_exponent(char *text)
{
    char *from = strchr(text, 'e');
    if (!from)
        return;
    char *to = ++from;
    if (*from == '+')
        from++;
    else if (*from == '-')
        to++, from++;
    while (*from == '0')
        from++;
    memmove(to, from, strlen(from) + 1);
}

/* Prints value with `digits` digits and '.' for the locale's point. */
static void print(char out[SV_DECIMAL_TEXT], double value, int digits)
{
    SV_DEFAULT_FP_ENV;
    char point[POINT];
    size_t width = find_point(point);
    snprintf(out, SV_DECIMAL_TEXT - 2, "%.*g", digits, value);
    char *found = strstr(out, point);
    if (found) {
        *found = '.';
        memmove(found + 1, found + width, strlen(found + width) + 1);
    }
    shorten_exponent(out);
    if (!strpbrk(out, ".e"))
        strcat(out, ".0");
}

const char *sv_decimal_text(char out[SV_DECIMAL_TEXT], double value)
{
    double back = 0;
    for (int digits = 15; digits <= 17; digits++) {
        print(out, value, digits);
        if (sv_decimal_read(&back, out, strlen(out)) && memcmp(&back, &value, sizeof back) == 0)
            break;
    }
    return out;
}
