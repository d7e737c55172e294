/* Checks that ranks which would spoil each other's sums, or wait for each other without end, all
 * fail with one message: they began with other models, or call other functions. */
#include "thread_reducer.h"
#include "trainer_support.h"

enum { RANKS = 3, LEAVES = 4 };

/* One rank: a thread with a trainer of its own. Rank 1 is the one that differs. */
typedef struct member {
    int item; /* of CASES */
    team *all;
    uint32_t rank;
    plan p;
    svit_model_config config;
    svit_dataset *validation;
    svit_trainer *trainer;
    unsigned asked; /* calls of the stop function */
    svit_status status;
    svit_error error;
} member;

/* What rank 1 calls the version of its library. */
static __thread const char *version;
const char *__real_svit_version_string(void);
const char *__wrap_svit_version_string(void)
{
    return version ? version : __real_svit_version_string();
}

static void other_version(member *self)
{
    (void)self;
    version = "99.0.0";
}

static void other_dropout(member *self)
{
    self->config.dropout = 0.25;
}

/* What a preset takes of the training images. */
static void other_mean(member *self)
{
    self->p.pipeline.mean[1] += 0.25;
}

static void other_variance(member *self)
{
    self->p.pipeline.variance[2] *= 2;
}

static void other_seed(member *self)
{
    self->p.trainer.seed++;
    other_mean(self);
}

static void illegal_settings(member *self)
{
    self->p.trainer.label_smoothing = 7;
}

static void no_validation(member *self)
{
    self->validation = NULL;
}

static void all_keep_best(member *self)
{
    self->p.trainer.keep = SVIT_KEEP_BEST;
}

static void all_average(member *self)
{
    self->p.optimizer.ema = SVIT_EMA_SWA;
}

static void no_folder(member *self)
{
    self->p.trainer.folder = NULL;
}

static void freeze(svit_model *model)
{
    WORKS(svit_model_set_trainable(model, "*.bias", 0, err));
}

static svit_status no_loss(svit_loss_call *call, void *user, svit_error *error)
{
    (void)user;
    (void)error;
    call->loss = 0;
    memset(call->dlogits, 0, call->n * call->classes * sizeof *call->dlogits);
    return SVIT_OK;
}

static svit_status set_loss(svit_trainer *trainer, svit_error *error)
{
    return svit_trainer_set_loss(trainer, no_loss, NULL, error);
}

static svit_status set_no_loss(svit_trainer *trainer, svit_error *error)
{
    return svit_trainer_set_loss(trainer, NULL, NULL, error);
}

static int32_t checkpoint_alone(const svit_trainer_event *event, void *user)
{
    const member *self = user;
    if (event->kind == SVIT_EVENT_STEP && event->step == 2)
        svit_trainer_checkpoint(self->trainer, NULL);
    return 0;
}

static int32_t other_rate(const svit_trainer_event *event, void *user)
{
    const member *self = user;
    (void)event;
    WORKS(svit_optimizer_set_f64(svit_trainer_optimizer(self->trainer), "learning_rate", 0.5, err));
    return 0;
}

static int32_t stop(const svit_trainer_event *event, void *user)
{
    (void)user;
    return event->step == 2 ? 5 : 0;
}

static int32_t stop_third_time(void *user)
{
    unsigned *asked = user;
    return ++*asked == 3 ? 9 : 0;
}

