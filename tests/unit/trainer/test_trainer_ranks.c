/* Checks trainers of several ranks: the same bits for any number of them, with one place for files,
 * stops, failures and early ends; threads of this process are the ranks. */
#include "build.h"
#include "thread_reducer.h"
#include "trainer_support.h"

#include <math.h>
#include <unistd.h>

enum { LEAVES = 7, EPOCHS = 2 }; /* the last batch has fewer images than leaves */

/* What a run varies. */
typedef struct variant {
    const char *name, *json; /* settings over those of plan_make */
    size_t classes;          /* of the targets; 0: labels */
} variant;

static const variant VARIANTS[] = {
    {"plain", "{}", 0},
    {"average, clipping, best weights",
     "{\"ema\":\"plain\",\"ema_momentum\":0.9,\"clip_norm\":0.5,\"keep\":\"best\","
     "\"label_smoothing\":0.1,\"tta\":\"flip-shift\",\"prefetch\":0}",
     0},
    {"class weights", "{\"class_weights\":[0.3,1.7,2.1],\"memory\":\"blocks\"}", 0},
    {"mixed images, balanced",
     ("{\"augment\":[{\"name\":\"mixup\",\"alpha\":0.8},{\"name\":\"cutmix\",\"alpha\":1.0}],"
      "\"sampling\":\"balanced\"}"),
     0},
    {"several labels", "{\"loss\":\"binary\"}", CLASSES},
    {"numbers, until nothing improves",
     "{\"loss\":\"mse\",\"patience\":1,\"learning_rate\":0.00001,\"optimizer\":\"sgd\","
     "\"schedule\":\"constant\",\"epochs\":9}",
     CLASSES},
};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS };

static float targets[SAMPLES * CLASSES];

static plan plan_of(const variant *of)
{
    plan p = plan_make(EPOCHS);
    p.trainer.leaves = LEAVES;
    p.trainer.folder = NULL;
    WORKS(svit_training_from_json(&p.trainer, &p.optimizer, &p.pipeline, of->json, err));
    return p;
}

/* A context of one thread with a backend of its own. NULL: this build lacks the backend. */
static svit_context *gemm_context(const char *gemm)
{
    svit_context_config config;
    svit_context *made = NULL;
    svit_context_config_init(&config, sizeof config);
    config.threads = 1;
    config.gemm = gemm;
    svit_context_create(&made, &config, NULL);
    return made;
}

/* One rank of a run: a thread with a context, data, a model and a trainer of its own. */
typedef struct member {
    team *all; /* NULL: it trains alone */
    uint32_t rank, threads;
    const variant *of;
    plan p;
    svit_trainer_callback callback;
    void *user;
    svit_loss_function loss;
    size_t training_count; /* samples */
    uint64_t seed;         /* of the weights */
    const char *gemm;      /* NULL: the default backend */
    bool resumes;
    svit_status status; /* of the first call that fails */
    svit_error error;
    svit_model *model;
    svit_context *context;
    svit_trainer_event rows[16];
    size_t row_count;
    int32_t stop_value;
} member;

static void open_data(member *self, svit_dataset **train, svit_dataset **validate)
{
    const size_t n = self->training_count;
    if (self->of->classes)
        WORKS(svit_dataset_memory_targets(train, self->context, images, targets, n, SIDE, SIDE, 3,
                                          CLASSES, err));
    else
        WORKS(svit_dataset_memory(train, self->context, images, labels, n, SIDE, SIDE, 3, CLASSES,
                                  err));
    WORKS(svit_dataset_slice(validate, *train, 0, VALIDATION, err));
}

static svit_status train(member *self, svit_trainer **trainer, svit_dataset *data,
                         svit_dataset *validate)
{
    svit_reducer reducer;
    if (self->all) {
        reducer = team_reducer(self->all, self->rank);
        self->p.trainer.reducer = &reducer;
    }
    svit_error *error = &self->error;
    svit_status status =
        svit_trainer_create(trainer, self->context, self->model, data, validate, &self->p.trainer,
                            &self->p.optimizer, &self->p.pipeline, error);
    if (status == SVIT_OK && self->resumes)
        status = svit_trainer_resume(*trainer, error);
    if (status == SVIT_OK && self->loss)
        status = svit_trainer_set_loss(*trainer, self->loss, self, error);
    if (status == SVIT_OK)
        status = svit_trainer_run(*trainer, self->callback, self->user ? self->user : self, error);
    self->p.trainer.reducer = NULL;
    return status;
}

