/* What all fuzz targets share, but for the models: see fuzz.h. */
#include "fuzz.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn void fuzz_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

uint64_t fuzz_take(fuzz_bytes *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count && bytes->size > 0; i++) {
        value |= (uint64_t)*bytes->data << 8 * i;
        bytes->data++;
        bytes->size--;
    }
    return value;
}

uint32_t fuzz_range(fuzz_bytes *bytes, uint32_t low, uint32_t high)
{
    const uint64_t span = (uint64_t)high - low + 1;
    return low + (uint32_t)(fuzz_take(bytes, span <= 256 ? 1 : span <= 65536 ? 2 : 4) % span);
}

float fuzz_float(fuzz_bytes *bytes)
{
    const uint8_t kind = (uint8_t)fuzz_take(bytes, 1);
    if (kind < 240)
        return ((float)kind - 120.0f) / 16.0f;
    const uint32_t bits = (uint32_t)fuzz_take(bytes, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float *fuzz_floats(fuzz_bytes *bytes, size_t count)
{
    float *values = malloc((count ? count : 1) * sizeof *values);
    FUZZ_CHECK(values);
    for (size_t i = 0; i < count; i++)
        values[i] = fuzz_float(bytes);
    return values;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_CHECK(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* The allocator. Loaders allocate on a thread of their own. */
static atomic_size_t live_bytes, calls_left;
static atomic_bool fails_always;

static bool fails_now(void)
{
    size_t left = atomic_load(&calls_left);
    if (left == 0)
        return false;
    if (left > 1) {
        atomic_store(&calls_left, left - 1);
        return false;
    }
    if (!atomic_load(&fails_always))
        atomic_store(&calls_left, 0);
    return true;
}

static void *limited_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *memory = NULL;
    if (fails_now() || bytes > FUZZ_MEMORY || atomic_load(&live_bytes) > FUZZ_MEMORY - bytes)
        return NULL;
    /* Sanitizers see reads beyond the end, since the size is not rounded up. */
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) !=
        0)
        return NULL;
    atomic_fetch_add(&live_bytes, bytes);
    return memory;
}

static void limited_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    if (memory)
        FUZZ_CHECK(atomic_fetch_sub(&live_bytes, bytes) >= bytes);
    free(memory);
}

void fuzz_fail_allocation(size_t calls, bool always)
{
    atomic_store(&fails_always, always);
    atomic_store(&calls_left, calls);
}

static size_t code_point_bytes(const unsigned char *at)
{
    if (at[0] < 0x80)
        return 1;
    const size_t count = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < count; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    const bool is_too_long = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    const bool is_none = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return is_too_long || is_none ? 0 : count;
}

void fuzz_check_text(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; at && *at;) {
        const size_t bytes = code_point_bytes(at);
        FUZZ_CHECK(bytes > 0);
        at += bytes;
    }
}

static void check_message(const char *message)
{
    FUZZ_CHECK(message && *message);
    fuzz_check_text(message);
    for (const char *at = message; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
}

bool fuzz_ok(svit_status status, const svit_error *err)
{
    if (status == SVIT_OK)
        return true;
    FUZZ_CHECK(status < 0 && strcmp(svit_status_name(status), "SVIT_E_?") != 0);
    FUZZ_CHECK(err->code == status);
    FUZZ_CHECK(memchr(err->message, 0, sizeof err->message));
    check_message(err->message);
    return false;
}

static void check_log(void *user, int32_t level, const char *message)
{
    (void)user;
    FUZZ_CHECK(level == SVIT_LOG_INFO || level == SVIT_LOG_WARNING);
    fuzz_check_text(message);
}

static svit_context *the_context;
static size_t live_at_start;

static void free_context(void)
{
    svit_context_free(the_context);
    FUZZ_CHECK(atomic_load(&live_bytes) == 0);
}

svit_context *fuzz_context(void)
{
    if (the_context)
        return the_context;
    svit_error err = FUZZ_ERROR;
    svit_context_config config;
    svit_context_config_init(&config, sizeof config);
    config.threads = 1;
    config.allocate = limited_allocate;
    config.release = limited_release;
    config.log = check_log;
    config.gemm = "tile";
    FUZZ_CHECK(svit_context_create(&the_context, &config, &err) == SVIT_OK);
    live_at_start = atomic_load(&live_bytes);
    atexit(free_context);
    return the_context;
}

int fuzz_end(void)
{
    fuzz_fail_allocation(0, false);
    FUZZ_CHECK(atomic_load(&live_bytes) == live_at_start);
    return 0;
}

static char the_folder[64];

static void remove_all(const char *folder)
{
    DIR *listing = opendir(folder);
    if (!listing)
        return;
    for (struct dirent *entry; (entry = readdir(listing));) {
        char path[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        if (unlink(path) != 0) {
            remove_all(path);
            rmdir(path);
        }
    }
    closedir(listing);
}

static void remove_folder(void)
{
    remove_all(the_folder);
    rmdir(the_folder);
}

static void make_folder(void)
{
    const char *parents[] = {getenv("SHIFTVIT_FUZZ_FOLDER"), "/dev/shm", "/tmp"};
    for (int i = 0; i < 3 && !the_folder[0]; i++) {
        if (!parents[i])
            continue;
        snprintf(the_folder, sizeof the_folder, "%s/shiftvit-fuzz-XXXXXX", parents[i]);
        if (!mkdtemp(the_folder))
            the_folder[0] = '\0';
    }
    FUZZ_CHECK(the_folder[0]);
    atexit(remove_folder);
}

const char *fuzz_path(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    if (!the_folder[0])
        make_folder();
    FUZZ_CHECK(snprintf(path, sizeof paths[0], "%s/%s", the_folder, name) < (int)sizeof paths[0]);
    return path;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    const char *path = fuzz_path(name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file);
    FUZZ_CHECK(size == 0 || fwrite(data, 1, size, file) == size);
    FUZZ_CHECK(fclose(file) == 0);
    return path;
}

void fuzz_clear_folder(void)
{
    if (the_folder[0])
        remove_all(the_folder);
}
