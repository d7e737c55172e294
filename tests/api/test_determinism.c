/* Checks that results have the same bits on any number of threads, after five training steps with
 * dropout and DropPath, and that a batch gives the results that its images give one by one. */
#include "fit.h"
#include "gemms.h"

#include <shiftvit/shiftvit.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A model configuration and the size of its images in pixels. */
typedef struct subject {
    const char *json;
    size_t height, width;
} subject;

static const subject SUBJECTS[] = {
    {"{\"input_height\":20,\"input_width\":20,\"dim\":24,\"blocks\":[2,2],\"num_div\":6}", 20, 20},
    {"{\"input_height\":21,\"input_width\":20,\"dim\":24,\"blocks\":[2,1],\"num_div\":6,"
     "\"norm\":\"group\",\"patch_norm\":true,\"final_norm\":true,\"patch_padding\":\"valid\"}",
     21, 20},
    {"{\"input_height\":20,\"input_width\":20,\"dim\":112,\"blocks\":[1,1]}", 20, 20},
    {"{\"input_height\":17,\"input_width\":20,\"dim\":24,\"blocks\":[1,1],\"patch_size\":2,"
     "\"stem\":\"whitened\"}",
     17, 20},
    {"{\"input_height\":17,\"input_width\":20,\"dim\":24,\"blocks\":[2,1],\"mixer\":\"depthwise\","
     "\"stem\":\"conv\"}",
     17, 20},
    /* A mean over more tokens than one token block has. */
    {"{\"input_height\":17,\"input_width\":17,\"patch_size\":1,\"dim\":12,\"blocks\":[1]}", 17, 17},
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":24,"
     "\"depth\":2,\"heads\":2,\"head_dim\":12,\"mlp_dim\":32,\"head_units\":[32],"
     "\"num_classes\":10,\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"dropout\":0.1,"
     "\"attention_dropout\":0.1,\"head_dropout\":0.1,\"drop_path\":0.1}",
     20, 20},
    /* Heads as wide as a token, so that their weights are folded. One image has several blocks of
     * queries. */
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":2,\"dim\":16,"
     "\"depth\":2,\"heads\":2,\"head_dim\":16,\"mlp_dim\":32,\"head_units\":[32],"
     "\"num_classes\":10,\"attention\":\"lsa\",\"dropout\":0.1,"
     "\"attention_dropout\":0.1,\"head_dropout\":0.1,\"drop_path\":0.1}",
     20, 20},
    /* Rotary positions with learnt frequencies, and norms of queries, keys and heads' outputs. */
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":16,\"patch_size\":4,\"dim\":24,"
     "\"depth\":2,\"heads\":3,\"head_dim\":12,\"mlp_dim\":32,\"head_units\":[32],"
     "\"num_classes\":10,\"mlp_last_gelu\":false,\"layer_scale\":true,\"qk_norm\":true,"
     "\"attention_norm\":true,\"no_key_bias\":true,\"rope\":\"mixed\",\"rope_theta\":10,"
     "\"dropout\":0.1,\"attention_dropout\":0.1,\"drop_path\":0.1}",
     20, 16},
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":16,\"patch_size\":4,\"dim\":24,"
     "\"depth\":2,\"heads\":2,\"head_dim\":16,\"mlp_dim\":32,\"head_units\":[],"
     "\"num_classes\":10,\"pool\":\"class_token\",\"position_tokens\":\"none\","
     "\"rope\":\"centred\",\"rope_theta\":100,\"rope_pairs\":\"halves\",\"lora_rank\":2,"
     "\"lora_alpha\":2}",
     20, 16},
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":2,\"dim\":24,"
     "\"depth\":1,\"heads\":2,\"head_dim\":12,\"mlp_dim\":32,\"head_units\":[],\"num_classes\":10,"
     "\"pool\":\"attention\",\"pool_heads\":3,\"pool_mlp_dim\":40,\"mlp_norm\":true,\"mlp_last_"
     "gelu\":false}",
     20, 20},
    /* Differential attention, and parallel blocks. */
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":16,\"patch_size\":4,\"dim\":24,"
     "\"depth\":2,\"heads\":3,\"head_dim\":12,\"mlp_dim\":32,\"head_units\":[],\"num_classes\":10,"
     "\"mlp_last_gelu\":false,\"pool\":\"mean\",\"layer_scale\":true,\"dropout\":0.1,"
     "\"attention_dropout\":0.1,\"drop_path\":0.1,\"attention\":\"differential\","
     "\"block\":\"parallel-fused\"}",
     20, 16},
    {"{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":2,\"dim\":24,"
     "\"depth\":2,\"heads\":2,\"head_dim\":16,\"mlp_dim\":32,\"head_units\":[],\"num_classes\":10,"
     "\"pool\":\"class_token\",\"qk_norm\":true,\"rms_norm\":true,\"block\":\"parallel\","
     "\"dropout\":0.1,\"drop_path\":0.1,\"lora_rank\":2,\"lora_alpha\":2}",
     20, 20},
    /* Masks of an image end within a word: 35 tokens, 43 channels. */
    {"{\"architecture\":\"mixer\",\"input_height\":21,\"input_width\":15,\"patch_size\":3,"
     "\"dim\":43,\"depth\":2,\"token_mlp_dim\":19,\"mlp_dim\":40,\"num_classes\":10,"
     "\"dropout\":0.1,\"drop_path\":0.1}",
     21, 15},
};
static const uint32_t THREADS[] = {1, 2, 3, 8};