/* What rank 1 does differently, or `of_all` all ranks do; NULL: nothing. */
static const struct {
    void (*change)(member *self), (*of_all)(member *self);
    void (*change_model)(svit_model *model);
    bool has_other_images, has_fewer_images;
    svit_status (*call)(svit_trainer *, svit_error *),
        (*call_of_others)(svit_trainer *, svit_error *);
    svit_trainer_callback callback;
    svit_stop_function stop;
    svit_status status;
    const char *message;
} CASES[] = {
    {.status = SVIT_OK, .message = ""},
    {.change = other_version,
     .status = SVIT_E_ARGUMENT,
     .message =
         "rank 1 of 3 has other versions of the library than rank 0; all ranks need the same"},
    {.change = other_dropout,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other values in the model's configuration than rank 0; all ranks"},
    {.change_model = freeze,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other frozen parameters than rank 0; all ranks need the same"},
    {.change = other_seed,
     .has_other_images = true,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other settings than rank 0; all ranks need the same"},
    {.change = other_mean,
     .has_other_images = true,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other training data than rank 0; all ranks need the same"},
    {.change = other_dropout,
     .has_other_images = true,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other training data than rank 0; all ranks need the same"},
    {.of_all = all_average,
     .has_fewer_images = true,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other training data than rank 0; all ranks need the same"},
    {.change = other_mean,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other means or variances of pixels than rank 0; all ranks"},
    {.change = other_variance,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other means or variances of pixels than rank 0; all ranks"},
    {.change = illegal_settings,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3: label_smoothing is 7; it is in [0, 1)"},
    {.change = no_validation,
     .of_all = all_keep_best,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3: keep is 'best' and there is no validation data"},
    {.call = set_loss,
     .status = SVIT_E_STATE,
     .message = "rank 1 of 3 has called another function of its trainer than rank 0; all ranks"},
    {.call = set_loss,
     .call_of_others = set_no_loss,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other functions in svit_trainer_set_loss (one NULL, one not)"},
    {.callback = checkpoint_alone,
     .status = SVIT_E_STATE,
     .message = "rank 1 of 3 has called another function of its trainer than rank 0; all ranks"},
    {.callback = other_rate,
     .status = SVIT_E_ARGUMENT,
     .message = "rank 1 of 3 has other weights at the end of an epoch than rank 0; all ranks"},
    {.change = no_folder,
     .callback = stop,
     .status = SVIT_E_STOPPED,
     .message = "rank 1 of 3: the callback returned 5 after step 2 of epoch 1"},
    {.stop = stop_third_time,
     .status = SVIT_E_STOPPED,
     .message = "rank 1 of 3: the stop function of the context returned 9 after step 3 of epoch 1"},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

static svit_status train(member *self, svit_context *own, svit_model *model, svit_dataset *data)
{
    const bool differs = self->rank == 1;
    const svit_reducer reducer = team_reducer(self->all, self->rank);
    self->p.trainer.reducer = &reducer;
    svit_status status =
        svit_trainer_create(&self->trainer, own, model, data, self->validation, &self->p.trainer,
                            &self->p.optimizer, &self->p.pipeline, &self->error);
    if (status != SVIT_OK)
        return status;
    svit_status (*call)(svit_trainer *, svit_error *) =
        differs ? CASES[self->item].call : CASES[self->item].call_of_others;
    status = call ? call(self->trainer, &self->error) : SVIT_OK;
    return status == SVIT_OK
               ? svit_trainer_run(self->trainer, differs ? CASES[self->item].callback : NULL, self,
                                  &self->error)
               : status;
}

/* The images of a rank, in memory that it frees. */
static uint8_t *own_images(const member *self)
{
    uint8_t *own = malloc(sizeof images);
    ck_assert_ptr_nonnull(own);
    memcpy(own, images, sizeof images);
    own[0] ^= self->rank == 1 && CASES[self->item].has_other_images;
    return own;
}

static svit_context *own_context(member *self)
{
    svit_context_config config;
    svit_context *own = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.stop = self->rank == 1 ? CASES[self->item].stop : NULL;
    config.stop_user = &self->asked;
    WORKS(svit_context_create(&own, &config, err));
    return own;
}

static void *run_member(void *argument)
{
    member *self = argument;
    svit_context *own = own_context(self);
    svit_dataset *data = NULL, *validate = NULL;
    svit_model *model = NULL;
    uint8_t *pixels = own_images(self);
    const bool has_fewer = self->rank == 1 && CASES[self->item].has_fewer_images;
    WORKS(svit_dataset_memory(&data, own, pixels, labels, has_fewer ? SAMPLES - BATCH : SAMPLES,
                              SIDE, SIDE, 3, CLASSES, err));
    WORKS(svit_dataset_slice(&validate, data, 0, VALIDATION, err));
    self->validation = validate;
    self->config = fit_model_config(CLASSES);
    if (CASES[self->item].of_all)
        CASES[self->item].of_all(self);
    if (self->rank == 1 && CASES[self->item].change)
        CASES[self->item].change(self);
    WORKS(svit_model_create(&model, own, &self->config, 1, err));
    if (self->rank == 1 && CASES[self->item].change_model)
        CASES[self->item].change_model(model);
    self->status = train(self, own, model, data);
    team_fail(self->all); /* so that none waits for a rank that has failed alone */
    svit_trainer_free(self->trainer);
    svit_model_free(model);
    svit_dataset_free(validate);
    svit_dataset_free(data);
    svit_context_free(own);
    free(pixels);
    return NULL;
}

START_TEST(test_ranks_that_differ_fail_together)
{
    static team all;
    member members[RANKS];
    pthread_t threads[RANKS];
    team_start(&all, LEAVES, RANKS, 200);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        members[rank] = (member){.item = _i,
                                 .all = &all,
                                 .rank = rank,
                                 .p = plan_make(2),
                                 .error = {.struct_size = sizeof(svit_error)}};
        ck_assert_int_eq(pthread_create(&threads[rank], NULL, run_member, &members[rank]), 0);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        pthread_join(threads[rank], NULL);
    team_end(&all);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        ck_assert_msg(members[rank].status == CASES[_i].status &&
                          strncmp(members[rank].error.message, CASES[_i].message,
                                  strlen(CASES[_i].message)) == 0,
                      "case %d, rank %u: %d, '%s'", _i, rank, members[rank].status,
                      members[rank].error.message);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("rank_checks");
    TCase *c = tcase_create("rank_checks");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, test_ranks_that_differ_fail_together, 0, CASE_COUNT);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
