/* Checks in double that inference equals the training forward without dropout and DropPath, for few
 * images and many, in fused chains and layer by layer, whatever inference skips or fuses. */
#include "session/session.h"
#include "suite.h"
#include "worst.h"

#include "base/numbers/random.h"

#include <math.h>
#include <string.h>

#define PLAIN ",\"num_classes\":5,\"dropout\":0,\"drop_path\":0"

typedef struct subject {
    const char *json;
    size_t fewer; /* by how many layers the inference graph is shorter: the last block, mean and
                     classifier are one layer, and so are norm and patch merging */
    size_t most;  /* images of the largest batch: so many that small feature maps go through a fused
                     chain with a padded patch merging */
} subject;

static const subject SUBJECTS[] = {
    {"{\"input_height\":12,\"input_width\":20,\"dim\":12,\"blocks\":[1,2]" PLAIN "}", 3, 200},
    {"{\"input_height\":20,\"input_width\":20,\"dim\":48,\"blocks\":[1,2,2]" PLAIN "}", 4, 130},
    {"{\"input_height\":16,\"input_width\":12,\"dim\":48,\"blocks\":[2,1],\"num_div\":6,"
     "\"shift\":\"keras\",\"groups\":\"sections\"" PLAIN "}",
     3, 100},
    /* Feature maps with one odd side before patch merging, as in the first two with both; of one
     * line, and of one pixel. */
    {"{\"input_height\":16,\"input_width\":20,\"dim\":24,\"blocks\":[1,1]" PLAIN "}", 3, 200},
    {"{\"input_height\":20,\"input_width\":8,\"dim\":12,\"blocks\":[1,1]" PLAIN "}", 3, 200},
    {"{\"input_height\":20,\"input_width\":12,\"dim\":12,\"blocks\":[1,1]" PLAIN "}", 3, 200},
    {"{\"input_height\":8,\"input_width\":4,\"dim\":12,\"blocks\":[1,1]" PLAIN "}", 3, 200},
    {"{\"input_height\":4,\"input_width\":12,\"dim\":12,\"blocks\":[1,1,1]" PLAIN "}", 4, 200},
    {"{\"input_height\":4,\"input_width\":4,\"dim\":12,\"blocks\":[1,1]" PLAIN "}", 3, 200},
    /* A stage that takes four times as many images at once as the one before it. */
    {"{\"input_height\":24,\"input_width\":24,\"dim\":12,\"blocks\":[1,1,1]" PLAIN "}", 4, 130},
    /* A stage without blocks; group norms before patch merging. */
    {"{\"input_height\":12,\"input_width\":12,\"dim\":12,\"blocks\":[1,0,1]" PLAIN "}", 4, 80},
    {"{\"input_height\":12,\"input_width\":12,\"dim\":12,\"blocks\":[1,1],\"norm\":\"group\"" PLAIN
     "}",
     2, 80},
    /* One token, and 400, which are more than a token block. */
    {"{\"input_height\":4,\"input_width\":4,\"dim\":12,\"blocks\":[1]" PLAIN "}", 2, 200},
    {"{\"input_height\":80,\"input_width\":80,\"dim\":12,\"blocks\":[1]" PLAIN "}", 2, 17},
    {"{\"input_height\":20,\"input_width\":20,\"dim\":12,\"blocks\":[1],\"norm\":\"group\"" PLAIN
     "}",
     2, 40},
    {"{\"input_height\":12,\"input_width\":8,\"dim\":48,\"blocks\":[2],\"norm\":\"group\"" PLAIN
     "}",
     2, 60},
    {"{\"input_height\":20,\"input_width\":20,\"dim\":12,\"blocks\":[1],\"classifier\":false,"
     "\"num_classes\":12,\"dropout\":0,\"drop_path\":0}",
     0, 40},
    {"{\"input_height\":20,\"input_width\":20,\"dim\":12,\"blocks\":[1],\"final_norm\":true" PLAIN
     "}",
     0, 40},
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":12,"
     "\"depth\":2,\"heads\":2,\"head_dim\":6,\"mlp_dim\":16,\"head_units\":[9],\"pool\":\"mean\","
     "\"attention_dropout\":0,\"head_dropout\":0" PLAIN "}",
     0, 40},
    {"{\"architecture\":\"mixer\",\"input_height\":15,\"input_width\":20,\"patch_size\":5,"
     "\"dim\":13,\"depth\":2,\"token_mlp_dim\":7,\"mlp_dim\":16" PLAIN "}",
     0, 40},
    /* Patches of odd size with shifted copies. */
    {"{\"architecture\":\"vit\",\"input_height\":15,\"input_width\":20,\"patch_size\":5,\"dim\":12,"
     "\"depth\":2,\"heads\":2,\"head_dim\":6,\"mlp_dim\":16,\"head_units\":[9],\"pool\":\"mean\","
     "\"tokenizer\":\"spt\",\"attention_dropout\":0,\"head_dropout\":0" PLAIN "}",
     0, 40},
};
enum { SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS };

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    svit_session *session;
    double *pixels, *trained, *inferred;
} fixture;

#define OK(call)                                                                                   \
    do {                                                                                           \
        svit_error error = {.struct_size = sizeof error}, *err = &error;                           \
        ck_assert_msg((call) == SVIT_OK, "%s", error.message);                                     \
        (void)err;                                                                                 \
    } while (0)

