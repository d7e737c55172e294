/* Runs every scenario with every fault: the n-th allocation of the context fails, or of the whole
 * process, or the n-th call for a file, for every n until the call needs fewer. A call then returns
 * a status with a message, leaks nothing, changes nothing that a caller can see, and does its work
 * when it is repeated. Some faults are tolerated: the call succeeds with the same bits. */
#include "counts.h"
#include "failing_files.h"
#include "failing_malloc.h"
#include "scenario.h"

#include <dirent.h>
#include <errno.h>

typedef struct public_function {
    const char *name;
    int can_fail;
} public_function;
#include "public_functions.h"

enum { FUNCTIONS = sizeof public_functions / sizeof *public_functions };
#if defined SV_HAVE_PNG && defined SV_HAVE_JPEG
enum { LACKS_IMAGES = 0 };
#else
enum { LACKS_IMAGES = 1 };
#endif
enum { MOST_CALLS = 4096 };

/* Which allocations or calls a fault meets. */
typedef enum fault_place { NOTHING, CONTEXT, PROCESS, FILES } fault_place;

typedef struct fault {
    fault_place place;
    size_t n; /* from 1 */
    int kind; /* of allocations: 1: all from the n-th on; of files: an errno value or FILE_* */
} fault;

static const scenario *scenarios[MOST_SCENARIOS];
static int scenario_count;
static world w;

/* What a call does without faults. */
static struct {
    uint64_t results, folder;
    size_t allocations, process_allocations, calls;
    unsigned char operations[MOST_CALLS];
} wanted;

/* What may happen at each call for a file; 0 ends the list. */
static const int FAULTS[FILE_OPERATIONS][7] = {
    [FILE_OPEN] = {EIO, EINTR, ENOSPC, EMFILE, FILE_DEAD},
    [FILE_READ] = {EIO, EINTR, FILE_SHORT, FILE_END, FILE_DEAD},
    [FILE_WRITE] = {ENOSPC, EIO, EINTR, FILE_SHORT, FILE_FULL, FILE_DEAD},
    [FILE_SYNC] = {EIO, ENOSPC, EINTR, FILE_DEAD},
    [FILE_RENAME] = {EIO, ENOSPC, EINTR, FILE_DEAD},
    [FILE_MAKE_FOLDER] = {ENOSPC, EIO, EACCES, FILE_DEAD},
    [FILE_CLOSE] = {EIO, EINTR, FILE_DEAD},
    [FILE_STAT] = {EIO, EACCES, FILE_BLIND, FILE_DEAD},
    [FILE_MAP] = {ENOMEM, EIO, FILE_DEAD},
    [FILE_TRUNCATE] = {EIO, FILE_DEAD},
    [FILE_OPEN_FOLDER] = {EMFILE, EIO, ENOMEM, FILE_DEAD},
    [FILE_LIST] = {EIO, FILE_DEAD},
    [FILE_REMOVE] = {EIO, EACCES, FILE_DEAD},
    [FILE_REMOVE_FOLDER] = {EBUSY, FILE_DEAD},
    [FILE_LOCK] = {ENOLCK, EINTR, FILE_DEAD},
    [FILE_RIGHTS] = {EPERM, EIO, FILE_DEAD},
    [FILE_RESOLVE] = {EIO, FILE_DEAD},
    [FILE_THREAD] = {EAGAIN, FILE_DEAD},
};

static size_t open_files(void)
{
    size_t count = 0;
    DIR *list = opendir("/proc/self/fd");
    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count;
}

/* What the fault is, as a text for messages. */
static const char *named(const scenario *of, const fault *what)
{
    static const char *const places[] = {"no fault", "allocation", "allocation of the process",
                                         "call for a file"};
    static char text[256];
    const char *operation = "";
    if (what->place == FILES && what->n <= wanted.calls)
        operation = file_operation_name(wanted.operations[what->n - 1]);
    snprintf(text, sizeof text, "%s %s, model %d, %s %zu %s (%d)", of->function, of->variant,
             w.model_of, places[what->place], what->n, operation, what->kind);
    return text;
}

