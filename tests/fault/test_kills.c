/* Kills processes at every call for a file. A call that writes a file leaves the old one or the new
 * one, whole, and the next call is not disturbed by what the killed one left. A training goes on
 * from its last checkpoint to the bits of one that was not killed. */
#include "counts.h"
#include "failing_files.h"
#include "scenario.h"

#include <signal.h>
#include <sys/wait.h>

enum { MOST = 64 };
static const scenario *writers[MOST];
static int writer_count;
static world w;

/* What a child tells its parent. */
typedef struct report {
    uint64_t folder, model;
    size_t calls;
    unsigned char is_write[4096]; /* for each call */
} report;
static report *told;

/* Called by a child. */
static void tell(void)
{
    files_disarm();
    told->calls = files_count();
    for (size_t n = 1; n <= told->calls && n < sizeof told->is_write; n++)
        told->is_write[n] = files_operation(n) == FILE_WRITE;
    told->folder = world_digest_folder();
}

/* Where a call is killed: within a write, else before the call. */
static int kill_at(const report *whole, size_t n)
{
    return whole->is_write[n] ? FILE_TEAR : FILE_KILL;
}

/* Waits for a child. Returns whether it was killed; a failed child fails the test. */
static int was_killed(pid_t child, const char *name, size_t n)
{
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return 1;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s, call %zu: status %x", name, n,
                  (unsigned)status);
    return 0;
}

/* Makes the world in a child, in a new folder or in the one that is there, and calls. At call
 * number `n` the child is killed as `fault` says. */
static int call_in_child(const scenario *of, int is_new, size_t n, int fault)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        svit_error err = {.struct_size = sizeof err};
        (is_new ? world_make : world_make_again)(&w, of, 0);
        world_begin(&w);
        files_arm(n, fault);
        const svit_status status = of->call(&w, &err);
        tell();
        if (status != SVIT_OK)
            fprintf(stderr, "%s\n", err.message);
        _exit(status != SVIT_OK);
    }
    return was_killed(child, of->function, n);
}

static void check_killed(const scenario *of, size_t n, int fault, uint64_t before, uint64_t after)
{
    ck_assert_int_eq(call_in_child(of, 1, n, fault), 1);
    counts->kills++;
    uint64_t leftovers = 0;
    const uint64_t found = world_digest_without(&leftovers);
    ck_assert_msg((found == before || found == after) && leftovers <= 1,
                  "%s %s, killed at call %zu: neither the old file nor the new one", of->function,
                  of->variant, n);
    ck_assert_int_eq(call_in_child(of, 0, 0, 0), 0);
    ck_assert_msg(told->folder == after, "%s %s, killed at call %zu: the next call is disturbed",
                  of->function, of->variant, n);
}

START_TEST(test_a_killed_call_leaves_the_old_file_or_the_new_one)
{
    const scenario *of = writers[_i];
    ck_assert_int_eq(call_in_child(of, 1, 0, 0), 0);
    const report whole = *told;
    ck_assert_uint_lt(whole.calls, sizeof whole.is_write);
    world_make(&w, of, 0);
    const uint64_t before = world_digest_folder();
    world_free(&w);
    ck_assert_uint_ne(before, whole.folder);
    for (size_t n = 1; n <= whole.calls; n++)
        check_killed(of, n, kill_at(&whole, n), before, whole.folder);
}
END_TEST

/* Ends a child whose call fails. Check's macros would write, and these writes would be counted. */
static void must(svit_status status, const svit_error *err)
{
    if (status == SVIT_OK)
        return;
    files_disarm();
    fprintf(stderr, "%s: %s\n", svit_status_name(status), err->message);
    _exit(1);
}

static void make_trainer(uint64_t seed, int32_t existing)
{
    svit_error err = {.struct_size = sizeof err};
    svit_trainer_config config = world_trainer();
    const svit_pipeline_config pipeline = world_pipeline();
    const svit_optimizer_config optimizer = world_optimizer();
    config.seed = seed;
    config.existing = existing;
    config.epochs = 2;
    must(svit_trainer_create(&w.has.trainer, w.has.context, w.has.model, w.has.dataset,
                             w.has.dataset, &config, &optimizer, &pipeline, &err),
         &err);
}

/* Trains in a child, with a checkpoint within each epoch unless the run is one of `whole_epochs`.
 * Returns whether the child was killed. */
