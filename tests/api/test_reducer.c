/* Checks data-parallel steps: gradients of leaves are added in one binary tree, with the same bits
 * for any number of ranks and threads, and misuse and failures of a reducer are reported. */
#include "build.h"
#include "fit.h"
#include "thread_reducer.h"

/* Between them: shifts, attention, a class token, mixing; weights that are derived; large and small
 * heads. */
static const char *const SUBJECTS[] = {
    "{\"input_height\":16,\"input_width\":16,\"dim\":24,\"blocks\":[1,1],\"num_div\":6}",
    "{\"architecture\":\"vit\",\"tokenizer\":\"spt\",\"input_height\":16,\"input_width\":16,"
    "\"patch_size\":4,\"dim\":16,\"depth\":2,\"heads\":2,\"head_dim\":16,\"mlp_dim\":32,"
    "\"head_units\":[700,300],\"num_classes\":10,\"attention\":\"lsa\",\"dropout\":0.1}",
    "{\"architecture\":\"vit\",\"input_height\":16,\"input_width\":16,\"patch_size\":4,\"dim\":24,"
    "\"depth\":2,\"heads\":2,\"head_dim\":12,\"mlp_dim\":32,\"head_units\":[],"
    "\"num_classes\":10,\"pool\":\"class_token\",\"distilled\":true,\"layer_scale\":true,"
    "\"mlp_last_gelu\":false}",
    ("{\"architecture\":\"mixer\",\"input_height\":16,\"input_width\":16,\"patch_size\":4,"
     "\"dim\":24,\"depth\":2,\"token_mlp_dim\":20,\"mlp_dim\":48,\"num_classes\":10}"),
};

enum {
    SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS,
    SIDE = 16,
    CLASSES = 10,
    LARGEST = 24,
    PIXELS = SIDE * SIDE * 3,
    STEPS = 3
};

/* Images of a step: those of the last step are fewer than most numbers of leaves. */
static const size_t BATCHES[STEPS] = {LARGEST, 17, 5};

static float images[LARGEST * PIXELS];
static float targets[LARGEST * CLASSES];

static void setup(void)
{
    uint32_t state = 2025;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        state = state * 1664525u + 1013904223u;
        images[i] = (float)(state >> 8) / 16777216.0f;
    }
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        state = state * 1664525u + 1013904223u;
        targets[i] = (float)(state >> 8) / 16777216.0f;
    }
}

/* What a rank works with. */
typedef struct rank {
    svit_context *context;
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
} rank;

typedef struct setting {
    const char *json;
    uint32_t threads;
    int32_t compute, memory;
    const char *frozen; /* pattern; NULL: nothing */
} setting;

static rank rank_open(const setting *of)
{
    rank out = {.context = fit_context(of->threads)};
    svit_model_config config;
    svit_session_config session_config;
    svit_optimizer_config optimizer_config;
    WORKS(svit_model_config_from_json(&config, sizeof config, of->json, err));
    WORKS(svit_model_create(&out.model, out.context, &config, 4, err));
    if (of->frozen)
        WORKS(svit_model_set_trainable(out.model, of->frozen, 0, err));
    WORKS(svit_session_config_init(&session_config, sizeof session_config));
    session_config.max_batch = LARGEST;
    session_config.mode = SVIT_MODE_TRAIN;
    session_config.compute = of->compute;
    session_config.memory = of->memory;
    session_config.seed = 3;
    WORKS(svit_session_create(&out.session, out.model, &session_config, err));
    WORKS(svit_optimizer_config_init(&optimizer_config, sizeof optimizer_config));
    optimizer_config.clip_norm = 1;
    WORKS(svit_optimizer_create(&out.optimizer, out.model, &optimizer_config, err));
    return out;
}

static void rank_close(rank *of)
{
    svit_optimizer_free(of->optimizer);
    svit_session_free(of->session);
    svit_model_free(of->model);
    svit_context_free(of->context);
}

/* Forward and backward of one leaf of a batch of n images; the gradient of the mean of sum (y -
 * t)^2 / 2. */
