/* Reads golden files, makes their weights and compares arrays. */
#include "golden.h"

#include "worst.h"

#include "base/numbers/byte_order.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sv_safetensors *golden_open(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.safetensors", GOLDEN_FOLDER, name);
    static sv_allocator allocator;
    allocator = sv_allocator_default();
    sv_safetensors *file = NULL;
    svit_error err = {.struct_size = sizeof err};
    ck_assert_msg(sv_safetensors_open(&file, &allocator, path, &err) == SVIT_OK, "%s", err.message);
    return file;
}

static const sv_safetensors_entry *find(const sv_safetensors *file, const char *name)
{
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    ck_assert_msg(entry != NULL, "the golden file has no tensor %s", name);
    return entry;
}

float *golden_floats(const sv_safetensors *file, const char *name, size_t *elements)
{
    const sv_safetensors_entry *entry = find(file, name);
    float *values = malloc(entry->desc.elements * sizeof *values + 1);
    svit_error err = {.struct_size = sizeof err};
    ck_assert_msg(sv_safetensors_read_f32(file, entry, values, &err) == SVIT_OK, "%s", err.message);
    if (elements)
        *elements = entry->desc.elements;
    return values;
}

int32_t *golden_labels(const sv_safetensors *file, const char *name, size_t *elements)
{
    const sv_safetensors_entry *entry = find(file, name);
    ck_assert_int_eq(entry->desc.dtype, SV_DTYPE_I32);
    int32_t *values = malloc(entry->bytes + 1);
    svit_error err = {.struct_size = sizeof err};
    ck_assert_msg(sv_safetensors_read_bytes(file, entry, values, &err) == SVIT_OK, "%s",
                  err.message);
    sv_little_endian(values, sizeof *values, entry->desc.elements);
    if (elements)
        *elements = entry->desc.elements;
    return values;
}

void golden_free(void *memory)
{
    free(memory);
}

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

void golden_formula(float *out, const char *name, size_t elements, size_t rank, size_t head_dim)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001B3u;
    int scale = rank == 1 && ends_with(name, ".weight");
    double temperature = ends_with(name, ".attn.tau")   ? sqrt((double)head_dim)
                         : ends_with(name, ".fn.scale") ? 1 / sqrt((double)head_dim)
                                                        : 0;
    int input = strcmp(name, "input") == 0;
    for (size_t i = 0; i < elements; i++) {
        uint64_t z = h + i * 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        z = z ^ (z >> 31);
        double u = (double)(z >> 40) / 16777216.0;
        double v = (u - 0.5) * 2.0 * 0.05;
        out[i] = (float)(input         ? (u - 0.5) * 2.0 * 0.5 + 0.5
                         : temperature ? temperature * (1.0 + v)
                         : scale       ? 1.0 + v
                                       : v);
    }
}

double golden_difference(const float *a, const float *b, size_t elements)
{
    double most = 0;
    for (size_t i = 0; i < elements; i++)
        most = worst_of(most, fabs((double)a[i] - b[i]));
    return most;
}

double golden_largest(const float *a, size_t elements)
{
    double most = 0;
    for (size_t i = 0; i < elements; i++)
        most = worst_of(most, fabs((double)a[i]));
    return most;
}