/* Calls with a fault. Returns how many calls it has met. */
static size_t call_with(const scenario *of, const fault *what, svit_status *status, svit_error *err)
{
    *err = (svit_error){.struct_size = sizeof *err};
    w.book.calls = 0;
    w.book.fail_at = what->place == CONTEXT ? what->n : 0;
    w.book.for_ever = what->kind;
    failing_malloc_arm(what->place == PROCESS ? what->n : 0, what->kind);
    files_arm(what->place == FILES ? what->n : 0, what->kind);
    *status = of->call(&w, err);
    const size_t files = files_disarm(), process = failing_malloc_disarm();
    const size_t context = w.book.fail_at && w.book.calls >= w.book.fail_at;
    w.book.fail_at = 0;
    return context + files + process;
}

static void begin(const scenario *of, int model_of)
{
    world_make(&w, of, model_of);
    w.hides_folder = (of->flags & KEEPS) != 0;
    world_begin(&w);
}

/* Learns what the call does without a fault, twice: it has to be the same. */
static void learn(const scenario *of, int model_of)
{
    const fault none = {NOTHING, 0, 0};
    svit_status status;
    svit_error err;
    for (int run = 0; run < 2; run++) {
        const uint64_t before = wanted.results;
        begin(of, model_of);
        world_digest(&w);
        call_with(of, &none, &status, &err);
        ck_assert_msg(status == SVIT_OK, "%s: %s", named(of, &none), err.message);
        wanted.allocations = w.book.calls;
        wanted.process_allocations = failing_malloc_count();
        wanted.calls = files_count();
        ck_assert_uint_le(wanted.calls, MOST_CALLS);
        for (size_t i = 0; i < wanted.calls; i++)
            wanted.operations[i] = (unsigned char)files_operation(i + 1);
        wanted.folder = world_digest_folder();
        wanted.results = world_digest_results(&w);
        ck_assert_msg(run == 0 || before == wanted.results || of->flags & NO_DIGEST,
                      "%s: two runs differ", named(of, &none));
        world_free(&w);
    }
    const int is_pure = (of->flags & PURE) != 0;
    ck_assert_msg(!is_pure || wanted.allocations + wanted.process_allocations + wanted.calls == 0,
                  "%s: %zu and %zu allocations, %zu calls for files", named(of, &none),
                  wanted.allocations, wanted.process_allocations, wanted.calls);
}

static void check_results(const scenario *of, const fault *what)
{
    if (what->kind == FILE_DEAD && of->flags & APPENDS)
        return;
    ck_assert_msg(of->flags & NO_DIGEST || world_digest_results(&w) == wanted.results,
                  "%s: other results", named(of, what));
}

/* Whether this status tells of this fault. */
static int is_apt(const fault *what, svit_status status)
{
    if (what->place != FILES)
        return status == SVIT_E_MEMORY;
    const int is_thread = wanted.operations[what->n - 1] == FILE_THREAD;
    if (is_thread || what->kind == ENOMEM)
        return status == SVIT_E_MEMORY;
    return status == SVIT_E_IO || (what->kind == FILE_END && status == SVIT_E_FORMAT);
}

static void check_message(const scenario *of, const fault *what, svit_status status,
                          const svit_error *err)
{
    ck_assert_msg(is_apt(what, status), "%s: %s: %s", named(of, what), svit_status_name(status),
                  err->message);
    ck_assert_msg(of->flags & NO_ERROR || (err->code == status && err->message[0]),
                  "%s: code %d, '%s'", named(of, what), err->code, err->message);
    if (what->place == FILES && status == SVIT_E_IO)
        ck_assert_msg(strstr(err->message, world_assets) || strstr(err->message, "folder '/"),
                      "%s: '%s' names no file", named(of, what), err->message);
}

