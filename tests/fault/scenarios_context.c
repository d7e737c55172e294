/* Scenarios of contexts, locks of folders, files, statuses, constants and benchmarks. */
#include "failing_files.h"
#include "scenario.h"

#include <sys/stat.h>

SCENARIO(svit_context_create, NEEDS_NOTHING, 0)
{
    const svit_context_config config = world_context(w);
    return svit_context_create(&w->made.context, &config, err);
}

VARIANT(svit_context_create, threads, NEEDS_NOTHING, HAS_THREADS, NULL)
{
    svit_context_config config = world_context(w);
    config.threads = 3;
    config.pin = 1;
    return svit_context_create(&w->made.context, &config, err);
}

SCENARIO(svit_context_describe, NEEDS_CONTEXT, 0)
{
    return svit_context_describe(w->has.context, OUT(char, 4096), 4096, OUT(size_t, 1), err);
}

SCENARIO(svit_context_check, NEEDS_CONTEXT, PURE)
{
    return svit_context_check(w->has.context, err);
}

SCENARIO(svit_context_config_init, NEEDS_NOTHING, PURE | NO_ERROR)
{
    (void)err;
    return svit_context_config_init(OUT(svit_context_config, 1), sizeof(svit_context_config));
}

SCENARIO(svit_context_retain, NEEDS_CONTEXT, PURE | NO_ERROR)
{
    (void)err;
    svit_context_free(svit_context_retain(w->has.context));
    return SVIT_OK;
}

/* The one function without a status that allocates: it returns NULL. */
SCENARIO(svit_context_allocate, NEEDS_CONTEXT, NO_ERROR)
{
    void *memory = svit_context_allocate(w->has.context, 100);
    svit_context_release(w->has.context, memory, 100);
    return memory ? SVIT_OK : svit_error_set(err, SVIT_E_MEMORY, "svit_context_allocate");
}

SCENARIO(svit_context_release, NEEDS_CONTEXT, PURE | NO_ERROR)
{
    (void)err;
    svit_context_release(w->has.context, NULL, 100);
    return SVIT_OK;
}

SCENARIO(svit_context_log, NEEDS_CONTEXT, PURE | NO_ERROR)
{
    (void)err;
    svit_context_log(w->has.context, SVIT_LOG_INFO, "a note");
    return SVIT_OK;
}

GETTER(svit_context_threads, NEEDS_CONTEXT, (w->has.context))

SCENARIO(svit_folder_lock_create, NEEDS_CONTEXT, 0)
{
    return svit_folder_lock_create(&w->made.folder_lock, w->has.context, world_path("new/deeper"),
                                   err);
}

VARIANT(svit_folder_lock_create, link, NEEDS_CONTEXT, 0, NULL)
{
    return svit_folder_lock_create(&w->made.folder_lock, w->has.context,
                                   world_asset("pictures/b/link"), err);
}

GETTER(svit_folder_lock_free, NEEDS_NOTHING, (NULL))

/* 1 for an entry that is not there if the system cannot say so. */
SCENARIO(svit_folder_lock_has, NEEDS_LOCK, NO_ERROR | NO_DIGEST)
{
    (void)err;
    (void)svit_folder_lock_has(w->has.folder_lock, "none");
    return SVIT_OK;
}

static void put_into_locked(world *w)
{
    (void)w;
    fit_write(world_path("locked/file"), "x", 1);
}

VARIANT(svit_folder_lock_remove, , NEEDS_LOCK, 0, put_into_locked)
{
    return svit_folder_lock_remove(w->has.folder_lock, "file", err);
}

SCENARIO(svit_file_replace, NEEDS_NOTHING, WRITES)
{
    (void)w;
    return svit_file_replace(TARGET, world_images, sizeof world_images, err);
}

VARIANT(svit_file_replace, old, NEEDS_OLD_FILE, WRITES, NULL)
{
    (void)w;
    return svit_file_replace(TARGET, "the new file", 12, err);
}

static void make_old_private(world *w)
{
    (void)w;
    ck_assert_int_eq(chmod(TARGET, 0600), 0);
}

VARIANT(svit_file_replace, private, NEEDS_OLD_FILE, 0, make_old_private)
{
    (void)w;
    return svit_file_replace(TARGET, "the new file", 12, err);
}

static void link_to_old(world *w)
{
    (void)w;
    ck_assert_int_eq(symlink("target.safetensors", world_path("link")), 0);
}

VARIANT(svit_file_replace, link, NEEDS_OLD_FILE, 0, link_to_old)
{
    (void)w;
    return svit_file_replace(world_path("link"), "the new file", 12, err);
}

SCENARIO(svit_file_append, NEEDS_OLD_FILE, APPENDS)
{
    (void)w;
    return svit_file_append(TARGET, "more", 4, err);
}

VARIANT(svit_file_append, new, NEEDS_NOTHING, APPENDS, NULL)
{
    (void)w;
    return svit_file_append(TARGET, "more", 4, err);
}

static void start_clock(world *w)
{
    (void)w;
    files_stop_clock(0);
}

VARIANT(svit_benchmark_matmul, , NEEDS_CONTEXT, NO_DIGEST, start_clock)
{
    svit_matmul matmul;
    svit_matmul_init(&matmul, sizeof matmul);
    matmul.m = matmul.n = matmul.k = 8;
    return svit_benchmark_matmul(w->has.context, &matmul, 0, OUT(double, 1), err);
}

SCENARIO(svit_matmul_init, NEEDS_NOTHING, PURE | NO_ERROR)
{
    (void)err;
    return svit_matmul_init(OUT(svit_matmul, 1), sizeof(svit_matmul));
}

SCENARIO(svit_reducer_init, NEEDS_NOTHING, PURE | NO_ERROR)
{
    (void)err;
    return svit_reducer_init(OUT(svit_reducer, 1), sizeof(svit_reducer));
}

SCENARIO(svit_open_options_init, NEEDS_NOTHING, PURE | NO_ERROR)
{
    (void)err;
    return svit_open_options_init(OUT(svit_open_options, 1), sizeof(svit_open_options));
}

SCENARIO(svit_constant, NEEDS_NOTHING, PURE)
{
    return svit_constant("SVIT_MODE_TRAIN", OUT(int64_t, 1), err);
}

SCENARIO(svit_error_set, NEEDS_NOTHING, PURE | NO_ERROR)
{
    (void)w;
    svit_error other = {.struct_size = sizeof other};
    (void)err;
    return svit_error_set(&other, SVIT_OK, "a message");
}

SCENARIO(svit_reduction_plan, NEEDS_NOTHING, PURE)
{
    return svit_reduction_plan(8, 3, OUT(svit_reduction, 8), 8, OUT(size_t, 1), err);
}

GETTER(svit_context_free, NEEDS_NOTHING, (NULL))
GETTER(svit_constant_name, NEEDS_NOTHING, (3))
GETTER(svit_status_name, NEEDS_NOTHING, (SVIT_E_IO))
GETTER(svit_version_number, NEEDS_NOTHING, ())
GETTER(svit_version_string, NEEDS_NOTHING, ())
GETTER(svit_partition_begin, NEEDS_NOTHING, (10, 3, 1))
