/* Keeps the most recently used files open. */
#include "data/shards/shard_files.h"

#include "base/files/path.h"
#include "base/threads/thread.h"

typedef struct slot {
    sv_file *file; /* NULL: the slot is free */
    size_t shard;
    unsigned users;
    uint64_t used; /* when it was taken last, by the clock of the files */
} slot;

struct sv_shard_files {
    const sv_allocator *allocator;
    const char *home;
    sv_mutex *mutex;
    int64_t process; /* the process that created it */
    uint64_t clock;
    slot slots[SV_SHARD_FILES];
};

svit_status sv_shard_files_create(sv_shard_files **out, const sv_allocator *allocator,
                                  const char *home, svit_error *err)
{
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, 1, sizeof **out, "the files of shards", err));
    sv_shard_files *files = memory;
    files->allocator = allocator;
    files->home = home;
    files->process = sv_process_id();
    files->mutex = sv_mutex_create(allocator);
    if (!files->mutex) {
        sv_release(allocator, files, sizeof *files);
        return sv_fail_memory(err, sizeof *files, "a lock");
    }
    *out = files;
    return SVIT_OK;
}

void sv_shard_files_free(sv_shard_files *files)
{
    if (!files)
        return;
    const sv_allocator *allocator = files->allocator;
    for (size_t i = 0; i < SV_SHARD_FILES; i++)
        sv_file_close(allocator, files->slots[i].file);
    if (files->process == sv_process_id())
        sv_mutex_free(allocator, files->mutex);
    else
        sv_mutex_abandon(allocator, files->mutex);
    sv_release(allocator, files, sizeof *files);
}

/* Takes the open file of a shard. Returns whether there is one. */
static bool take_open(sv_shard_file *out, sv_shard_files *files, size_t shard)
{
    for (int i = 0; i < SV_SHARD_FILES; i++) {
        slot *at = &files->slots[i];
        if (!at->file || at->shard != shard)
            continue;
        at->users++;
        at->used = ++files->clock;
        *out = (sv_shard_file){at->file, i};
        return true;
    }
    return false;
}

/* Gives a file that was opened a slot: a free one, or that of the file whose use is longest ago. If
 * all files are in use, it stays without one. */
static void keep_open(sv_shard_file *taken, sv_shard_files *files, size_t shard)
{
    int best = -1;
    for (int i = 0; i < SV_SHARD_FILES; i++)
        if (files->slots[i].users == 0 &&
            (best < 0 || files->slots[i].used < files->slots[best].used))
            best = i;
    if (best < 0)
        return;
    sv_file_close(files->allocator, files->slots[best].file);
    files->slots[best] = (slot){taken->file, shard, 1, ++files->clock};
    taken->slot = best;
}

static svit_status open_file(sv_file **out, const sv_shard_files *files, const char *path,
                             svit_error *err)
{
    char *full = NULL;
    SVIT_TRY(sv_path_from(&full, files->allocator, files->home, path, err));
    const svit_status status = sv_file_open(out, files->allocator, full, err);
    sv_release_text(files->allocator, full);
    return status;
}

svit_status sv_shard_files_take(sv_shard_file *out, sv_shard_files *files, size_t shard,
                                const char *path, svit_error *err)
{
    const bool shares = files->process == sv_process_id();
    if (shares) {
        sv_mutex_lock(files->mutex);
        const bool is_open = take_open(out, files, shard);
        sv_mutex_unlock(files->mutex);
        if (is_open)
            return SVIT_OK;
    }
    /* Without the lock, since a network's file system may take long to open a file. */
    sv_file *opened = NULL;
    SVIT_TRY(open_file(&opened, files, path, err));
    *out = (sv_shard_file){opened, -1};
    if (!shares)
        return SVIT_OK;
    sv_mutex_lock(files->mutex);
    if (take_open(out, files, shard))
        sv_file_close(files->allocator, opened);
    else
        keep_open(out, files, shard);
    sv_mutex_unlock(files->mutex);
    return SVIT_OK;
}

void sv_shard_files_give(sv_shard_files *files, const sv_shard_file *taken)
{
    if (taken->slot < 0) {
        sv_file_close(files->allocator, taken->file);
        return;
    }
    sv_mutex_lock(files->mutex);
    files->slots[taken->slot].users--;
    sv_mutex_unlock(files->mutex);
}
