/* Helpers of the trainer: messages, struct sizes, memory, texts and the clock. */
#include "trainer/trainer_support.h"

#include <shiftvit/version.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STRUCT_LIMIT = 65536 };

svit_status sv_trainer_fail(svit_error *err, svit_status status, const char *format, ...)
{
    char message[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return svit_error_set(err, status, message);
}

svit_status sv_trainer_import(void *local, size_t local_size, const void *in, size_t min,
                              const char *what, svit_error *err)
{
    uint32_t size;
    memcpy(&size, in, sizeof size);
    if (size < min || size > STRUCT_LIMIT)
        return sv_trainer_fail(err, SVIT_E_ARGUMENT,
                               "struct_size of %s is %u; fill it with its init function, %zu here",
                               what, size, local_size);
    const unsigned char *bytes = in;
    for (size_t i = local_size; i < size; i++)
        if (bytes[i])
            return sv_trainer_fail(err, SVIT_E_VERSION,
                                   "%s sets a field that version %s of the library does not know",
                                   what, svit_version_string());
    uint32_t local_written = (uint32_t)local_size;
    memcpy(local, in, size < local_size ? size : local_size);
    memcpy(local, &local_written, sizeof local_written);
    return SVIT_OK;
}

svit_status sv_trainer_export(void *out, size_t size, const void *local, size_t local_size,
                              const char *what, svit_error *err)
{
    if (!out)
        return sv_trainer_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer to one is needed",
                               what);
    if (size < sizeof(uint32_t) || size > STRUCT_LIMIT)
        return sv_trainer_fail(err, SVIT_E_ARGUMENT, "size is %zu; give sizeof(%s), %zu here", size,
                               what, local_size);
    uint32_t written = (uint32_t)size;
    memset(out, 0, size);
    memcpy(out, local, size < local_size ? size : local_size);
    memcpy(out, &written, sizeof written);
    return SVIT_OK;
}

svit_status sv_trainer_allocate(svit_context *context, void *out, size_t count, size_t size,
                                svit_error *err)
{
    void *memory = count <= SIZE_MAX / size ? svit_context_allocate(context, count * size) : NULL;
    if (!memory)
        return sv_trainer_fail(err, SVIT_E_MEMORY, "no memory for %zu x %zu bytes of the trainer",
                               count, size);
    memset(memory, 0, count * size);
    memcpy(out, &memory, sizeof memory);
    return SVIT_OK;
}

svit_status sv_trainer_copy(const char **out, svit_context *context, const char *text,
                            svit_error *err)
{
    char *copy = NULL;
    if (text) {
        TRAINER_TRY(sv_trainer_allocate(context, &copy, strlen(text) + 1, 1, err));
        strcpy(copy, text);
    }
    *out = copy;
    return SVIT_OK;
}

void sv_trainer_release_text(svit_context *context, const char *text)
{
    if (text)
        svit_context_release(context, (void *)text, strlen(text) + 1);
}

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
        return sv_trainer_fail(err, SVIT_E_MEMORY, "no memory for a path");
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