static int train_in_child(uint64_t seed, int32_t existing, int whole_epochs, size_t n, int fault)
{
    static const scenario of = {.needs = NEEDS_MODEL | NEEDS_DATASET};
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        svit_trainer_event event = {0};
        svit_error err = {.struct_size = sizeof err};
        world_make_again(&w, &of, 0);
        files_arm(n, fault);
        make_trainer(seed, existing);
        if (existing == SVIT_EXISTING_RESUME)
            must(svit_trainer_resume(w.has.trainer, &err), &err);
        while (event.kind != SVIT_EVENT_FINISHED) {
            must(svit_trainer_step(w.has.trainer, &event, sizeof event, &err), &err);
            if (event.kind == SVIT_EVENT_STEP && event.step == 1 && !whole_epochs)
                must(svit_trainer_checkpoint(w.has.trainer, &err), &err);
        }
        svit_trainer_free(w.has.trainer);
        w.has.trainer = NULL;
        tell();
        w.hides_folder = 1;
        told->model = world_digest(&w);
        _exit(0);
    }
    return was_killed(child, "training", n);
}

static void begin_folder(int has_old_run)
{
    const scenario of = {.needs = has_old_run ? NEEDS_RUN : NEEDS_NOTHING};
    world_make(&w, &of, 0);
    world_free(&w);
}

/* The seed of the run whose checkpoint is in the folder. */
static uint64_t seed_in_folder(void)
{
    uint64_t seed;
    svit_context *context = fit_context(1);
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, world_path("checkpoint.safetensors"), err));
    const char *text = svit_checkpoint_value(checkpoint, "trainer.seed");
    ck_assert_ptr_nonnull(text);
    seed = strtoull(text, NULL, 10);
    svit_checkpoint_free(checkpoint);
    svit_context_free(context);
    return seed;
}

/* Lets the run go on that the killed one has left, and compares it with the whole one. A folder
 * without a checkpoint has no run, so that a new one begins there without more ado. */
static void go_on(size_t n, const report *whole, int has_old_run, int whole_epochs)
{
    const int has_run = access(world_path("checkpoint.safetensors"), F_OK) == 0;
    ck_assert(has_run || !has_old_run);
    const uint64_t seed = has_run ? seed_in_folder() : 1;
    const int32_t existing = has_run ? SVIT_EXISTING_RESUME : SVIT_EXISTING_REFUSE;
    ck_assert_int_eq(train_in_child(seed, existing, whole_epochs, 0, 0), 0);
    ck_assert_msg(told->model == whole[seed].model, "killed at call %zu: other weights", n);
    uint64_t leftovers = 0;
    const uint64_t folder = world_digest_without(&leftovers);
    ck_assert_uint_le(leftovers, 1);
    ck_assert_msg(folder == whole[seed].folder || seed == 0,
                  "killed at call %zu: other files than those of a run that was not killed", n);
}

START_TEST(test_a_killed_training_goes_on)
{
    const int has_old_run = _i % 2, whole_epochs = _i / 2;
    static report whole[2];
    for (uint64_t seed = 0; seed < 2; seed++) {
        begin_folder(has_old_run && seed == 1);
        ck_assert_int_eq(train_in_child(seed, SVIT_EXISTING_OVERWRITE, whole_epochs, 0, 0), 0);
        whole[seed] = *told;
    }
    for (size_t n = 1; n <= whole[1].calls; n += 1 + (size_t)has_old_run) {
        const int fault = kill_at(&whole[1], n);
        begin_folder(has_old_run);
        ck_assert_int_eq(train_in_child(1, SVIT_EXISTING_OVERWRITE, whole_epochs, n, fault), 1);
        counts->kills++;
        go_on(n, whole, has_old_run, whole_epochs);
    }
}
END_TEST

static void list_writers(void)
{
    for (const scenario *one = all_scenarios; one; one = one->next)
        if (one->flags & WRITES && writer_count < MOST)
#if !defined SV_HAVE_PNG || !defined SV_HAVE_JPEG
            if (!(one->flags & HAS_IMAGES))
#endif
                writers[writer_count++] = one;
}

static Suite *suite(void)
{
    Suite *all = suite_create("kills");
    TCase *c = tcase_create("kills");
    tcase_add_unchecked_fixture(c, world_folders_make, world_folders_remove);
    tcase_add_loop_test(c, test_a_killed_call_leaves_the_old_file_or_the_new_one, 0, writer_count);
    tcase_add_loop_test(c, test_a_killed_training_goes_on, 0, 4);
    suite_add_tcase(all, c);
    return all;
}

int main(void)
{
    counts_begin();
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    list_writers();
    const int status = run_suite(suite);
    printf("kills: %zu, in %d calls that write a file and in trainings\n", (size_t)counts->kills,
           writer_count);
    return status;
}
