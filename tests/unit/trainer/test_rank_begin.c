/* Checks that no rank waits for one that cannot begin: one without memory, with arguments that are
 * NULL or of a newer version, or with other labels. */
#include "thread_reducer.h"
#include "trainer_support.h"

#include <stdatomic.h>

enum { RANKS = 3, LEAVES = 4, MANY = 6 * SAMPLES, IMAGE = SIDE * SIDE * 3 };

/* A sample that is not among those of the fingerprint of MANY samples. */
enum { UNSEEN = 1 };

/* A configuration of a later version, whose last field is not 0. */
typedef struct newer_config {
    svit_trainer_config known;
    uint64_t unknown;
} newer_config;

/* An allocator without memory once `left` allocations have been made. */
typedef struct scarcity {
    atomic_int is_scarce;
    atomic_size_t left;
} scarcity;

/* One rank: a thread with a trainer of its own. Rank 1 is the one that cannot begin. */
typedef struct member {
    int item; /* of CASES */
    team *all;
    uint32_t rank;
    scarcity memory;
    bool has_targets;
    int32_t labels[MANY], validation_labels[MANY];
    float targets[MANY * CLASSES];
    plan p;
    newer_config newer;

    /* Arguments of svit_trainer_create. */
    svit_trainer **out;
    svit_context *context;
    svit_model *model;
    svit_dataset *training;
    const svit_trainer_config *config;

    svit_trainer *trainer;
    svit_status status;
    svit_error error;
} member;

static uint8_t many_images[MANY * IMAGE];

static void no_out(member *self)
{
    self->out = NULL;
}

static void no_context(member *self)
{
    self->context = NULL;
}

static void no_model(member *self)
{
    self->model = NULL;
}

static void no_training(member *self)
{
    self->training = NULL;
}

static void newer_fields(member *self)
{
    self->newer = (newer_config){self->p.trainer, 1};
    self->newer.known.struct_size = sizeof self->newer;
    self->config = &self->newer.known;
}

static void other_label(member *self)
{
    self->labels[UNSEEN] = 2;
}

static void other_validation_label(member *self)
{
    self->validation_labels[UNSEEN] = 2;
}

static void other_targets(member *self)
{
    self->targets[UNSEEN * CLASSES] = 0.25f;
    self->targets[UNSEEN * CLASSES + 1] = 0.75f;
}

static svit_status step_without_event(member *self)
{
    return svit_trainer_step(self->trainer, NULL, sizeof(svit_trainer_event), &self->error);
}

static svit_status step_without_size(member *self)
{
    svit_trainer_event event;
    return svit_trainer_step(self->trainer, &event, 0, &self->error);
}

#define COULD_NOT "rank 1 of 3 could not begin: SVIT_E_ARGUMENT"