/* The state before a call. */
typedef struct state {
    uint64_t digest;
    size_t blocks, files;
    long live;
} state;

static state state_now(void)
{
    const uint64_t digest = world_digest(&w);
    return (state){digest, w.book.live_blocks, open_files(), failing_malloc_live()};
}

static void check_unchanged(const scenario *of, const fault *what, const state *before,
                            const svit_error *err)
{
    const size_t files = open_files(), blocks = w.book.live_blocks;
    const long live = failing_malloc_live();
    ck_assert_msg(of->flags & FILLS || !world_is_touched(&w), "%s: outputs are written: %s",
                  named(of, what), err->message);
    if (of->flags & GOES_ON)
        return;
    ck_assert_msg(of->flags & KEEPS || (files == before->files && blocks == before->blocks),
                  "%s: %zu files were open, now %zu; %zu blocks, now %zu", named(of, what),
                  before->files, files, before->blocks, blocks);
    ck_assert_msg(of->flags & (KEEPS | HAS_THREADS) || live == before->live,
                  "%s: %ld blocks of the process, now %ld", named(of, what), before->live, live);
    /* A file that is in place says so, and a dead disk keeps what cannot be removed. */
    if (strstr(err->message, "in place") || what->kind == FILE_DEAD)
        return;
    ck_assert_msg(world_digest(&w) == before->digest, "%s: the world has changed: %s",
                  named(of, what), err->message);
}

/* Runs a scenario with one fault. Returns how many calls the fault has met. */
static size_t try_fault(const scenario *of, int model_of, const fault *what)
{
    const fault none = {NOTHING, 0, 0};
    svit_status status;
    svit_error err;
    const size_t files = open_files();
    begin(of, model_of);
    const state before = state_now();
    const size_t met = call_with(of, what, &status, &err);
    counts->tolerated += met && status == SVIT_OK;
    if (status != SVIT_OK) {
        check_message(of, what, status, &err);
        check_unchanged(of, what, &before, &err);
        world_begin(&w);
        call_with(of, &none, &status, &err);
        ck_assert_msg(status == SVIT_OK, "%s: repeated: %s", named(of, what), err.message);
    }
    ck_assert_msg(!err.message[0], "%s: succeeds and says '%s'", named(of, what), err.message);
    check_results(of, what);
    world_free(&w);
    ck_assert_msg(open_files() == files, "%s: %zu files were open, now %zu", named(of, what), files,
                  open_files());
    return met;
}

/* Each allocation alone, and with all behind it. */
static size_t try_allocations(const scenario *of, int model_of, fault_place place)
{
    size_t count = 0;
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (size_t n = 1;; n++, count++)
            if (try_fault(of, model_of, &(fault){place, n, for_ever}) == 0)
                break;
    return count;
}

/* Whether call `n` is the first or the last of its operation. */
static int is_at_end(size_t n)
{
    int before = 0, behind = 0;
    for (size_t i = 0; i < wanted.calls; i++)
        if (wanted.operations[i] == wanted.operations[n - 1]) {
            before += i + 1 < n;
            behind += i + 1 > n;
        }
    return before == 0 || behind == 0;
}

/* Every kind of fault at the first and the last call of an operation, and one at each between. */
static void try_files(const scenario *of, int model_of)
{
    for (size_t n = 1; n <= wanted.calls; n++) {
        const int operation = wanted.operations[n - 1];
        size_t kinds = 0;
        while (FAULTS[operation][kinds])
            kinds++;
        for (size_t i = 0; i < kinds; i++) {
            const fault what = {FILES, n, FAULTS[operation][i]};
            if (n % kinds != i && !is_at_end(n))
                continue;
            const size_t met = try_fault(of, model_of, &what);
            ck_assert_msg(met > 0 || of->flags & HAS_THREADS, "%s is not met", named(of, &what));
            counts->files++;
            counts->operations[operation]++;
        }
    }
}