static svit_status run_leaf(svit_session *session, uint32_t leaves, uint32_t leaf, size_t n,
                            uint64_t step, svit_error *error)
{
    float logits[LARGEST * CLASSES];
    const size_t first = svit_partition_begin(n, leaves, leaf);
    const size_t count = svit_partition_begin(n, leaves, leaf + 1) - first;
    if (count > 0) {
        WORKS(svit_session_set_counter(session, step * leaves + leaf, err));
        WORKS(svit_forward(session, images + first * PIXELS, count, logits, err));
        for (size_t i = 0; i < count * CLASSES; i++)
            logits[i] = (logits[i] - targets[first * CLASSES + i]) / (float)n;
    }
    return svit_backward(session, logits, count, error);
}

/* The weights of a model, one after another. */
static float *weights_of(const svit_model *model)
{
    float *out = calloc(svit_model_parameter_elements(model), sizeof *out), *next = out;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        int64_t shape[8];
        size_t axes, elements = 1;
        WORKS(svit_model_parameter_shape(model, name, shape, &axes, err));
        for (size_t k = 0; k < axes; k++)
            elements *= (size_t)shape[k];
        WORKS(svit_model_get_parameter(model, name, next, elements, err));
        next += elements;
    }
    return out;
}

/* What a thread does: the steps of one rank. */
typedef struct job {
    const setting *of;
    team *all;
    uint32_t rank;
    size_t failing_step; /* at which the rank leaves; STEPS: none */
    svit_status status;
    float *weights;
    size_t elements;
} job;

static void *run_rank(void *argument)
{
    job *mine = argument;
    rank own = rank_open(mine->of);
    const svit_reducer reducer = team_reducer(mine->all, mine->rank);
    const uint32_t leaves = reducer.leaves;
    const uint64_t first = svit_partition_begin(leaves, reducer.ranks, reducer.rank);
    const uint64_t end = svit_partition_begin(leaves, reducer.ranks, reducer.rank + 1);
    WORKS(svit_session_set_reducer(own.session, &reducer, err));
    for (size_t step = 0; step < STEPS && mine->status == SVIT_OK; step++) {
        if (step == mine->failing_step) {
            team_fail(mine->all);
            break;
        }
        for (uint64_t leaf = first; leaf < end; leaf++)
            WORKS(run_leaf(own.session, leaves, (uint32_t)leaf, BATCHES[step], step, err));
        mine->status = svit_step(own.optimizer, own.session, NULL);
    }
    mine->weights = weights_of(own.model);
    mine->elements = svit_model_parameter_elements(own.model);
    rank_close(&own);
    return NULL;
}

/* Runs all ranks, each on a thread, and returns the weights of the first, those of all. */
static float *run_team(const setting *of, uint32_t leaves, uint32_t ranks, unsigned delay_us,
                       size_t *elements, uint64_t *buckets)
{
    static team all;
    job jobs[TEAM_RANKS];
    pthread_t threads[TEAM_RANKS];
    team_start(&all, leaves, ranks, delay_us);
    for (uint32_t i = 0; i < ranks; i++) {
        jobs[i] = (job){.of = of, .all = &all, .rank = i, .failing_step = STEPS};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < ranks; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < ranks; i++) {
        ck_assert_int_eq(jobs[i].status, SVIT_OK);
        ck_assert_msg(memcmp(jobs[i].weights, jobs[0].weights, jobs[0].elements * sizeof(float)) ==
                          0,
                      "rank %u of %u has other weights", i, ranks);
        if (i > 0)
            free(jobs[i].weights);
    }
    *elements = jobs[0].elements;
    *buckets = all.buckets;
    team_end(&all);
    return jobs[0].weights;
}

START_TEST(test_the_bits_are_those_of_one_rank)
{
    static const uint32_t LEAVES[] = {1, 3, 7, 8};
    setting one = {.json = SUBJECTS[_i], .threads = 1};
    size_t cases = 0;
    for (size_t l = 0; l < sizeof LEAVES / sizeof *LEAVES; l++) {
        size_t elements = 0;
        uint64_t buckets = 0;
        float *wanted = run_team(&one, LEAVES[l], 1, 0, &elements, &buckets);
        ck_assert_uint_eq(buckets, 0);
        for (uint32_t ranks = 1; ranks <= LEAVES[l]; ranks++) {
            setting other = {
                .json = one.json, .threads = 1 + ranks % 2, .memory = (int32_t)(ranks % 3)};
            float *found =
                run_team(&other, LEAVES[l], ranks, ranks % 2 ? 0 : 2000, &elements, &buckets);
            ck_assert_msg(memcmp(found, wanted, elements * sizeof *found) == 0,
                          "%u ranks of %u leaves give other bits than one", ranks, LEAVES[l]);
            free(found);
            cases++;
        }
        free(wanted);
    }
    ck_assert_uint_eq(cases, 19);
}
END_TEST