static void *run_member(void *argument)
{
    member *self = argument;
    svit_dataset *data = NULL, *validate = NULL;
    svit_trainer *trainer = NULL;
    self->context = self->gemm ? gemm_context(self->gemm) : fit_context(self->threads);
    self->error = (svit_error){.struct_size = sizeof self->error};
    open_data(self, &data, &validate);
    self->model = fit_model(self->context, CLASSES, self->seed);
    self->status = train(self, &trainer, data, validate);
    self->row_count = svit_trainer_history_count(trainer);
    for (size_t i = 0; i < self->row_count; i++)
        WORKS(svit_trainer_history(trainer, i, &self->rows[i], sizeof *self->rows, err));
    self->stop_value = svit_trainer_stop_value(trainer);
    svit_trainer_free(trainer);
    svit_dataset_free(validate);
    svit_dataset_free(data);
    return NULL;
}

static void member_close(member *self)
{
    svit_model_free(self->model);
    svit_context_free(self->context);
}

static member member_make(const variant *of)
{
    return (member){.of = of, .p = plan_of(of), .training_count = SAMPLES, .seed = 1, .threads = 1};
}

/* Runs `ranks` members that are copies of `like` but for their place. */
static void run_team(member *members, uint32_t ranks, unsigned delay_us, const member *like,
                     void (*change)(member *))
{
    static team all;
    pthread_t threads[TEAM_RANKS];
    team_start(&all, LEAVES, ranks, delay_us);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        members[rank] = *like;
        members[rank].all = &all;
        members[rank].rank = rank;
        members[rank].threads = 1 + rank % 2;
        if (change)
            change(&members[rank]);
        ck_assert_int_eq(pthread_create(&threads[rank], NULL, run_member, &members[rank]), 0);
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        pthread_join(threads[rank], NULL);
    team_end(&all);
}

static bool same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* The results of a rank are those of the run `alone`. */
static void check_same(const member *alone, const member *found, const char *name)
{
    ck_assert_msg(found->status == SVIT_OK, "%s: %s", name, found->error.message);
    ck_assert_msg(fit_same(alone->model, found->model), "%s: rank %u has other weights", name,
                  found->rank);
    ck_assert_uint_eq(alone->row_count, found->row_count);
    for (size_t i = 0; i < alone->row_count; i++) {
        const svit_trainer_event *a = &alone->rows[i], *b = &found->rows[i];
        ck_assert_msg(same_number(a->train_loss, b->train_loss) &&
                          same_number(a->train_top1, b->train_top1) &&
                          same_number(a->train_top5, b->train_top5) &&
                          same_number(a->val_loss, b->val_loss) &&
                          same_number(a->val_top1, b->val_top1) && a->best_epoch == b->best_epoch,
                      "%s: rank %u has another row %zu", name, found->rank, i);
    }
}

START_TEST(test_any_number_of_ranks_gives_the_same_bits)
{
    const variant *of = &VARIANTS[_i];
    member alone = member_make(of), members[LEAVES];
    run_member(&alone);
    ck_assert_msg(alone.status == SVIT_OK, "%s: %s", of->name, alone.error.message);
    ck_assert(alone.row_count == EPOCHS || of->classes);
    const member like = member_make(of);
    for (uint32_t ranks = 1; ranks <= LEAVES; ranks++) {
        run_team(members, ranks, ranks % 2 ? 300 : 0, &like, NULL);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            check_same(&alone, &members[rank], of->name);
            member_close(&members[rank]);
        }
    }
    member_close(&alone);
}
END_TEST

/* Stops rank 1 of a team, or a run alone, after event number `left`. */
typedef struct stopper {
    int left[LEAVES];
} stopper;

static int32_t stop_after(const svit_trainer_event *event, void *user)
{
    (void)event;
    int *left = user;
    return --*left == 0 ? 77 : 0;
}

static stopper stops;

static void stop_last_rank(member *self)
{
    self->callback = stop_after;
    self->user = &stops.left[self->rank];
    if (self->rank + 1 < self->all->ranks)
        stops.left[self->rank] = 0; /* goes on */
}