/* Whether allocations of the process can fail here: a sanitizer or a memory checker may have
 * replaced the allocator. */
static int process_can_fail(void)
{
    failing_malloc_arm(1, 0);
    void *volatile memory = malloc(1);
    const size_t failed = failing_malloc_disarm();
    free(memory);
    return failed == 1;
}

START_TEST(test_allocations_of_the_process_can_fail)
{
    if (!process_can_fail())
        skip_check("the allocator of the process cannot be replaced here");
}
END_TEST

START_TEST(test_a_call_withstands_every_fault)
{
    const scenario *of = scenarios[_i];
    if (LACKS_IMAGES && of->flags & HAS_IMAGES) {
        skip_check("this build has no JPEG or no PNG");
        return;
    }
    for (int model_of = 0; model_of < (of->flags & EVERY_MODEL ? MODELS : 1); model_of++) {
        learn(of, model_of);
        counts->scenarios++;
        counts->allocations += try_allocations(of, model_of, CONTEXT);
        counts->process_allocations += try_allocations(of, model_of, PROCESS);
        if (model_of == 0)
            try_files(of, model_of);
    }
    const int faults = wanted.allocations + wanted.process_allocations + wanted.calls > 0;
    ck_assert_msg(faults == !(of->flags & PURE) || !process_can_fail(),
                  "%s %s: nothing can fail here", of->function, of->variant);
}
END_TEST

/* The table is generated from the headers. */
START_TEST(test_every_public_function_has_a_scenario)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        int found = 0;
        for (int k = 0; k < scenario_count; k++)
            if (strcmp(scenarios[k]->function, public_functions[i].name) == 0) {
                found++;
                ck_assert_msg(public_functions[i].can_fail == !(scenarios[k]->flags & NO_ERROR),
                              "%s: NO_ERROR belongs to functions without svit_error",
                              public_functions[i].name);
            }
        ck_assert_msg(found, "%s has no scenario in tests/fault/scenarios_*.c",
                      public_functions[i].name);
    }
}
END_TEST

/* What a call does only after a failure, such as to truncate a file, fails on a dead disk. */
START_TEST(test_every_operation_has_failed)
{
    static const file_operation rare[] = {FILE_TRUNCATE, FILE_REMOVE_FOLDER};
    for (int i = 0; i < FILE_OPERATIONS; i++)
        ck_assert_msg(counts->operations[i] > 0 || i == (int)rare[0] || i == (int)rare[1],
                      "no call for files of the kind '%s' has failed",
                      file_operation_name((file_operation)i));
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("faults");
    TCase *c = tcase_create("faults");
    tcase_add_unchecked_fixture(c, world_folders_make, world_folders_remove);
    tcase_add_test(c, test_every_public_function_has_a_scenario);
    tcase_add_test(c, test_allocations_of_the_process_can_fail);
    tcase_add_loop_test(c, test_a_call_withstands_every_fault, 0, scenario_count);
    if (!LACKS_IMAGES)
        tcase_add_test(c, test_every_operation_has_failed);
    suite_add_tcase(all, c);
    return all;
}

static void print_counts(void)
{
    printf("faults: %d functions, %zu scenarios; %zu failing allocations of contexts, %zu of the "
           "process, %zu failing calls for files; %zu faults tolerated\n",
           FUNCTIONS, (size_t)counts->scenarios, (size_t)counts->allocations,
           (size_t)counts->process_allocations, (size_t)counts->files, (size_t)counts->tolerated);
    for (int i = 0; i < FILE_OPERATIONS; i++)
        printf("%s%s %zu", i ? ", " : "", file_operation_name((file_operation)i),
               (size_t)counts->operations[i]);
    printf("\n");
}

int main(void)
{
    counts_begin();
    scenario_count = list_scenarios(scenarios);
    const int status = run_suite(suite);
    print_counts();
    return status;
}