/* A head of 700 x 300 is more than one bucket: the first begins before the rest of the backward. */
START_TEST(test_large_gradients_go_in_several_buckets)
{
    setting of = {.json = "{\"architecture\":\"vit\",\"input_height\":16,\"input_width\":16,"
                          "\"patch_size\":4,\"dim\":32,\"depth\":1,\"heads\":2,\"head_dim\":16,"
                          "\"mlp_dim\":64,\"head_units\":[600,600],\"num_classes\":10}",
                  .threads = 1};
    size_t elements = 0;
    uint64_t buckets = 0;
    free(run_team(&of, 4, 2, 500, &elements, &buckets));
    ck_assert_uint_ge(buckets, 2 * STEPS);
    ck_assert_uint_le(buckets, STEPS * (elements / (1 << 18) + 2));
}
END_TEST

START_TEST(test_frozen_parameters_keep_their_bits)
{
    setting of = {.json = SUBJECTS[1], .threads = 1, .frozen = "patch_embed*"};
    size_t elements = 0;
    uint64_t buckets = 0;
    float *wanted = run_team(&of, 8, 1, 0, &elements, &buckets);
    for (uint32_t ranks = 2; ranks < 6; ranks++) {
        float *found = run_team(&of, 8, ranks, 0, &elements, &buckets);
        ck_assert_mem_eq(found, wanted, elements * sizeof *found);
        free(found);
    }
    free(wanted);
}
END_TEST

START_TEST(test_bf16_has_the_same_bits)
{
    setting of = {.json = SUBJECTS[_i], .threads = 1, .compute = SVIT_COMPUTE_BF16};
    size_t elements = 0;
    uint64_t buckets = 0;
    float *wanted = run_team(&of, 8, 1, 0, &elements, &buckets);
    for (uint32_t ranks = 2; ranks <= 8; ranks += 3) {
        float *found = run_team(&of, 8, ranks, 0, &elements, &buckets);
        ck_assert_mem_eq(found, wanted, elements * sizeof *found);
        free(found);
    }
    free(wanted);
}
END_TEST

/* The sum of the leaves first..first + count - 1 of the tree, with the gradients of each. */
static float *tree_sum(float *const *leaves, size_t total, size_t first, size_t width,
                       size_t elements)
{
    if (width == 1) {
        float *copy = malloc(elements * sizeof *copy);
        return memcpy(copy, leaves[first], elements * sizeof *copy);
    }
    float *left = tree_sum(leaves, total, first, width / 2, elements);
    if (first + width / 2 < total) {
        float *right = tree_sum(leaves, total, first + width / 2, width / 2, elements);
        for (size_t i = 0; i < elements; i++)
            left[i] += right[i];
        free(right);
    }
    return left;
}

