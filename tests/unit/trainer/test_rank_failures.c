/* Checks that a rank whose step fails takes all with it before a weight or a checkpoint changes,
 * and that gradients which a reducer still adds are neither cleared nor freed. */
#include "thread_reducer.h"
#include "trainer_support.h"

#include <math.h>

enum { RANKS = 3, FAILING_STEP = 2 };

/* One rank: a thread with a trainer of its own. */
typedef struct member {
    const plan *p;
    team *all;
    uint32_t rank, failing;
    uint32_t calls; /* of its loss function, one a step */
    svit_status status;
    svit_error error;
    uint64_t steps; /* of its optimiser */
} member;

/* Squares of the logits; in one step of one rank a finite gradient whose backward overflows. */
static svit_status squares(svit_loss_call *call, void *user, svit_error *error)
{
    member *self = user;
    (void)error;
    const bool fails = ++self->calls == FAILING_STEP && self->rank == self->failing;
    call->loss = 0;
    for (size_t i = 0; i < call->n * call->classes; i++) {
        call->loss += call->logits[i] * call->logits[i];
        call->dlogits[i] = fails ? (i % 2 ? 3e38f : -3e38f) : 2 * call->logits[i];
    }
    return SVIT_OK;
}

static void *run_member(void *argument)
{
    member *self = argument;
    svit_context *own = fit_context(1);
    svit_dataset *data = NULL;
    svit_trainer *trainer = NULL;
    WORKS(svit_dataset_memory(&data, own, images, labels, SAMPLES, SIDE, SIDE, 3, CLASSES, err));
    svit_model *model = fit_model(own, CLASSES, 1);
    plan p = *self->p;
    const svit_reducer reducer = team_reducer(self->all, self->rank);
    p.trainer.reducer = &reducer;
    WORKS(svit_trainer_create(&trainer, own, model, data, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err));
    WORKS(svit_trainer_set_loss(trainer, squares, self, err));
    self->status = svit_trainer_run(trainer, NULL, NULL, &self->error);
    self->steps = svit_optimizer_steps(svit_trainer_optimizer(trainer));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_dataset_free(data);
    svit_context_free(own);
    return NULL;
}

/* With and without check_finite, with and without checkpoints in an epoch, and for each rank. */
START_TEST(test_no_rank_takes_a_step_that_one_cannot)
{
    static team all;
    member members[RANKS];
    pthread_t threads[RANKS];
    plan p = plan_make(1);
    p.trainer.check_finite = _i % 2;
    p.trainer.checkpoint_seconds = _i / 2 % 2 ? 1e-9 : 0;
    const uint32_t failing = (uint32_t)_i / 4;
    team_start(&all, RANKS, RANKS, 300);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        members[rank] = (member){&p, &all, rank, failing, .error.struct_size = sizeof(svit_error)};
        ck_assert_int_eq(pthread_create(&threads[rank], NULL, run_member, &members[rank]), 0);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        pthread_join(threads[rank], NULL);
    team_end(&all);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const member *found = &members[rank];
        ck_assert_msg(found->status == SVIT_E_NUMERIC, "rank %u: %d, %s", rank, found->status,
                      found->error.message);
        ck_assert_str_eq(found->error.message, members[0].error.message);
        ck_assert_ptr_nonnull(strstr(found->error.message, "epoch 1, step 2 of 3: "));
        ck_assert_uint_eq(found->steps, FAILING_STEP - 1);
    }
    char who[32];
    snprintf(who, sizeof who, "rank %u of %d: ", failing, RANKS);
    if (p.trainer.check_finite)
        ck_assert_msg(strncmp(members[0].error.message, who, strlen(who)) == 0, "%s",
                      members[0].error.message);
    if (p.trainer.checkpoint_seconds == 0)
        return;
    svit_checkpoint *checkpoint = NULL;
    uint64_t steps = 0;
    WORKS(svit_checkpoint_open(&checkpoint, context, fit_path(&folder, "checkpoint.safetensors"),
                               err));
    WORKS(svit_checkpoint_get_u64(checkpoint, "optimizer.steps", &steps, err));
    ck_assert_uint_eq(steps, FAILING_STEP - 1);
    svit_checkpoint_free(checkpoint);
}
END_TEST

/* What a reducer has begun to add. */
typedef struct pending {
    const float *sum;
    uint64_t elements;
    int finished, had_gradients;
} pending;

static svit_status begin(void *user, const svit_bucket *bucket, svit_error *error)
{
    pending *self = user;
    (void)error;
    self->sum = bucket->sum;
    self->elements = bucket->elements;
    return SVIT_OK;
}

static svit_status finish(void *user, svit_error *error)
{
    pending *self = user;
    (void)error;
    self->finished++;
    for (uint64_t i = 0; i < self->elements; i++)
        self->had_gradients |= self->sum[i] != 0;
    return SVIT_OK;
}

static void zero(svit_session **session)
{
    WORKS(svit_session_zero_gradients(*session, err));
}

static void take_away(svit_session **session)
{
    WORKS(svit_session_set_reducer(*session, NULL, err));
}

static void release(svit_session **session)
{
    svit_session_free(*session);
    *session = NULL;
}

START_TEST(test_a_reducer_is_waited_for)
{
    static void (*const WAYS[])(svit_session **) = {zero, take_away, release};
    float logits[CLASSES], image[SIDE * SIDE * 3];
    svit_session *session = NULL;
    svit_session_config config;
    svit_model *model = fit_model(context, CLASSES, 1);
    pending state = {0};
    const svit_reducer reducer = {sizeof reducer, 2, 0, 2, &state, begin, finish, NULL};
    for (size_t i = 0; i < SIDE * SIDE * 3; i++)
        image[i] = (float)images[i] / 255;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_TRAIN;
    config.max_batch = 1;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_session_set_reducer(session, &reducer, err));
    WORKS(svit_forward(session, image, 1, logits, err));
    WORKS(svit_backward(session, logits, 1, err));
    ck_assert_uint_gt(state.elements, 0);
    ck_assert_int_eq(state.finished, 0);
    WAYS[_i](&session);
    ck_assert_int_eq(state.finished, 1);
    ck_assert_int_eq(state.had_gradients, 1);
    svit_session_free(session);
    ck_assert_int_eq(state.finished, 1);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("rank_failures");
    TCase *c = tcase_create("rank_failures");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_no_rank_takes_a_step_that_one_cannot, 0, 4 * RANKS);
    tcase_add_loop_test(c, test_a_reducer_is_waited_for, 0, 3);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