enum {
    SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS,
    BATCH = 96,
    STEPS = 5, /* the fourth has fewer images, so a full batch follows a smaller one */
    CLASSES = 10,
    SIDE = 21 /* the largest side of all models' images */
};

static float pixels[BATCH * SIDE * SIDE * 3];
static int32_t labels[BATCH];

static void draw_data(void)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (float)(state >> 8) / 16777216.0f;
    }
    for (size_t i = 0; i < BATCH; i++)
        labels[i] = (int32_t)(i % CLASSES);
}

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", err.message)

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    svit_session *session;
} fixture;

static fixture open_fixture(const char *json, const char *gemm, uint32_t threads, int32_t mode)
{
    fixture o;
    svit_error err = {.struct_size = sizeof err};
    svit_context_config context;
    svit_model_config config;
    svit_session_config session;
    OK(svit_context_config_init(&context, sizeof context));
    context.threads = threads;
    context.gemm = gemm;
    OK(svit_context_create(&o.context, &context, &err));
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&o.model, o.context, &config, 4, &err));
    OK(svit_session_config_init(&session, sizeof session));
    session.max_batch = BATCH;
    session.mode = mode;
    session.seed = 9;
    OK(svit_session_create(&o.session, o.model, &session, &err));
    return o;
}

static void close_fixture(fixture *o)
{
    svit_context_free(
        o->context); /* the model and the session keep it alive, so the order is free */
    svit_session_free(o->session);
    svit_model_free(o->model);
}

/* Returns all weights, one parameter after another; the caller frees them. */
static float *weights_of(const svit_model *model, size_t *count)
{
    *count = (size_t)svit_model_parameter_elements(model);
    float *all = malloc(*count * sizeof *all);
    fit_copy_weights(model, all);
    return all;
}

static float *train(const char *json, const char *gemm, uint32_t threads, size_t *count)
{
    svit_error err = {.struct_size = sizeof err};
    fixture o = open_fixture(json, gemm, threads, SVIT_MODE_TRAIN);
    svit_optimizer *optimizer = NULL;
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.clip_norm = 1;
    OK(svit_optimizer_create(&optimizer, o.model, &config, &err));
    static float logits[BATCH * CLASSES], dlogits[BATCH * CLASSES];
    for (size_t step = 0; step < STEPS; step++) {
        size_t n = step % 4 == 3 ? 37 : BATCH;
        float loss;
        OK(svit_forward(o.session, pixels, n, logits, &err));
        OK(svit_cross_entropy(logits, labels, n, CLASSES, 0.1f, &loss, dlogits, &err));
        OK(svit_backward(o.session, dlogits, n, &err));
        OK(svit_step(optimizer, o.session, &err));
    }
    float *weights = weights_of(o.model, count);
    svit_optimizer_free(optimizer);
    close_fixture(&o);
    return weights;
}

START_TEST(test_training_gives_the_same_bits_on_any_number_of_threads)
{
    draw_data();
    const char *json = SUBJECTS[_i / GEMM_COUNT].json;
    GEMM(gemm, _i % GEMM_COUNT);
    size_t count, other;
    float *one = train(json, gemm, 1, &count);
    for (size_t i = 1; i < sizeof THREADS / sizeof *THREADS; i++) {
        float *many = train(json, gemm, THREADS[i], &other);
        ck_assert_uint_eq(count, other);
        ck_assert_msg(memcmp(one, many, count * sizeof *one) == 0, "%u threads differ from 1",
                      THREADS[i]);
        free(many);
    }
    free(one);
}
END_TEST