START_TEST(test_a_run_goes_on_with_another_number_of_ranks)
{
    enum { EVENTS = EPOCHS * (STEPS + 1) };
    static const uint32_t COUNTS[][2] = {{2, 3}, {3, 1}, {1, 4}, {7, 2}};
    const variant *of = &VARIANTS[1];
    member alone = member_make(of), members[LEAVES];
    run_member(&alone);
    for (int event = 1; event <= EVENTS; event++) {
        const uint32_t *count = COUNTS[event % 4];
        member like = member_make(of);
        fit_folder own = fit_folder_make();
        like.p.trainer.folder = own.path;
        for (uint32_t rank = 0; rank < LEAVES; rank++)
            stops.left[rank] = event;
        run_team(members, count[0], 0, &like, stop_last_rank);
        for (uint32_t rank = 0; rank < count[0]; rank++) {
            ck_assert_msg(members[rank].status == SVIT_E_STOPPED, "rank %u: %s", rank,
                          members[rank].error.message);
            ck_assert_int_eq(members[rank].stop_value, 77);
            member_close(&members[rank]);
        }
        like.resumes = true;
        like.p.trainer.existing = SVIT_EXISTING_RESUME;
        like.seed = 99;
        run_team(members, count[1], 0, &like, NULL);
        for (uint32_t rank = 0; rank < count[1]; rank++) {
            check_same(&alone, &members[rank], "resumed");
            member_close(&members[rank]);
        }
        fit_folder_remove(&own);
    }
    member_close(&alone);
}
END_TEST

/* Changes of the last rank, or of rank 0, which all ranks must report alike. */
static void other_data(member *self)
{
    if (self->rank == 2)
        self->training_count--;
}

static void other_weights(member *self)
{
    if (self->rank == 1)
        self->seed = 5;
}

static void other_settings(member *self)
{
    if (self->rank == 2)
        self->p.trainer.seed++;
}

static void legal_nowhere(member *self)
{
    if (self->rank == 1)
        self->p.pipeline.output_height++;
}

static svit_status failing_loss(svit_loss_call *call, void *user, svit_error *error)
{
    const member *self = user;
    static __thread int calls;
    if (self->rank == 2 && ++calls == 5)
        return svit_error_set(error, SVIT_E_NUMERIC, "a planted failure");
    call->loss = 0;
    for (size_t i = 0; i < call->n * call->classes; i++) {
        call->loss += call->logits[i] * call->logits[i];
        call->dlogits[i] = 2 * call->logits[i];
    }
    return SVIT_OK;
}

static void failing_step(member *self)
{
    self->loss = failing_loss;
}

/* Rank 0 alone writes, so that it alone finds that it cannot. */
static void no_place(member *self)
{
    self->p.trainer.folder = "/dev/null/run";
}

static fit_folder no_folder;

/* The folder vanishes after the first step; the checkpoint of the epoch's end fails. */
static int32_t remove_folder(const svit_trainer_event *event, void *user)
{
    const member *self = user;
    if (self->rank == 0 && event->kind == SVIT_EVENT_STEP && event->step == 1 && event->epoch == 1)
        fit_folder_remove(&no_folder);
    return 0;
}

static void vanishing_place(member *self)
{
    self->p.trainer.folder = no_folder.path;
    self->callback = remove_folder;
}

static void resume_of_nothing(member *self)
{
    self->p.trainer.folder = no_folder.path;
    self->resumes = true;
}

