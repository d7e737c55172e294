/* Listings of folders, in byte order of the names. The names lie one behind another in blocks,
 * since an allocation of its own would take more memory than most names. */
#include "base/files/file.h"

#include <stdlib.h>
#include <string.h>

typedef struct sv_text_block {
    struct sv_text_block *before; /* the block that was filled before this one */
    size_t bytes, used;           /* of `text` */
    char text[];
} text_block;

/* Bytes of the first block, and of the largest one unless a name needs more. Each is twice as large
 * as the one before. */
enum { FIRST_BLOCK = 1 << 10, LAST_BLOCK = 1 << 16 };

/* Returns `bytes` bytes of a block. NULL: there is no memory. */
static char *text_take(sv_listing *listing, const sv_allocator *allocator, size_t bytes)
{
    text_block *block = listing->texts;
    if (!block || block->bytes - block->used < bytes) {
        size_t room = block ? 2 * block->bytes : FIRST_BLOCK;
        room = room < LAST_BLOCK ? room : LAST_BLOCK;
        room = room > bytes ? room : bytes;
        block = sv_allocate(allocator, sizeof *block + room);
        if (!block)
            return NULL;
        *block = (text_block){.before = listing->texts, .bytes = room};
        listing->texts = block;
    }
    block->used += bytes;
    return block->text + block->used - bytes;
}

static bool listing_grow(sv_listing *listing, const sv_allocator *allocator)
{
    if (listing->count < listing->capacity)
        return true;
    const size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
    char **names = sv_allocate(allocator, capacity * sizeof *names);
    if (!names)
        return false;
    if (listing->count)
        memcpy(names, listing->names, listing->count * sizeof *names);
    sv_release(allocator, listing->names, listing->capacity * sizeof *names);
    listing->names = names;
    listing->capacity = capacity;
    return true;
}

svit_status sv_listing_add(sv_listing *listing, const sv_allocator *allocator, const char *folder,
                           const char *name, bool is_folder, svit_error *err)
{
    const size_t front = strlen(folder), slash = front > 0, back = strlen(name) + 1;
    const size_t bytes = 1 + front + slash + back;
    char *text = listing_grow(listing, allocator) ? text_take(listing, allocator, bytes) : NULL;
    if (!text)
        return sv_fail_memory(err, bytes, "a folder's listing");
    *text++ = is_folder;
    memcpy(text, folder, front);
    text[front] = '/';
    memcpy(text + front + slash, name, back);
    listing->names[listing->count++] = text;
    return SVIT_OK;
}

bool sv_listing_is_folder(const sv_listing *listing, size_t i)
{
    return listing->names[i][-1] != 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void sv_listing_sort(sv_listing *listing, size_t first)
{
    if (listing->count > first)
        qsort(listing->names + first, listing->count - first, sizeof *listing->names,
              compare_names);
}

typedef struct list_call {
    sv_listing *listing;
    const sv_allocator *allocator;
} list_call;

static svit_status list_entry(void *user, const char *name, bool is_folder, svit_error *err)
{
    const list_call *call = user;
    return sv_listing_add(call->listing, call->allocator, "", name, is_folder, err);
}

svit_status sv_folder_list(sv_listing *out, const sv_allocator *allocator, const char *path,
                           svit_error *err)
{
    sv_listing listing = {0};
    list_call call = {&listing, allocator};
    svit_status status = sv_folder_each(path, list_entry, &call, err);
    if (status != SVIT_OK) {
        sv_listing_free(allocator, &listing);
        return status;
    }
    sv_listing_sort(&listing, 0);
    *out = listing;
    return SVIT_OK;
}

void sv_listing_free(const sv_allocator *allocator, sv_listing *listing)
{
    while (listing->texts) {
        text_block *block = listing->texts;
        listing->texts = block->before;
        sv_release(allocator, block, sizeof *block + block->bytes);
    }
    sv_release(allocator, listing->names, listing->capacity * sizeof *listing->names);
    *listing = (sv_listing){0};
}
