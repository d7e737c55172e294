/* Helpers of the trainer: texts and the clock. */
#include "trainer/trainer_support.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

double sv_trainer_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void text_reserve(sv_trainer_text *text, size_t more)
{
    if (text->failed || text->length + more < text->capacity)
        return;
    size_t capacity = 2 * (text->length + more) + 256;
    char *data = svit_context_allocate(text->context, capacity);
    if (!data) {
        text->failed = 1;
        return;
    }
    if (text->length)
        memcpy(data, text->data, text->length);
    svit_context_release(text->context, text->data, text->capacity);
    text->data = data;
    text->capacity = capacity;
}

void sv_trainer_text_add(sv_trainer_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text_reserve(text, (size_t)length + 1);
    if (text->failed)
        return;
    va_start(arguments, format);
    vsnprintf(text->data + text->length, text->capacity - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void sv_trainer_text_put(sv_trainer_text *text, const void *data, size_t bytes)
{
    text_reserve(text, bytes + 1);
    if (text->failed)
        return;
    memcpy(text->data + text->length, data, bytes);
    text->length += bytes;
    text->data[text->length] = '\0';
}

void sv_trainer_text_free(sv_trainer_text *text)
{
    svit_context_release(text->context, text->data, text->capacity);
    *text = (sv_trainer_text){.context = text->context};
}

svit_status sv_trainer_path(sv_trainer_text *path, const char *folder, const char *name,
                            svit_error *err)
{
    sv_trainer_text_add(path, "%s/%s", folder, name);
    if (path->failed)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for a path");
    return SVIT_OK;
}

/* The locale's decimal point is the only part of the output of "%g" that is not a letter, digit or
 * sign, and may be several bytes. */
const char *sv_trainer_number(char out[SV_TRAINER_NUMBER], double value)
{
    char printed[SV_TRAINER_NUMBER];
    snprintf(printed, sizeof printed, "%.9g", value);
    char *end = out;
    for (const char *c = printed; *c; c++) {
        if (strchr("0123456789+-einfa", *c))
            *end++ = *c;
        else if (end == out || end[-1] != '.')
            *end++ = '.';
    }
    *end = '\0';
    return out;
}