/* The gradients of one rank are the sum that the header describes. */
START_TEST(test_the_sum_is_the_binary_tree)
{
    const setting of = {.json = SUBJECTS[_i], .threads = 2};
    for (uint32_t leaves = 1; leaves <= 13; leaves++) {
        rank own = rank_open(&of);
        const svit_reducer reducer = {.struct_size = sizeof reducer, .leaves = leaves, .ranks = 1};
        float *each[16];
        int64_t shape[8];
        size_t axes, elements = 1;
        const char *name =
            svit_model_parameter_name(own.model, leaves % svit_model_parameter_count(own.model));
        WORKS(svit_model_parameter_shape(own.model, name, shape, &axes, err));
        for (size_t k = 0; k < axes; k++)
            elements *= (size_t)shape[k];
        for (uint32_t leaf = 0; leaf < leaves; leaf++) {
            each[leaf] = calloc(elements, sizeof **each);
            if (svit_partition_begin(LARGEST, leaves, leaf) ==
                svit_partition_begin(LARGEST, leaves, leaf + 1))
                continue;
            WORKS(svit_session_zero_gradients(own.session, err));
            WORKS(run_leaf(own.session, leaves, leaf, LARGEST, 0, err));
            WORKS(svit_session_get_gradient(own.session, name, each[leaf], elements, err));
        }
        WORKS(svit_session_zero_gradients(own.session, err));
        WORKS(svit_session_set_reducer(own.session, &reducer, err));
        for (uint32_t leaf = 0; leaf < leaves; leaf++)
            WORKS(run_leaf(own.session, leaves, leaf, LARGEST, 0, err));
        float *found = calloc(elements, sizeof *found),
              *wanted = tree_sum(each, leaves, 0, 16, elements);
        WORKS(svit_session_get_gradient(own.session, name, found, elements, err));
        ck_assert_msg(memcmp(found, wanted, elements * sizeof *found) == 0, "%u leaves of %s",
                      leaves, name);
        for (uint32_t leaf = 0; leaf < leaves; leaf++)
            free(each[leaf]);
        free(found);
        free(wanted);
        rank_close(&own);
    }
}
END_TEST

/* The plan names every sum once, from the right to the left, and ends with one sum at leaf 0. */
START_TEST(test_the_plan_leaves_one_sum)
{
    for (uint32_t leaves = 1; leaves <= 70; leaves++)
        for (uint32_t ranks = 1; ranks <= leaves; ranks++) {
            svit_reduction plan[70];
            size_t count = 0, asked = 0;
            WORKS(svit_reduction_plan(leaves, ranks, plan, 70, &count, err));
            WORKS(svit_reduction_plan(leaves, ranks, NULL, 0, &asked, err));
            ck_assert_uint_eq(asked, count);
            ck_assert(count >= ranks - 1 && count < leaves);
            char gone[70] = {0};
            for (size_t i = 0; i < count; i++) {
                ck_assert(plan[i].to < plan[i].from && plan[i].from < leaves);
                ck_assert(!gone[plan[i].to] && !gone[plan[i].from]);
                gone[plan[i].from] = 1;
                ck_assert(svit_partition_begin(leaves, ranks, plan[i].to_rank) <= plan[i].to);
                ck_assert(svit_partition_begin(leaves, ranks, plan[i].to_rank + 1) > plan[i].to);
                ck_assert(svit_partition_begin(leaves, ranks, plan[i].from_rank) <= plan[i].from);
                ck_assert(svit_partition_begin(leaves, ranks, plan[i].from_rank + 1) >
                          plan[i].from);
            }
            ck_assert(!gone[0]);
        }
    size_t count = 0;
    svit_reduction plan[2];
    FAILS(svit_reduction_plan(0, 1, NULL, 0, &count, err), SVIT_E_ARGUMENT, "leaves is 0");
    FAILS(svit_reduction_plan(65537, 1, NULL, 0, &count, err), SVIT_E_ARGUMENT, "leaves is 65537");
    FAILS(svit_reduction_plan(4, 0, NULL, 0, &count, err), SVIT_E_ARGUMENT, "ranks is 0");
    FAILS(svit_reduction_plan(4, 5, NULL, 0, &count, err), SVIT_E_ARGUMENT, "ranks is 5");
    FAILS(svit_reduction_plan(4, 4, plan, 2, &count, err), SVIT_E_ARGUMENT,
          "capacity is 2; there are 3");
    FAILS(svit_reduction_plan(4, 4, NULL, 2, &count, err), SVIT_E_ARGUMENT, "plan");
    ck_assert_uint_eq(count, 3);
    FAILS(svit_reduction_plan(4, 4, plan, 2, NULL, err), SVIT_E_ARGUMENT, "capacity is 2");
    WORKS(svit_reduction_plan(4, 2, plan, 2, NULL, err));
    ck_assert_uint_eq(plan[0].from, 2);
    ck_assert_uint_eq(svit_partition_begin(5, 0, 1), 0);
    ck_assert_uint_eq(svit_partition_begin(UINT64_MAX, 3, 3), UINT64_MAX);
}
END_TEST