static void occupied_place(member *self)
{
    self->p.trainer.folder = no_folder.path;
    if (self->rank > 0)
        return;
    char path[512];
    snprintf(path, sizeof path, "%s/history.csv", no_folder.path);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

/* Muon's update is a matmul, so all ranks need the same; AdamW's is not. */
static void other_kernels(member *self)
{
    self->p.optimizer.kind = SVIT_OPTIMIZER_MUON;
    if (self->rank == 1)
        self->gemm = "cblas";
}

static void other_kernels_of_adamw(member *self)
{
    if (self->rank == 1)
        self->gemm = "cblas";
}

static bool has_cblas(void)
{
    svit_context *made = gemm_context("cblas");
    const bool has = made != NULL;
    svit_context_free(made);
    return has;
}

static const struct {
    void (*change)(member *);
    svit_status status;
    const char *message;
} FAILURES[] = {
    {other_data, SVIT_E_ARGUMENT, "rank 2 of 3 has other training data than rank 0"},
    {other_weights, SVIT_E_ARGUMENT, "rank 1 of 3 has other weights than rank 0"},
    {other_settings, SVIT_E_ARGUMENT, "rank 2 of 3 has other settings than rank 0"},
    {other_kernels, SVIT_E_ARGUMENT, "rank 1 of 3 has other kernels (the CPU's instruction set"},
    {legal_nowhere, SVIT_E_ARGUMENT, "rank 1 of 3: the pipeline's output is 9 x 8"},
    {failing_step, SVIT_E_NUMERIC, "rank 2 of 3: epoch 1, step 2 of 3: a planted failure"},
    {no_place, SVIT_E_IO, "rank 0 of 3: "},
    {vanishing_place, SVIT_E_IO, "rank 0 of 3: "},
    {resume_of_nothing, SVIT_E_IO, "rank 0 of 3: "},
    {occupied_place, SVIT_E_STATE, "rank 0 of 3: "},
};
enum { FAILURE_COUNT = sizeof FAILURES / sizeof *FAILURES };

START_TEST(test_what_one_rank_finds_wrong_all_return)
{
    NEEDS(FAILURES[_i].change != other_kernels || has_cblas(), "CBLAS");
    NEEDS(FAILURES[_i].change != vanishing_place || removes_folders_in_use(),
          "system that removes folders in use");
    member like = member_make(&VARIANTS[0]), members[3];
    no_folder = fit_folder_make();
    run_team(members, 3, 200, &like, FAILURES[_i].change);
    for (int rank = 0; rank < 3; rank++) {
        const member *found = &members[rank];
        ck_assert_msg(found->status == FAILURES[_i].status &&
                          strstr(found->error.message, FAILURES[_i].message),
                      "case %d, rank %d: %d, '%s'", _i, rank, found->status, found->error.message);
        ck_assert_str_eq(found->error.message, members[0].error.message);
        member_close(&members[rank]);
    }
    if (access(no_folder.path, F_OK) == 0)
        fit_folder_remove(&no_folder);
}
END_TEST

START_TEST(test_other_kernels_are_accepted_where_ranks_stay_alike)
{
    member like = member_make(&VARIANTS[0]), members[3];
    NEEDS(has_cblas(), "CBLAS");
    run_team(members, 3, 200, &like, other_kernels_of_adamw);
    for (int rank = 0; rank < 3; rank++) {
        ck_assert_msg(members[rank].status == SVIT_OK, "%s", members[rank].error.message);
        ck_assert(fit_same(members[0].model, members[rank].model));
    }
    for (int rank = 0; rank < 3; rank++)
        member_close(&members[rank]);
}
END_TEST

START_TEST(test_reducers_that_do_not_fit_are_refused)
{
    team all;
    team_start(&all, LEAVES, 2, 0);
    svit_reducer reducer = team_reducer(&all, 0);
    plan p = plan_of(&VARIANTS[0]);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
    p.trainer.reducer = &reducer;
#define CREATE                                                                                     \
    svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,        \
                        &p.pipeline, err)
    reducer.gather = NULL;
    FAILS(CREATE, SVIT_E_ARGUMENT, "gather of the reducer is NULL");
    reducer = team_reducer(&all, 0);
    reducer.rank = 2;
    FAILS(CREATE, SVIT_E_ARGUMENT, "rank is 2");
    reducer.rank = 0;
    reducer.ranks = 1;
    p.trainer.leaves = LEAVES - 1;
    FAILS(CREATE, SVIT_E_ARGUMENT, "leaves is 6 and the reducer has 7");
    p.trainer.leaves = 0;
    p.trainer.accumulate = 2;
    FAILS(CREATE, SVIT_E_ARGUMENT, "accumulate is 2 and leaves is 7");
    p.trainer.accumulate = 1;
    reducer.leaves = BATCH + 1;
    FAILS(CREATE, SVIT_E_ARGUMENT, "leaves is 9; it is at most batch, 8");
    reducer.leaves = BATCH;
    WORKS(CREATE);
    svit_trainer_free(trainer);
    svit_model_free(model);
    team_end(&all);
}
END_TEST

static void setup_targets(void)
{
    setup();
    for (size_t i = 0; i < SAMPLES * CLASSES; i++)
        targets[i] = (float)(labels[i / CLASSES] == (int32_t)(i % CLASSES));
}

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_ranks");
    TCase *c = tcase_create("ranks");
    tcase_add_checked_fixture(c, setup_targets, teardown);
    tcase_add_loop_test(c, test_any_number_of_ranks_gives_the_same_bits, 0, VARIANT_COUNT);
    tcase_add_test(c, test_a_run_goes_on_with_another_number_of_ranks);
    tcase_add_loop_test(c, test_what_one_rank_finds_wrong_all_return, 0, FAILURE_COUNT);
    tcase_add_test(c, test_other_kernels_are_accepted_where_ranks_stay_alike);
    tcase_add_test(c, test_reducers_that_do_not_fit_are_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