static void check_within(const float *a, const float *b, size_t count, double limit)
{
    for (size_t k = 0; k < count; k++)
        ck_assert_double_le(fabs((double)a[k] - b[k]), limit);
}

/* The library's own backends compute a row with the same bits however many rows there are; a BLAS
 * may round differently. */
static double limit_of(const char *gemm)
{
    return strcmp(gemm, "cblas") != 0 ? 0 : 5e-6;
}

START_TEST(test_a_batch_gives_what_its_images_give_alone)
{
    draw_data();
    svit_error err = {.struct_size = sizeof err};
    const subject *chosen = &SUBJECTS[_i / GEMM_COUNT];
    GEMM(gemm, _i % GEMM_COUNT);
    fixture o = open_fixture(chosen->json, gemm, 2, SVIT_MODE_INFER);
    static float batch[BATCH * CLASSES];
    float alone[CLASSES];
    size_t image = chosen->height * chosen->width * 3;
    /* The array has exactly the size of the batch, so that sanitizers see a read past its end. The
     * batch is no multiple of the images that go through a fused chain together. */
    float *images = malloc(BATCH * image * sizeof *images);
    ck_assert_ptr_nonnull(images);
    memcpy(images, pixels, BATCH * image * sizeof *images);
    OK(svit_forward(o.session, images, BATCH, batch, &err));
    free(images);
    for (size_t i = 0; i < BATCH; i++) {
        OK(svit_forward(o.session, pixels + i * image, 1, alone, &err));
        check_within(alone, batch + i * CLASSES, CLASSES, limit_of(gemm));
    }
    close_fixture(&o);
}
END_TEST

/* Layers so wide that one image's matmuls are split by columns among the workers. */
static const char *const WIDE[] = {
    "{\"input_height\":20,\"input_width\":20,\"dim\":96,\"blocks\":[1,1,1]}",
    "{\"input_height\":20,\"input_width\":20,\"dim\":96,\"blocks\":[1,1],\"norm\":\"group\"}",
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":2,\"dim\":48,"
    "\"depth\":2,\"heads\":3,\"head_dim\":16,\"mlp_dim\":400,\"head_units\":[601],"
    "\"num_classes\":10,\"attention\":\"lsa\",\"mlp_last_gelu\":false}",
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":2,\"dim\":48,"
    "\"depth\":2,\"heads\":3,\"head_dim\":48,\"mlp_dim\":64,\"head_units\":[],"
    "\"num_classes\":10}",
    ("{\"architecture\":\"mixer\",\"input_height\":20,\"input_width\":20,\"patch_size\":2,"
     "\"dim\":440,\"depth\":2,\"token_mlp_dim\":72,\"mlp_dim\":400,\"num_classes\":10}"),
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":2,\"dim\":192,"
    "\"depth\":2,\"heads\":3,\"head_dim\":64,\"mlp_dim\":400,\"head_units\":[],"
    "\"num_classes\":10,\"attention\":\"differential\",\"block\":\"parallel\",\"rms_norm\":true}",
    /* One token for each image, after attention pooling. */
    ("{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":5,\"dim\":"
     "192,"
     "\"depth\":1,\"heads\":3,\"head_dim\":16,\"mlp_dim\":400,\"head_units\":[],\"num_classes\":10,"
     "\"pool\":\"attention\",\"pool_heads\":3,\"pool_mlp_dim\":400,\"mlp_norm\":true,\"mlp_last_"
     "gelu\":false}"),
};
enum { WIDE_COUNT = sizeof WIDE / sizeof *WIDE };

START_TEST(test_one_image_gives_the_same_bits_on_any_number_of_threads)
{
    GEMM(gemm, _i % GEMM_COUNT);
    draw_data();
    svit_error err = {.struct_size = sizeof err};
    float one[2 * CLASSES], many[2 * CLASSES];
    for (size_t n = 1; n <= 2; n++)
        for (size_t i = 0; i < sizeof THREADS / sizeof *THREADS; i++) {
            fixture o = open_fixture(WIDE[_i / GEMM_COUNT], gemm, THREADS[i], SVIT_MODE_INFER);
            OK(svit_forward(o.session, pixels, n, i ? many : one, &err));
            ck_assert_msg(!i || memcmp(one, many, n * CLASSES * sizeof *one) == 0,
                          "%zu images: %u threads differ from 1", n, THREADS[i]);
            close_fixture(&o);
        }
}
END_TEST

/* The results have the same bits, except where inference uses fused layers, which sum in another
 * order. */