START_TEST(test_misuse_is_refused)
{
    const setting of = {.json = SUBJECTS[0], .threads = 1};
    rank own = rank_open(&of);
    svit_reducer reducer = {.struct_size = sizeof reducer, .leaves = 2, .ranks = 1};
    const uint64_t alone = svit_session_memory(own.session);
    WORKS(svit_session_set_reducer(own.session, &reducer, err));
    ck_assert_uint_ge(svit_session_memory(own.session),
                      alone + svit_model_parameter_elements(own.model) * sizeof(float));
    WORKS(run_leaf(own.session, 2, 0, 8, 0, err));
    FAILS(svit_step(own.optimizer, own.session, err), SVIT_E_STATE, "1 of this rank's 2 leaves");
    WORKS(run_leaf(own.session, 2, 1, 8, 0, err));
    FAILS(run_leaf(own.session, 2, 1, 8, 0, err), SVIT_E_STATE, "svit_step comes next");
    WORKS(svit_step(own.optimizer, own.session, err));
    WORKS(run_leaf(own.session, 2, 0, 8, 1, err));
    WORKS(svit_session_zero_gradients(own.session, err));
    WORKS(run_leaf(own.session, 2, 0, 8, 1, err));
    WORKS(run_leaf(own.session, 2, 1, 8, 1, err));
    WORKS(svit_step(own.optimizer, own.session, err));
    /* Gradients of a leaf that is held are dropped with the reducer. */
    int64_t shape[8];
    size_t axes, elements = 1;
    const char *name = svit_model_parameter_name(own.model, 0);
    WORKS(svit_model_parameter_shape(own.model, name, shape, &axes, err));
    for (size_t k = 0; k < axes; k++)
        elements *= (size_t)shape[k];
    float *gradient = calloc(elements, sizeof *gradient);
    WORKS(run_leaf(own.session, 2, 0, 8, 2, err));
    WORKS(svit_session_set_reducer(own.session, NULL, err));
    WORKS(svit_session_get_gradient(own.session, name, gradient, elements, err));
    for (size_t i = 0; i < elements; i++)
        ck_assert_float_eq(gradient[i], 0);
    free(gradient);
    ck_assert_uint_eq(svit_session_memory(own.session), alone);
    FAILS(svit_backward(own.session, images, 0, err), SVIT_E_STATE, "without a forward");

    reducer.struct_size--;
    FAILS(svit_session_set_reducer(own.session, &reducer, err), SVIT_E_ARGUMENT, "struct_size");
    struct {
        svit_reducer known;
        uint64_t later;
    } larger = {.later = 1};
    ck_assert_int_eq(svit_reducer_init(&larger.known, sizeof larger.known), SVIT_OK);
    ck_assert_uint_eq(larger.known.leaves, 1);
    larger.known.struct_size = sizeof larger;
    FAILS(svit_session_set_reducer(own.session, &larger.known, err), SVIT_E_VERSION,
          "svit_reducer sets a field");
    larger.later = 0;
    WORKS(svit_session_set_reducer(own.session, &larger.known, err));
    reducer = (svit_reducer){.struct_size = sizeof reducer, .leaves = 0, .ranks = 1};
    FAILS(svit_session_set_reducer(own.session, &reducer, err), SVIT_E_ARGUMENT, "leaves is 0");
    reducer.leaves = 2;
    reducer.ranks = 3;
    FAILS(svit_session_set_reducer(own.session, &reducer, err), SVIT_E_ARGUMENT, "ranks is 3");
    reducer.ranks = 2;
    reducer.rank = 2;
    FAILS(svit_session_set_reducer(own.session, &reducer, err), SVIT_E_ARGUMENT, "rank is 2");
    reducer.rank = 1;
    FAILS(svit_session_set_reducer(own.session, &reducer, err), SVIT_E_ARGUMENT, "begin is NULL");
    reducer.begin = team_begin;
    FAILS(svit_session_set_reducer(own.session, &reducer, err), SVIT_E_ARGUMENT, "finish is NULL");
    FAILS(svit_session_set_reducer(NULL, &reducer, err), SVIT_E_ARGUMENT, "session");
    rank_close(&own);
}
END_TEST

