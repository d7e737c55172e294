/* Writes tar archives in memory, right and wrong ones, and the images in them. */
#ifndef SUPPORT_TAR_MAKE_H
#define SUPPORT_TAR_MAKE_H

#include "base/memory.h"
#include "data/decoding/codec.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAR_BLOCK = 512 };

/* An archive. All zero: empty. */
typedef struct tar_archive {
    uint8_t *data;
    size_t bytes, capacity;
} tar_archive;

static inline void tar_put(tar_archive *tar, const void *data, size_t bytes)
{
    while (tar->bytes + bytes > tar->capacity) {
        tar->capacity = 2 * tar->capacity + 4096;
        tar->data = realloc(tar->data, tar->capacity);
        ck_assert_ptr_nonnull(tar->data);
    }
    if (bytes > 0)
        memcpy(tar->data + tar->bytes, data, bytes);
    tar->bytes += bytes;
}

static inline void tar_fill(tar_archive *tar, size_t bytes)
{
    static const uint8_t zeros[2 * TAR_BLOCK];
    tar_put(tar, zeros, bytes);
}

static inline void tar_free(tar_archive *tar)
{
    free(tar->data);
    *tar = (tar_archive){0};
}

/* Sets the checksum of the header at `at`. */
static inline void tar_seal(tar_archive *tar, size_t at)
{
    uint8_t *header = tar->data + at;
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += header[i];
    snprintf((char *)header + 148, 8, "%06o", sum);
    header[155] = ' ';
}

/* Appends a header and the data. Returns the place of the header. */
static inline size_t tar_member(tar_archive *tar, char kind, const char *name, const void *data,
                                size_t bytes)
{
    const size_t at = tar->bytes, length = strlen(name);
    tar_fill(tar, TAR_BLOCK);
    uint8_t *header = tar->data + at;
    memcpy(header, name, length < 100 ? length : 100);
    memcpy(header + 100,
           "0000644\0"
           "0000000\0"
           "0000000",
           24);
    snprintf((char *)header + 124, 12, "%011o", (unsigned)bytes & 0x3fffffff);
    memcpy(header + 136, "00000000000", 12);
    header[156] = (uint8_t)kind;
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    tar_seal(tar, at);
    tar_put(tar, data, bytes);
    tar_fill(tar, (TAR_BLOCK - bytes % TAR_BLOCK) % TAR_BLOCK);
    return at;
}

/* Appends a file that is a text. */
static inline size_t tar_text(tar_archive *tar, const char *name, const char *text)
{
    return tar_member(tar, '0', name, text, strlen(text));
}

/* Appends an image of one grey of 4 x 4 pixels as a PNG file. */
static inline size_t tar_image(tar_archive *tar, const char *name, uint8_t value)
{
    const sv_allocator allocator = sv_allocator_default();
    uint8_t rgb[4 * 4 * 3];
    void *png = NULL;
    size_t used, capacity;
    memset(rgb, value, sizeof rgb);
    ck_assert_int_eq(sv_encode_png(&png, &used, &capacity, &allocator, name, rgb, 4, 4, NULL),
                     SVIT_OK);
    const size_t at = tar_member(tar, '0', name, png, used);
    sv_release(&allocator, png, capacity);
    return at;
}

/* Appends a sample: KEY.png of one grey and KEY.cls. */
static inline void tar_sample(tar_archive *tar, const char *key, uint8_t value, int label)
{
    char name[256], text[16];
    snprintf(name, sizeof name, "%s.png", key);
    tar_image(tar, name, value);
    snprintf(name, sizeof name, "%s.cls", key);
    snprintf(text, sizeof text, "%d", label);
    tar_text(tar, name, text);
}

/* Appends a pax header with one record. */
static inline void tar_pax(tar_archive *tar, char kind, const char *key, const char *value)
{
    char record[8192];
    size_t length = strlen(key) + strlen(value) + 3, digits = 0;
    for (size_t before = SIZE_MAX; before != digits;) {
        before = digits;
        digits = (size_t)snprintf(NULL, 0, "%zu", length + digits);
    }
    snprintf(record, sizeof record, "%zu %s=%s\n", length + digits, key, value);
    tar_member(tar, kind, "PaxHeader", record, strlen(record));
}

/* Appends the zeros at the end. */
static inline void tar_end(tar_archive *tar)
{
    tar_fill(tar, 2 * TAR_BLOCK);
}

#endif
