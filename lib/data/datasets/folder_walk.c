/* Walks through folders of images without recursion: the folders that are still to be read wait in
 * a list. */
#include "data/datasets/folder_walk.h"

#include "base/text/ascii.h"
#include "base/text/message.h"
#include "data/datasets/path.h"
#include "data/decoding/image_formats.h"

#include <assert.h>
#include <shiftvit/image.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Whether users do not see an entry or did not make it: .git, .DS_Store, the ._NAME.jpg of macOS,
 * thumbnails. */
static bool is_hidden(const char *name)
{
    static const char *const UNASKED[] = {"Thumbs.db", "ehthumbs.db", "desktop.ini", "__MACOSX",
                                          "@eaDir"};
    if (name[0] == '.')
        return true;
    for (size_t i = 0; i < sizeof UNASKED / sizeof *UNASKED; i++)
        if (sv_ascii_equal(name, UNASKED[i], SIZE_MAX))
            return true;
    return false;
}

/* Counts an entry that is left out, whose path in the root is `folder`, which may be "", and
 * `name`. Entries of one folder come in any order, and the example is the first one in byte
 * order. */
static void leave_out(sv_walk *walk, int reason, const char *folder, const char *name)
{
    sv_left_out *left = &walk->left_out[reason];
    char path[sizeof left->example];
    snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
    const bool is_first = left->count++ == 0;
    if (!is_first && (left->reading != walk->reading || strcmp(path, left->example) >= 0))
        return;
    memcpy(left->example, path, sizeof path);
    left->reading = walk->reading;
}

void sv_walk_report(const sv_walk *walk, const svit_context *context)
{
    for (int reason = 0; reason < SV_LEFT_REASONS; reason++) {
        const sv_left_out *left = &walk->left_out[reason];
        char why[128];
        if (left->count == 0)
            continue;
        switch (reason) {
        case SV_LEFT_ENDING:
            snprintf(why, sizeof why, "the name ends in none of %s", svit_image_endings());
            break;
        case SV_LEFT_OUTSIDE:
            snprintf(why, sizeof why, "an image outside of the subfolders has no class");
            break;
        case SV_LEFT_LINK:
            snprintf(why, sizeof why, "this link leads nowhere");
            break;
        case SV_LEFT_EMPTY:
            snprintf(why, sizeof why, "a subfolder without files is no class");
            break;
        case SV_LEFT_SEEN:
            snprintf(why, sizeof why, "this link leads to a folder that is read already");
            break;
        default:
            snprintf(why, sizeof why, "the folder is more than %d folders below its class",
                     SV_FOLDER_DEPTH);
        }
        sv_context_warn(context, "'%.500s': %zu left out, such as '%s': %s", walk->root,
                        left->count, left->example, why);
    }
}

static bool same_folder(const sv_folder_id *a, const sv_folder_id *b)
{
    return a->device == b->device && a->number == b->number;
}

/* The place of a folder in the table, or the free one where it belongs: linear probing. */
static sv_folder_id *place_of(sv_folder_id *seen, size_t capacity, const sv_folder_id *id)
{
    uint64_t hash = (id->number ^ id->device << 32) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 32) & (capacity - 1);
    assert(seen);
    while (seen[at].number != 0 && !same_folder(&seen[at], id))
        at = (at + 1) & (capacity - 1);
    return &seen[at];
}

/* Doubles the table when it is half full. */
static svit_status seen_grow(sv_walk *walk, svit_error *err)
{
    if (2 * walk->seen_count < walk->capacity)
        return SVIT_OK;
    const size_t capacity = walk->capacity ? 2 * walk->capacity : 64;
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(walk->allocator, &memory, capacity, sizeof *walk->seen,
                               "the folders of a class", err));
    for (size_t i = 0; i < walk->capacity; i++)
        if (walk->seen[i].number != 0)
            *place_of(memory, capacity, &walk->seen[i]) = walk->seen[i];
    sv_release(walk->allocator, walk->seen, walk->capacity * sizeof *walk->seen);
    walk->seen = memory;
    walk->capacity = capacity;
    return SVIT_OK;
}

/* Notes the folder at `path`. *seen says whether it was noted before. */
static svit_status note_folder(sv_walk *walk, const char *path, bool *seen, svit_error *err)
{
    sv_folder_id id;
    SVIT_TRY(sv_folder_identify(&id, path, err));
    id.number++; /* 0 is a free place */
    SVIT_TRY(seen_grow(walk, err));
    sv_folder_id *place = place_of(walk->seen, walk->capacity, &id);
    *seen = place->number != 0;
    *place = id;
    walk->seen_count += !*seen;
    return SVIT_OK;
}

/* Begins the table of a class with the root and the folders that contain it: a link to one of them
 * would lead through other classes, or through the whole system. */
static svit_status note_ancestors(sv_walk *walk, svit_error *err)
{
    walk->seen_count = 0;
    if (walk->seen)
        memset(walk->seen, 0, walk->capacity * sizeof *walk->seen);
    enum { MOST = 256 }; /* no path that the system opens has more */
    const size_t front = strlen(walk->root);
    const size_t bytes = front + MOST * strlen("/..") + 1;
    char *path = sv_allocate(walk->allocator, bytes);
    if (!path)
        return sv_fail_memory(err, bytes, "a folder's name");
    memcpy(path, walk->root, front + 1);
    bool seen = false;
    svit_status status = note_folder(walk, path, &seen, err);
    for (size_t i = 0; status == SVIT_OK && !seen && i < MOST; i++) {
        memcpy(path + front + 3 * i, "/..", sizeof "/..");
        const svit_status noted = note_folder(walk, path, &seen, NULL);
        if (noted == SVIT_E_MEMORY)
            status = sv_fail_memory(err, SIZE_MAX, "the folders of a class");
        /* The process may not be allowed to search the first ancestor that cannot be noted; the
         * chain ends there. */
        if (noted != SVIT_OK)
            break;
    }
    sv_release(walk->allocator, path, bytes);
    return status;
}