/* A reducer whose `begin` returns a status, with a message or without one, and which counts the
 * calls of `finish`. */
typedef struct failing {
    svit_status status;
    const char *message;
    svit_status reported;
    const char *text;
    int finished;
} failing;

static svit_status failing_begin(void *user, const svit_bucket *bucket, svit_error *error)
{
    const failing *self = user;
    ck_assert_uint_eq(bucket->struct_size, sizeof *bucket);
    ck_assert_uint_eq(bucket->reserved, 0);
    snprintf(error->message, sizeof error->message, "%s", self->message);
    return self->status;
}

static svit_status idle_finish(void *user, svit_error *error)
{
    failing *self = user;
    ck_assert_ptr_nonnull(error);
    ck_assert_uint_eq(error->struct_size, sizeof *error);
    self->finished++;
    return SVIT_OK;
}

static const failing FAILING[] = {
    {SVIT_E_IO, "the cable is out", SVIT_E_IO, "the cable is out", 0},
    {SVIT_E_IO, "", SVIT_E_IO, "the reducer's begin returned -4 (SVIT_E_IO)", 0},
    {7, "", SVIT_E_STOPPED, "the reducer's begin returned 7", 0},
    {7, "enough", SVIT_E_STOPPED, "enough", 0}};

/* What a reducer reports is returned, the weights stay, and the session can be used afterwards. */
START_TEST(test_failures_of_a_reducer_are_returned)
{
    failing case_of = FAILING[_i];
    const setting of = {.json = SUBJECTS[0], .threads = 1};
    rank own = rank_open(&of);
    float *before = weights_of(own.model);
    const svit_reducer reducer = {.struct_size = sizeof reducer,
                                  .leaves = 2,
                                  .ranks = 2,
                                  .user = &case_of,
                                  .begin = failing_begin,
                                  .finish = idle_finish};
    WORKS(svit_session_set_reducer(own.session, &reducer, err));
    FAILS(run_leaf(own.session, 2, 0, 8, 0, err), case_of.reported, case_of.text);
    FAILS(svit_step(own.optimizer, own.session, err), case_of.reported, case_of.text);
    WORKS(svit_session_zero_gradients(own.session, err));
    ck_assert_int_eq(case_of.finished, 1);
    float *after = weights_of(own.model);
    ck_assert_mem_eq(before, after, svit_model_parameter_elements(own.model) * sizeof *after);
    free(before);
    free(after);
    rank_close(&own);
}
END_TEST

/* One rank leaves in the second step: the others' step fails, and nobody waits for ever. */
START_TEST(test_a_rank_that_leaves_ends_all)
{
    static team all;
    const setting of = {.json = SUBJECTS[0], .threads = 1};
    job jobs[4];
    pthread_t threads[4];
    team_start(&all, 8, 4, 1000);
    for (uint32_t i = 0; i < 4; i++) {
        jobs[i] = (job){.of = &of, .all = &all, .rank = i, .failing_step = i == 2 ? 1 : STEPS};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(jobs[i].status, i == 2 ? SVIT_OK : SVIT_E_STATE);
        free(jobs[i].weights);
    }
    team_end(&all);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("reducer");
    TCase *c = tcase_create("reducer");
    tcase_add_checked_fixture(c, setup, NULL);
    add_cases(c, test_the_bits_are_those_of_one_rank, SUBJECT_COUNT);
    tcase_add_test(c, test_large_gradients_go_in_several_buckets);
    tcase_add_test(c, test_frozen_parameters_keep_their_bits);
#ifndef SV_F32_ONLY
    add_cases(c, test_bf16_has_the_same_bits, SUBJECT_COUNT);
#endif
    add_cases(c, test_the_sum_is_the_binary_tree, SUBJECT_COUNT);
    tcase_add_test(c, test_the_plan_leaves_one_sum);
    tcase_add_test(c, test_misuse_is_refused);
    tcase_add_loop_test(c, test_failures_of_a_reducer_are_returned, 0,
                        sizeof FAILING / sizeof *FAILING);
    tcase_add_test(c, test_a_rank_that_leaves_ends_all);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