static const struct {
    const char *json;
    double limit;
} FORWARDS[] = {
    {"{\"input_height\":16,\"input_width\":16,\"dim\":24,\"blocks\":[2,2],\"num_div\":6,"
     "\"dropout\":0,\"drop_path\":0,\"final_norm\":true}",
     0},
    {"{\"input_height\":20,\"input_width\":20,\"dim\":24,\"blocks\":[2,2],\"num_div\":6,"
     "\"dropout\":0,\"drop_path\":0}",
     1e-6}};
enum { FORWARD_COUNT = sizeof FORWARDS / sizeof *FORWARDS };

START_TEST(test_training_without_dropout_forwards_like_inference)
{
    GEMM(gemm, _i % GEMM_COUNT);
    draw_data();
    svit_error err = {.struct_size = sizeof err};
    fixture o = open_fixture(FORWARDS[_i / GEMM_COUNT].json, gemm, 2, SVIT_MODE_TRAIN);
    static float trained[BATCH * CLASSES], inferred[BATCH * CLASSES];
    OK(svit_forward(o.session, pixels, BATCH, trained, &err));
    OK(svit_session_set_mode(o.session, SVIT_MODE_INFER, &err));
    OK(svit_forward(o.session, pixels, BATCH, inferred, &err));
    check_within(trained, inferred, BATCH * CLASSES,
                 fmax(limit_of(gemm), FORWARDS[_i / GEMM_COUNT].limit));
    close_fixture(&o);
}
END_TEST

START_TEST(test_each_training_forward_has_its_own_masks)
{
    draw_data();
    svit_error err = {.struct_size = sizeof err};
    fixture o = open_fixture(SUBJECTS[_i].json, "tile", 2, SVIT_MODE_TRAIN);
    static float first[BATCH * CLASSES], second[BATCH * CLASSES], again[BATCH * CLASSES];
    OK(svit_forward(o.session, pixels, BATCH, first, &err));
    OK(svit_forward(o.session, pixels, BATCH, second, &err));
    ck_assert_uint_eq(svit_session_counter(o.session), 2);
    ck_assert_mem_ne(first, second, sizeof first);
    OK(svit_session_set_counter(o.session, 0, &err));
    OK(svit_forward(o.session, pixels, BATCH, again, &err));
    ck_assert_mem_eq(first, again, sizeof first);
    close_fixture(&o);
}
END_TEST

/* The functions of the OpenMP runtime that a BLAS may have loaded. */
extern int omp_get_max_threads(void) __attribute__((weak));

static size_t thread_count(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    while (readdir(tasks))
        count++;
    closedir(tasks);
    return count;
}

/* No backend uses more threads than the calling one, and the thread count that the program has set
 * for OpenMP stays as it is. */
START_TEST(test_matmuls_stay_on_the_calling_thread)
{
    GEMM(gemm, _i);
    svit_error err = {.struct_size = sizeof err};
    svit_context *context;
    svit_context_config config;
    svit_matmul product;
    double gflops;
    OK(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.gemm = gemm;
    OK(svit_context_create(&context, &config, &err));
    OK(svit_matmul_init(&product, sizeof product));
    product.m = product.n = product.k = 400;
    size_t threads = thread_count();
    int own = omp_get_max_threads ? omp_get_max_threads() : 0;
    OK(svit_benchmark_matmul(context, &product, 0, &gflops, &err));
    ck_assert_uint_eq(thread_count(), threads);
    ck_assert_int_eq(omp_get_max_threads ? omp_get_max_threads() : 0, own);
    svit_context_free(context);
}
END_TEST

static Suite *determinism_suite(void)
{
    Suite *suite = suite_create("determinism");
    TCase *all = tcase_create("threads");
    tcase_add_loop_test(all, test_training_gives_the_same_bits_on_any_number_of_threads, 0,
                        SUBJECT_COUNT * GEMM_COUNT);
    tcase_add_loop_test(all, test_a_batch_gives_what_its_images_give_alone, 0,
                        SUBJECT_COUNT * GEMM_COUNT);
    tcase_add_loop_test(all, test_one_image_gives_the_same_bits_on_any_number_of_threads, 0,
                        WIDE_COUNT * GEMM_COUNT);
    tcase_add_loop_test(all, test_training_without_dropout_forwards_like_inference, 0,
                        FORWARD_COUNT * GEMM_COUNT);
    tcase_add_loop_test(all, test_matmuls_stay_on_the_calling_thread, 0, GEMM_COUNT);
    tcase_add_loop_test(all, test_each_training_forward_has_its_own_masks, 0, SUBJECT_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(determinism_suite)