/* Looks at an entry of the root that is no folder. */
static svit_status look_beside_classes(sv_walk *walk, const char *name, svit_error *err)
{
    char *path = NULL;
    if (sv_is_image_name(name)) {
        leave_out(walk, SV_LEFT_OUTSIDE, "", name);
        return SVIT_OK;
    }
    SVIT_TRY(sv_path_join(&path, walk->allocator, walk->root, name, err));
    if (sv_is_dangling(path))
        leave_out(walk, SV_LEFT_LINK, "", name);
    sv_release_text(walk->allocator, path);
    return SVIT_OK;
}

svit_status sv_walk_classes(sv_listing *classes, sv_walk *walk, svit_error *err)
{
    SVIT_TRY(sv_folder_list(classes, walk->allocator, walk->root, err));
    size_t kept = 0;
    for (size_t i = 0; i < classes->count; i++) {
        char *name = classes->names[i];
        if (is_hidden(name))
            continue;
        if (sv_listing_is_folder(classes, i))
            classes->names[kept++] = name;
        else
            SVIT_TRY(look_beside_classes(walk, name, err));
    }
    classes->count = kept;
    return SVIT_OK;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

/* A folder of a class that is being read. */
typedef struct class_walk {
    sv_walk *walk;
    const char *name;   /* of the class */
    const char *folder; /* its path */
    const char *inner;  /* the folder that is being read, as a path from `folder`; "": `folder` */
    sv_listing pending; /* folders still to read, as paths from `folder` */
    sv_listing *images;
    size_t *files;
} class_walk;

/* Takes an entry of the folder that is being read. */
static svit_status take_entry(void *user, const char *name, bool is_folder, svit_error *err)
{
    class_walk *self = user;
    if (is_hidden(name))
        return SVIT_OK;
    *self->files += !is_folder;
    const size_t depth = *self->inner ? depth_of(self->inner) + 1 : 0;
    if (is_folder ? depth < SV_FOLDER_DEPTH : sv_is_image_name(name))
        return sv_listing_add(is_folder ? &self->pending : self->images, self->walk->allocator,
                              self->inner, name, is_folder, err);
    char path[256];
    snprintf(path, sizeof path, "%s%s%s", self->inner, *self->inner ? "/" : "", name);
    leave_out(self->walk, is_folder ? SV_LEFT_DEEP : SV_LEFT_ENDING, self->name, path);
    return SVIT_OK;
}

/* Reads the folder `inner`, whose path is `path`. Its folders are read in byte order, whatever the
 * order of the file system is, since the first path to a folder is the one that counts. */
static svit_status read_folder(class_walk *self, const char *inner, const char *path,
                               svit_error *err)
{
    sv_walk *walk = self->walk;
    bool seen = false;
    walk->reading++;
    SVIT_TRY(note_folder(walk, path, &seen, err));
    if (seen) {
        leave_out(walk, SV_LEFT_SEEN, *inner ? self->name : "", *inner ? inner : self->name);
        return SVIT_OK;
    }
    const size_t first = self->pending.count;
    self->inner = inner;
    SVIT_TRY(sv_folder_each(path, take_entry, self, err));
    sv_listing_sort(&self->pending, first);
    return SVIT_OK;
}

static svit_status read_pending(class_walk *self, svit_error *err)
{
    const sv_allocator *allocator = self->walk->allocator;
    SVIT_TRY(read_folder(self, "", self->folder, err));
    for (size_t i = 0; i < self->pending.count; i++) {
        char *path = NULL;
        SVIT_TRY(sv_path_join(&path, allocator, self->folder, self->pending.names[i], err));
        svit_status status = read_folder(self, self->pending.names[i], path, err);
        sv_release_text(allocator, path);
        SVIT_TRY(status);
    }
    return SVIT_OK;
}

/* Folders of classes, or inside of them, that were left out. */
static size_t folders_left_out(const sv_walk *walk)
{
    return walk->left_out[SV_LEFT_SEEN].count + walk->left_out[SV_LEFT_DEEP].count;
}

svit_status sv_walk_images(sv_listing *images, size_t *files, sv_walk *walk, const char *name,
                           svit_error *err)
{
    char *folder = NULL;
    *images = (sv_listing){0};
    *files = 0;
    const size_t before = folders_left_out(walk);
    SVIT_TRY(note_ancestors(walk, err));
    SVIT_TRY(sv_path_join(&folder, walk->allocator, walk->root, name, err));
    class_walk self = {
        .walk = walk, .name = name, .folder = folder, .images = images, .files = files};
    svit_status status = read_pending(&self, err);
    sv_listing_free(walk->allocator, &self.pending);
    sv_release_text(walk->allocator, folder);
    SVIT_TRY(status);
    if (*files == 0 && folders_left_out(walk) == before)
        leave_out(walk, SV_LEFT_EMPTY, "", name);
    sv_listing_sort(images, 0);
    return SVIT_OK;
}

void sv_walk_free(sv_walk *walk)
{
    sv_release(walk->allocator, walk->seen, walk->capacity * sizeof *walk->seen);
    walk->seen = NULL;
    walk->seen_count = walk->capacity = 0;
}
