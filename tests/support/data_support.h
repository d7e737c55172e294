/* Helpers for tests of data: contexts, temporary folders and files in them. */
#ifndef TEST_DATA_SUPPORT_H
#define TEST_DATA_SUPPORT_H

#include "base/files/file.h"
#include "context/context.h"
#include "suite.h"

#include <shiftvit/dataset.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ERROR_RECORD ((svit_error){.struct_size = sizeof(svit_error)})

/* Requires that a call fails with `wanted` and that its message contains `part`. */
#define FAILS(call, wanted, part)                                                                  \
    do {                                                                                           \
        svit_error fails_error = ERROR_RECORD;                                                     \
        svit_error *err = &fails_error;                                                            \
        svit_status fails_status = (call);                                                         \
        ck_assert_msg(fails_status == (wanted), "%s gave %d (%s)", #call, (int)fails_status,       \
                      fails_error.message);                                                        \
        ck_assert_int_eq(fails_error.code, (wanted));                                              \
        ck_assert_msg(strstr(fails_error.message, (part)) != NULL, "'%s' is not in '%s'", (part),  \
                      fails_error.message);                                                        \
    } while (0)

/* Requires that a call succeeds. */
#define WORKS(call)                                                                                \
    do {                                                                                           \
        svit_error works_error = ERROR_RECORD;                                                     \
        svit_error *err = &works_error;                                                            \
        svit_status works_status = (call);                                                         \
        ck_assert_msg(works_status == SVIT_OK, "%s gave %d (%s)", #call, (int)works_status,        \
                      works_error.message);                                                        \
    } while (0)

static inline svit_context *context_open(void)
{
    svit_context_config config = {.struct_size = sizeof config, .threads = 2};
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

/* An allocator that counts the bytes that are not released, so that a test can require 0 at its
 * end. Its memory is no 0 that could pass for an end of a text: neither what was asked for nor the
 * bytes behind it. */
static inline void *counting_allocate(void *user, size_t bytes, size_t alignment)
{
    const size_t whole = (bytes / alignment + 1) * alignment;
    void *memory = aligned_alloc(alignment, whole);
    *(atomic_llong *)user += (long long)bytes;
    return memory ? memset(memory, 0xff, whole) : NULL;
}

static inline void counting_release(void *user, void *memory, size_t bytes)
{
    *(atomic_llong *)user -= (long long)bytes;
    free(memory);
}

static inline svit_context *context_counting(atomic_llong *bytes)
{
    svit_context_config config = {
        .struct_size = sizeof config,
        .threads = 1,
        .allocate = counting_allocate,
        .release = counting_release,
        .allocator_user = bytes,
    };
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

typedef struct test_folder {
    char path[64];
} test_folder;

static inline test_folder folder_make(void)
{
    test_folder folder = {"/tmp/shiftvit-data-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(folder.path));
    return folder;
}

static inline const char *path_in(const test_folder *folder, const char *name)
{
    static char path[512];
    ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", folder->path, name), (int)sizeof path);
    return path;
}

static inline void file_write(const test_folder *folder, const char *name, const void *data,
                              size_t bytes)
{
    FILE *file = fopen(path_in(folder, name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void subfolder_make(const test_folder *folder, const char *name)
{
    ck_assert_int_eq(mkdir(path_in(folder, name), 0700), 0);
}

static inline void folder_remove_path(const char *path)
{
    sv_allocator allocator = sv_allocator_default();
    sv_listing listing;
    WORKS(sv_folder_list(&listing, &allocator, path, err));
    for (size_t i = 0; i < listing.count; i++) {
        char inner[512];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, listing.names[i]);
        ck_assert_int_lt(length, (int)sizeof inner);
        if (sv_listing_is_folder(&listing, i))
            folder_remove_path(inner);
        else
            ck_assert_int_eq(unlink(inner), 0);
    }
    sv_listing_free(&allocator, &listing);
    ck_assert_int_eq(rmdir(path), 0);
}

static inline void folder_remove(const test_folder *folder)
{
    folder_remove_path(folder->path);
}

/* The dataset of the list `text`, which becomes list.csv of the folder. */
static inline svit_dataset *list_open(svit_context *context, const test_folder *folder,
                                      const char *text, const svit_pipeline_config *pipeline)
{
    svit_dataset *out = NULL;
    file_write(folder, "list.csv", text, strlen(text));
    WORKS(svit_dataset_list(&out, context, path_in(folder, "list.csv"), pipeline, err));
    return out;
}

/* Fills an array with pseudo-random bytes, the same ones for the same seed. */
static inline void bytes_fill(uint8_t *bytes, size_t count, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(state >> 24);
    }
}

#endif
