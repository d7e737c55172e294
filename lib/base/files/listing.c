/* Listings of folders, in byte order of the names. */
#include "base/files/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder_entry(DIR *folder, const char *name)
{
    struct stat state;
    return fstatat(dirfd(folder), name, &state, 0) == 0 && S_ISDIR(state.st_mode);
}

static bool listing_grow(sv_listing *listing, const sv_allocator *allocator)
{
    if (listing->count < listing->capacity)
        return true;
    size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
    char **names = sv_allocate(allocator, capacity * sizeof *names);
    bool *folders = sv_allocate(allocator, capacity * sizeof *folders);
    if (!names || !folders) {
        sv_release(allocator, names, capacity * sizeof *names);
        sv_release(allocator, folders, capacity * sizeof *folders);
        return false;
    }
    if (listing->count) {
        memcpy(names, listing->names, listing->count * sizeof *names);
        memcpy(folders, listing->folders, listing->count * sizeof *folders);
    }
    sv_release(allocator, listing->names, listing->capacity * sizeof *names);
    sv_release(allocator, listing->folders, listing->capacity * sizeof *folders);
    listing->names = names;
    listing->folders = folders;
    listing->capacity = capacity;
    return true;
}

svit_status sv_listing_add(sv_listing *listing, const sv_allocator *allocator, char *name,
                           bool is_folder, svit_error *err)
{
    if (!listing_grow(listing, allocator)) {
        const size_t bytes = strlen(name) + 1;
        sv_release_text(allocator, name);
        return sv_fail_memory(err, bytes, "a folder's listing");
    }
    listing->names[listing->count] = name;
    listing->folders[listing->count++] = is_folder;
    return SVIT_OK;
}

static svit_status listing_fill(sv_listing *listing, const sv_allocator *allocator, DIR *folder,
                                const char *path, svit_error *err)
{
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(folder);
        if (!entry)
            return errno ? sv_fail_io(err, "list", path) : SVIT_OK;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *name = sv_copy_text(allocator, entry->d_name);
        if (!name)
            return sv_fail_memory(err, strlen(entry->d_name) + 1, "a folder's listing");
        SVIT_TRY(
            sv_listing_add(listing, allocator, name, is_folder_entry(folder, entry->d_name), err));
    }
}

static void swap_entries(sv_listing *listing, size_t a, size_t b)
{
    char *name = listing->names[a];
    bool folder = listing->folders[a];
    listing->names[a] = listing->names[b];
    listing->folders[a] = listing->folders[b];
    listing->names[b] = name;
    listing->folders[b] = folder;
}

/* Restores the heap of `count` entries below `root`. */
static void sift_down(sv_listing *listing, size_t root, size_t count)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            return;
        if (child + 1 < count && strcmp(listing->names[child], listing->names[child + 1]) < 0)
            child++;
        if (strcmp(listing->names[root], listing->names[child]) >= 0)
            return;
        swap_entries(listing, root, child);
        root = child;
    }
}

/* Heapsort, because qsort cannot sort two arrays together. */
void sv_listing_sort(sv_listing *listing)
{
    for (size_t root = listing->count / 2; root-- > 0;)
        sift_down(listing, root, listing->count);
    for (size_t end = listing->count; end-- > 1;) {
        swap_entries(listing, 0, end);
        sift_down(listing, 0, end);
    }
}

svit_status sv_folder_list(sv_listing *out, const sv_allocator *allocator, const char *path,
                           svit_error *err)
{
    DIR *folder = opendir(path);
    if (!folder)
        return sv_fail_io(err, "open the folder", path);
    sv_listing listing = {0};
    svit_status status = listing_fill(&listing, allocator, folder, path, err);
    closedir(folder);
    if (status != SVIT_OK) {
        sv_listing_free(allocator, &listing);
        return status;
    }
    sv_listing_sort(&listing);
    *out = listing;
    return SVIT_OK;
}

void sv_listing_free(const sv_allocator *allocator, sv_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        sv_release_text(allocator, listing->names[i]);
    sv_release(allocator, listing->names, listing->capacity * sizeof *listing->names);
    sv_release(allocator, listing->folders, listing->capacity * sizeof *listing->folders);
    *listing = (sv_listing){0};
}

svit_status sv_folder_identify(sv_folder_id *out, const char *path, svit_error *err)
{
    struct stat state;
    if (stat(path, &state) != 0)
        return sv_fail_io(err, "examine", path);
    *out = (sv_folder_id){(uint64_t)state.st_dev, (uint64_t)state.st_ino};
    return SVIT_OK;
}