/* What rank 1 has or does differently, and the beginning of its message and that of the others. */
static const struct {
    void (*change_data)(member *), (*change)(member *);
    svit_status (*call)(member *);
    bool has_targets;
    svit_status status;
    const char *own, *others; /* NULL: the same */
} CASES[] = {
    {.status = SVIT_OK, .own = ""},
    {.has_targets = true, .status = SVIT_OK, .own = ""},
    {.change = no_out,
     .status = SVIT_E_ARGUMENT,
     .own = "svit_trainer_create: out is NULL",
     .others = COULD_NOT},
    {.change = no_context,
     .status = SVIT_E_ARGUMENT,
     .own = "svit_trainer_create: context is NULL",
     .others = COULD_NOT},
    {.change = no_model,
     .status = SVIT_E_ARGUMENT,
     .own = "svit_trainer_create: model is NULL",
     .others = COULD_NOT},
    {.change = no_training,
     .status = SVIT_E_ARGUMENT,
     .own = "svit_trainer_create: training is NULL",
     .others = COULD_NOT},
    {.change = newer_fields,
     .status = SVIT_E_VERSION,
     .own = "rank 1 of 3: svit_trainer_config sets a field that version "},
    {.call = step_without_event,
     .status = SVIT_E_ARGUMENT,
     .own = "rank 1 of 3: svit_trainer_step: event is NULL"},
    {.call = step_without_size, .status = SVIT_E_ARGUMENT, .own = "rank 1 of 3: size is 0"},
    {.change_data = other_label,
     .status = SVIT_E_ARGUMENT,
     .own = "rank 1 of 3 has other labels in the training data than rank 0"},
    {.change_data = other_validation_label,
     .status = SVIT_E_ARGUMENT,
     .own = "rank 1 of 3 has other labels in the validation data than rank 0"},
    {.change_data = other_targets,
     .has_targets = true,
     .status = SVIT_E_ARGUMENT,
     .own = "rank 1 of 3 has other labels in the training data than rank 0"},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    scarcity *self = user;
    if (atomic_load(&self->is_scarce) && atomic_load(&self->left) == 0)
        return NULL;
    if (atomic_load(&self->is_scarce))
        atomic_fetch_sub(&self->left, 1);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static svit_context *scarce_context(scarcity *memory)
{
    svit_context *made = NULL;
    svit_context_config config;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.allocate = allocate;
    config.release = release;
    config.allocator_user = memory;
    WORKS(svit_context_create(&made, &config, err));
    return made;
}

static void open_data(member *self, svit_dataset **train, svit_dataset **validate)
{
    if (self->has_targets)
        WORKS(svit_dataset_memory_targets(train, self->context, many_images, self->targets, MANY,
                                          SIDE, SIDE, 3, CLASSES, err));
    else
        WORKS(svit_dataset_memory(train, self->context, many_images, self->labels, MANY, SIDE, SIDE,
                                  3, CLASSES, err));
    WORKS(svit_dataset_memory(validate, self->context, many_images, self->validation_labels, MANY,
                              SIDE, SIDE, 3, CLASSES, err));
}

static svit_status train(member *self, svit_dataset *validate)
{
    const svit_reducer reducer = team_reducer(self->all, self->rank);
    self->p.trainer.reducer = &reducer;
    self->config = &self->p.trainer;
    if (self->rank == 1 && CASES[self->item].change)
        CASES[self->item].change(self);
    svit_status status =
        svit_trainer_create(self->out, self->context, self->model, self->training, validate,
                            self->config, &self->p.optimizer, &self->p.pipeline, &self->error);
    atomic_store(&self->memory.is_scarce, 0);
    if (status == SVIT_OK && self->rank == 1 && CASES[self->item].call)
        return CASES[self->item].call(self);
    return status == SVIT_OK ? svit_trainer_run(self->trainer, NULL, NULL, &self->error) : status;
}

static void *run_member(void *argument)
{
    member *self = argument;
    const bool is_scarce = atomic_exchange(&self->memory.is_scarce, 0);
    svit_context *own = self->context = scarce_context(&self->memory);
    svit_dataset *data = NULL, *validate = NULL;
    if (self->rank == 1 && CASES[self->item].change_data)
        CASES[self->item].change_data(self);
    open_data(self, &data, &validate);
    svit_model *model = self->model = fit_model(own, CLASSES, 1);
    self->training = data;
    self->out = &self->trainer;
    atomic_store(&self->memory.is_scarce, is_scarce);
    self->status = train(self, validate);
    team_fail(self->all); /* so that none waits for a rank that has failed alone */
    svit_trainer_free(self->trainer);
    svit_model_free(model);
    svit_dataset_free(validate);
    svit_dataset_free(data);
    svit_context_free(own);
    return NULL;
}

static void fill(member *self, int item, team *all, uint32_t rank)
{
    memset(self, 0, sizeof *self);
    self->item = item;
    self->all = all;
    self->rank = rank;
    self->has_targets = CASES[item].has_targets;
    self->p = plan_make(1);
    self->p.trainer.folder = NULL;
    self->error.struct_size = sizeof self->error;
    for (size_t i = 0; i < MANY; i++) {
        self->labels[i] = self->validation_labels[i] = (int32_t)(i % CLASSES);
        self->targets[i * CLASSES + i % CLASSES] = 1;
        memcpy(many_images + i * IMAGE, images + i % SAMPLES * IMAGE, IMAGE);
    }
}

static void run_team(member *members, int item, const size_t *allocations)
{
    static team all;
    pthread_t threads[RANKS];
    team_start(&all, LEAVES, RANKS, 200);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        fill(&members[rank], item, &all, rank);
    atomic_store(&members[1].memory.is_scarce, allocations != NULL);
    atomic_store(&members[1].memory.left, allocations ? *allocations : 0);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        ck_assert_int_eq(pthread_create(&threads[rank], NULL, run_member, &members[rank]), 0);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        pthread_join(threads[rank], NULL);
    team_end(&all);
}

static void check(const member *found, svit_status status, const char *message)
{
    ck_assert_msg(
        found->status == status && strncmp(found->error.message, message, strlen(message)) == 0,
        "rank %u: %d, '%s', not '%s'", found->rank, found->status, found->error.message, message);
}

START_TEST(test_ranks_hear_of_one_that_cannot_begin)
{
    static member members[RANKS];
    const char *own = CASES[_i].own, *others = CASES[_i].others ? CASES[_i].others : own;
    run_team(members, _i, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        check(&members[rank], CASES[_i].status, rank == 1 ? own : others);
}
END_TEST

/* The trainer's struct and what the ranks exchange come first; after them the others hear the whole
 * message. */
START_TEST(test_ranks_hear_of_one_without_memory)
{
    static member members[RANKS];
    const size_t allocations = (size_t)_i;
    const bool is_first = allocations < 2;
    run_team(members, 0, &allocations);
    for (uint32_t rank = 0; rank < RANKS; rank += 2)
        check(&members[rank], SVIT_E_MEMORY,
              is_first ? "rank 1 of 3 could not begin: SVIT_E_MEMORY" : "rank 1 of 3: ");
    check(&members[1], SVIT_E_MEMORY, is_first ? "" : "rank 1 of 3: ");
}
END_TEST

enum { THOUSANDS = 5000, LAST = THOUSANDS - 1 };

static svit_status no_bucket(void *user, const svit_bucket *bucket, svit_error *error)
{
    (void)user;
    (void)bucket;
    (void)error;
    return SVIT_OK;
}

static svit_status no_finish(void *user, svit_error *error)
{
    (void)user;
    (void)error;
    return SVIT_OK;
}

/* The last rank cannot read its files. What this one has brought goes to *user. */
static svit_status gather_thousands(void *user, const void *mine, void *all, size_t bytes,
                                    svit_error *error)
{
    (void)error;
    ck_assert_uint_eq(bytes, 1);
    memcpy(user, mine, 1);
    memset(all, 0, THOUSANDS);
    ((int8_t *)all)[LAST] = SVIT_E_IO;
    return SVIT_OK;
}

START_TEST(test_thousands_of_ranks_hear_of_one)
{
    int8_t brought = 1;
    svit_trainer *trainer = NULL;
    plan p = plan_make(1);
    const svit_reducer reducer = {sizeof reducer, THOUSANDS, 0,         THOUSANDS,
                                  &brought,       no_bucket, no_finish, gather_thousands};
    svit_model *model = fit_model(context, CLASSES, 1);
    p.trainer.batch = THOUSANDS;
    p.trainer.reducer = &reducer;
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_IO, "rank 4999 of 5000 could not begin: SVIT_E_IO");
    ck_assert_int_eq(brought, SVIT_OK);
    FAILS(svit_trainer_create(&trainer, context, NULL, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "model is NULL");
    ck_assert_int_eq(brought, SVIT_E_ARGUMENT);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("rank_begin");
    TCase *c = tcase_create("rank_begin");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, test_ranks_hear_of_one_that_cannot_begin, 0, CASE_COUNT);
    tcase_add_loop_test(c, test_ranks_hear_of_one_without_memory, 0, 12);
    tcase_add_test(c, test_thousands_of_ranks_hear_of_one);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