/* Returns `count` random numbers from -1 to 1; the caller frees them. */
static double *random_values(size_t count)
{
    sv_random random;
    sv_random_start(&random, 7, 99, 0, 0);
    double *values = malloc(count * sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < count; i++)
        values[i] = 2 * sv_random_unit(&random) - 1;
    return values;
}

/* Changes all weights. With the initial biases, which are 0, a forgotten bias would not be seen. */
static void change_weights(svit_model *model)
{
    size_t count = model->parameters.elements;
    double *values = random_values(count);
    for (size_t i = 0; i < count; i++)
        model->weights[i] += 0.1 * values[i];
    free(values);
    sv_model_touch(model);
}

static fixture open_fixture(const subject *of, size_t most, int32_t mode)
{
    fixture b = {0};
    svit_context_config context;
    svit_model_config config;
    svit_session_config session;
    OK(svit_context_config_init(&context, sizeof context));
    context.threads = 2;
    OK(svit_context_create(&b.context, &context, err));
    OK(svit_model_config_from_json(&config, sizeof config, of->json, err));
    OK(svit_model_create(&b.model, b.context, &config, 3, err));
    OK(svit_session_config_init(&session, sizeof session));
    session.max_batch = (uint32_t)most;
    session.mode = mode;
    OK(svit_session_create(&b.session, b.model, &session, err));
    b.pixels = random_values(most * sv_shape_elements(b.session->input));
    b.trained = random_values(most * b.session->classes);
    b.inferred = random_values(most * b.session->classes);
    return b;
}

static void close_fixture(fixture *b)
{
    free(b->pixels);
    free(b->trained);
    free(b->inferred);
    svit_session_free(b->session);
    svit_model_free(b->model);
    svit_context_free(b->context);
}

static void forward(fixture *b, int32_t mode, size_t n, double *logits)
{
    OK(svit_session_set_mode(b->session, mode, err));
    sv_session_forward(b->session, b->pixels, n, logits);
}

/* Fused layers sum in another order, so the results may differ by rounding. */
START_TEST(test_inference_equals_the_forward_without_dropout)
{
    fixture b = open_fixture(&SUBJECTS[_i], SUBJECTS[_i].most, SVIT_MODE_TRAIN);
    const size_t batches[] = {1, 3, SUBJECTS[_i].most};
    for (size_t k = 0; k < sizeof batches / sizeof *batches; k++) {
        size_t n = batches[k];
        change_weights(b.model); /* the training graph and the inference graph each pack them, in
                                    either order */
        if (k % 2)
            forward(&b, SVIT_MODE_INFER, n, b.inferred);
        forward(&b, SVIT_MODE_TRAIN, n, b.trained);
        if (k % 2 == 0)
            forward(&b, SVIT_MODE_INFER, n, b.inferred);
        double worst = 0, largest = 0;
        for (size_t i = 0; i < n * b.session->classes; i++) {
            worst = worst_of(worst, fabs(b.trained[i] - b.inferred[i]));
            largest = worst_of(largest, fabs(b.trained[i]));
        }
        ck_assert_double_gt(largest, 1e-3);
        ck_assert_msg(worst <= 1e-14 * fmax(1, largest), "%zu images: %.3g of %.3g", n, worst,
                      largest);
    }
    close_fixture(&b);
}
END_TEST

/* A session for one image computes what larger sessions skip in small feature maps. */
START_TEST(test_an_image_alone_equals_one_of_many)
{
    const size_t many = SUBJECTS[_i].most;
    fixture b = open_fixture(&SUBJECTS[_i], many, SVIT_MODE_TRAIN);
    fixture one = open_fixture(&SUBJECTS[_i], 1, SVIT_MODE_INFER);
    const size_t classes = b.session->classes, elements = sv_shape_elements(b.session->input);
    change_weights(b.model);
    change_weights(one.model);
    for (int32_t mode = SVIT_MODE_INFER; mode <= SVIT_MODE_TRAIN; mode++) {
        forward(&b, mode, many, b.inferred);
        for (size_t i = 0; i < many; i += many - 1) {
            memcpy(one.pixels, b.pixels + i * elements, elements * sizeof *one.pixels);
            forward(&one, SVIT_MODE_INFER, 1, one.inferred);
            for (size_t j = 0; j < classes; j++)
                ck_assert_double_eq_tol(b.inferred[i * classes + j], one.inferred[j],
                                        1e-14 * fmax(1, fabs(one.inferred[j])));
        }
    }
    close_fixture(&b);
    close_fixture(&one);
}
END_TEST

START_TEST(test_inference_fuses_layers)
{
    fixture b = open_fixture(&SUBJECTS[_i], SUBJECTS[_i].most, SVIT_MODE_TRAIN);
    const sv_layer_list *list = &b.session->layers;
    size_t fewer = SUBJECTS[_i].fewer;
    for (size_t i = 0; i < list->training_count; i++)
        fewer += (size_t)list->layers[i]->ops->training_only;
    ck_assert_uint_eq(list->inference_count + fewer, list->training_count);
    ck_assert_uint_eq(sv_shape_elements(list->inference[list->inference_count - 1]->out),
                      b.session->classes);
    close_fixture(&b);
}
END_TEST

static Suite *inference_suite(void)
{
    Suite *suite = suite_create("inference");
    TCase *all = tcase_create("models");
    tcase_add_loop_test(all, test_inference_equals_the_forward_without_dropout, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_an_image_alone_equals_one_of_many, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_inference_fuses_layers, 0, SUBJECT_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(inference_suite)
