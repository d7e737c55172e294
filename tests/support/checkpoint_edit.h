/* Changes the metadata of a safetensors file in ways in which the library never writes it. */
#ifndef TEST_CHECKPOINT_EDIT_H
#define TEST_CHECKPOINT_EDIT_H

#include "fit.h"

#include "base/numbers/byte_order.h"

/* Returns where the text of the entry `key` begins in a header. */
static inline char *edit_find(char *header, const char *key)
{
    char quoted[128];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    char *at = strstr(header, quoted);
    ck_assert_msg(at != NULL, "no entry '%s'", key);
    return at + strlen(quoted);
}

/* Writes the file with another header, padded to a multiple of 8 bytes. */
static inline void edit_write(const char *path, const char *data, size_t bytes, const char *header)
{
    const uint64_t old = sv_load_little(data, 8), size = (strlen(header) + 7) / 8 * 8;
    char length[8];
    sv_store_little(length, size, 8);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fwrite(length, sizeof length, 1, file);
    fprintf(file, "%-*s", (int)size, header);
    fwrite(data + sizeof old + old, 1, bytes - sizeof old - old, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* Overwrites the value of an entry without escapes from its character `from` on. If `from` is not
 * 0, the new text replaces as many characters as it has. */
static inline void checkpoint_edit(const char *path, const char *key, size_t from,
                                   const char *value)
{
    size_t bytes;
    char *data = fit_read(path, &bytes);
    const uint64_t size = sv_load_little(data, 8);
    char *header = strndup(data + sizeof size, size), *at = edit_find(header, key);
    size_t end = from ? from + strlen(value) : strcspn(at, "\"");
    char *edited = malloc(size + strlen(value) + 1);
    ck_assert_ptr_nonnull(edited);
    sprintf(edited, "%.*s%s%s", (int)(at + from - header), header, value, at + end);
    edit_write(path, data, bytes, edited);
    free(edited);
    free(header);
    free(data);
}

/* Renames an entry; the new name has the same length. */
static inline void checkpoint_rename(const char *path, const char *key, const char *name)
{
    size_t bytes;
    char *data = fit_read(path, &bytes);
    const uint64_t size = sv_load_little(data, 8);
    ck_assert_uint_eq(strlen(key), strlen(name));
    char *header = strndup(data + sizeof size, size);
    memcpy(edit_find(header, key) - strlen(key) - 3, name, strlen(name));
    edit_write(path, data, bytes, header);
    free(header);
    free(data);
}

#endif
