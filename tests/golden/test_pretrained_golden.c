/* Compares pretrained families with timm, Hugging Face transformers and OpenCLIP: a file under
 * their names is loaded through a name map, then logits and every gradient are compared with those
 * of their own code in float64. */
#include "golden.h"
#include "suite.h"

#include "config/json.h"
#include "context/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct family {
    sv_safetensors *file;
    const char *map;
    char path[64]; /* of a file with the family's names */
    svit_context *context;
    svit_model_config config;
    svit_model *model;
    svit_error err;
} family;

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", f->err.message)

static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    family *f = user;
    const sv_safetensors_entry *entry = tensor->source;
    OK(sv_safetensors_read_f32(f->file, entry, out, &f->err));
}

/* Writes the tensors "param.NAME" of the golden file to a file of their own, as NAME. */
static void write_family_file(family *f)
{
    sv_safetensors_tensor tensors[128];
    size_t count = 0;
    for (size_t i = 0; i < sv_safetensors_count(f->file); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(f->file, i);
        if (strncmp(entry->name, "param.", 6) == 0)
            tensors[count++] = (sv_safetensors_tensor){entry->name + 6, &entry->desc, entry};
    }
    OK(sv_safetensors_write(&f->context->allocator, f->path, "{\"format\":\"pt\"}", tensors, count,
                            fill, f, &f->err));
}

static void open_family(family *f, const char *name)
{
    *f = (family){.file = golden_open(name), .err = {.struct_size = sizeof f->err}};
    f->map = sv_safetensors_metadata(f->file, "map");
    snprintf(f->path, sizeof f->path, "pretrained-%d.safetensors", (int)getpid());
    OK(svit_context_create(&f->context, NULL, &f->err));
    OK(svit_model_config_from_json(&f->config, sizeof f->config,
                                   sv_safetensors_metadata(f->file, "config"), &f->err));
    write_family_file(f);
}

static void load_family(family *f)
{
    OK(svit_model_load_mapped(&f->model, f->context, &f->config, f->path, f->map, &f->err));
}

static void close_family(family *f)
{
    unlink(f->path);
    svit_model_free(f->model);
    svit_context_free(f->context);
    sv_safetensors_close(f->file);
}

static svit_session *training_session(family *f, size_t n)
{
    svit_session *session;
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = (uint32_t)n;
    config.mode = SVIT_MODE_TRAIN;
    OK(svit_session_create(&session, f->model, &config, &f->err));
    return session;
}

/* The loss is the cross entropy of the file's labels. Without them it is half the sum of squares of
 * the logits, which are the features of a model without a head. */
static double loss_of(family *f, const float *logits, size_t n, float *dlogits)
{
    const size_t classes = f->config.num_classes;
    float loss;
    double sum = 0;
    if (f->config.classifier && sv_safetensors_find(f->file, "labels")) {
        int32_t *labels = golden_labels(f->file, "labels", NULL);
        OK(svit_cross_entropy(logits, labels, n, classes, 0, &loss, dlogits, &f->err));
        golden_free(labels);
        return loss;
    }
    for (size_t i = 0; i < n * classes; i++) {
        dlogits[i] = logits[i];
        sum += 0.5 * logits[i] * logits[i];
    }
    return sum;
}

static void check_close(const float *got, const float *wanted, size_t elements, double tolerance,
                        const char *what)
{
    double most = golden_difference(got, wanted, elements),
           largest = golden_largest(wanted, elements);
    ck_assert_msg(most <= tolerance * largest, "%s: off by %g of %g", what, most, largest);
}

/* Reads the family's gradients through the name map as if they were weights: then each parameter of
 * the model has the gradient that is expected of it. */
static svit_model *gradients_as_model(family *f)
{
    sv_safetensors_tensor tensors[128];
    svit_model *model;
    size_t count = 0;
    for (size_t i = 0; i < sv_safetensors_count(f->file); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(f->file, i);
        if (strncmp(entry->name, "grad.", 5) == 0)
            tensors[count++] = (sv_safetensors_tensor){entry->name + 5, &entry->desc, entry};
    }
    OK(sv_safetensors_write(&f->context->allocator, f->path, "{}", tensors, count, fill, f,
                            &f->err));
    svit_model_config config = f->config;
    config.position_height = config.position_width = 0; /* of the interpolated positions */
    OK(svit_model_load_mapped(&model, f->context, &config, f->path, f->map, &f->err));
    return model;
}

static double largest_gradient(const family *f)
{
    double largest = 0;
    for (size_t i = 0; i < sv_safetensors_count(f->file); i++) {
        const char *name = sv_safetensors_at(f->file, i)->name;
        if (strncmp(name, "grad.", 5) != 0)
            continue;
        size_t elements;
        float *values = golden_floats(f->file, name, &elements);
        largest = fmax(largest, golden_largest(values, elements));
        golden_free(values);
    }
    return largest;
}

/* The key biases have no gradient but for rounding, so they are compared with the file's largest.
 * They come after those of the queries, or first if those are apart. */
static void check_gradient(const char *name, const float *got, const float *wanted, size_t elements,
                           double largest)
{
    const bool all = strstr(name, "qkv.bias"), some = strstr(name, "attn_pool.kv.bias");
    const size_t inner = all ? elements / 3 : some ? elements / 2 : 0, keys = all ? inner : 0;
    if (keys > 0)
        check_close(got, wanted, keys, 5e-5, name);
    ck_assert_double_le(golden_difference(got + keys, wanted + keys, inner), 1e-6 * largest);
    check_close(got + keys + inner, wanted + keys + inner, elements - keys - inner, 5e-5, name);
}

/* Some files have no gradients. */
static void check_gradients(family *f, const svit_session *session)
{
    if (largest_gradient(f) == 0)
        return;
    svit_model *wanted = gradients_as_model(f);
    const double largest = largest_gradient(f);
    size_t checked = 0;
    for (size_t i = 0; i < svit_model_parameter_count(f->model); i++) {
        const char *name = svit_model_parameter_name(f->model, i);
        int64_t shape[8];
        size_t rank, elements = 1;
        OK(svit_model_parameter_shape(f->model, name, shape, &rank, &f->err));
        for (size_t r = 0; r < rank; r++)
            elements *= (size_t)shape[r];
        float *got = malloc(elements * sizeof *got), *expected = malloc(elements * sizeof *got);
        OK(svit_session_get_gradient(session, name, got, elements, &f->err));
        OK(svit_model_get_parameter(wanted, name, expected, elements, &f->err));
        /* OpenCLIP's projection has no bias. */
        if (golden_largest(expected, elements) > 0)
            check_gradient(name, got, expected, elements, largest);
        else
            ck_assert_str_eq(name, "head.fc1.bias");
        checked++;
        free(got);
        free(expected);
    }
    ck_assert_uint_gt(checked, 20);
    svit_model_free(wanted);
}

static const char *const FAMILIES[] = {"pretrained_timm_plain",
                                       "pretrained_timm_distilled",
                                       "pretrained_timm_dinov2",
                                       "pretrained_timm_dinov2_reg",
                                       "pretrained_timm_clip",
                                       "pretrained_timm_mean",
                                       "pretrained_timm_swiglu",
                                       "pretrained_timm_interp",
                                       "pretrained_hf_vit",
                                       "pretrained_hf_dinov2",
                                       "pretrained_hf_dinov2_reg_swiglu",
                                       "pretrained_hf_clip",
                                       "pretrained_openclip",
                                       "family_timm_rope_axial",
                                       "family_timm_rope_mixed",
                                       "family_timm_dinov3",
                                       "family_timm_eva02",
                                       "family_timm_rope_reg_gap",
                                       "family_timm_dinov3_plus",
                                       "family_timm_eva02_base",
                                       "family_timm_pe_core",
                                       "family_hf_dinov3",
                                       "family_timm_reg_gap",
                                       "family_timm_siglip",
                                       "family_hf_siglip",
                                       "family_timm_dpwee",
                                       "family_timm_dwee",
                                       "family_timm_pwee",
                                       "family_timm_xp"};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES };

/* The tokens after the last block, where the file has them. */
static void check_tokens(family *f, svit_session *session, const float *input, size_t n)
{
    size_t elements;
    char layer[32];
    if (!sv_safetensors_find(f->file, "tokens"))
        return;
    float *wanted = golden_floats(f->file, "tokens", &elements);
    float *tokens = malloc(elements * sizeof *tokens);
    snprintf(layer, sizeof layer, "blocks.%u", f->config.depth - 1);
    OK(svit_forward_features(session, input, n, layer, tokens, elements, &f->err));
    check_close(tokens, wanted, elements, 1e-5, "tokens");
    free(tokens);
    golden_free(wanted);
}

START_TEST(test_families_equal_their_own_code)
{
    family all, *f = &all;
    open_family(f, FAMILIES[_i]);
    load_family(f);
    size_t elements, n = 2;
    float *input = golden_floats(f->file, "input", NULL);
    float *wanted = golden_floats(f->file, "logits", &elements);
    float *wanted_loss = golden_floats(f->file, "loss", NULL);
    float *logits = malloc(elements * sizeof *logits), *dlogits = malloc(elements * sizeof *logits);
    svit_session *session = training_session(f, n);
    ck_assert_uint_eq(elements, n * f->config.num_classes);
    OK(svit_forward(session, input, n, logits, &f->err));
    check_close(logits, wanted, elements, 1e-5, "logits");
    double loss = loss_of(f, logits, n, dlogits);
    ck_assert_double_le(fabs(loss - wanted_loss[0]), 5e-6 * wanted_loss[0]);
    OK(svit_backward(session, dlogits, n, &f->err));
    check_gradients(f, session);
    OK(svit_session_set_mode(session, SVIT_MODE_INFER, &f->err));
    OK(svit_forward(session, input, n, logits, &f->err));
    check_close(logits, wanted, elements, 1e-5, "logits of inference");
    check_tokens(f, session, input, n);
    svit_session_free(session);
    free(logits);
    free(dlogits);
    golden_free(input);
    golden_free(wanted);
    golden_free(wanted_loss);
    close_family(f);
}
END_TEST

START_TEST(test_positions_are_interpolated_as_timm_does)
{
    family all, *f = &all;
    open_family(f, "pretrained_timm_interp");
    load_family(f);
    size_t elements;
    float *wanted = golden_floats(f->file, "pos_embed.interpolated", &elements);
    float *got = malloc(elements * sizeof *got);
    OK(svit_model_get_parameter(f->model, "pos_embed", got, elements, &f->err));
    ck_assert_double_le(golden_difference(got, wanted, elements), 1e-6);
    golden_free(wanted);
    free(got);
    close_family(f);
}
END_TEST

/* A model that was loaded through a map is saved with the grid of its input, and loads again. */
START_TEST(test_a_mapped_model_is_saved_as_its_own)
{
    family all, *f = &all;
    open_family(f, "pretrained_timm_interp");
    load_family(f);
    svit_model *again;
    size_t elements = 0;
    OK(svit_model_save(f->model, f->path, &f->err));
    OK(svit_model_load(&again, f->context, f->path, &f->err));
    float *wanted = golden_floats(f->file, "pos_embed.interpolated", &elements);
    float *a = malloc(elements * sizeof *a), *b = malloc(elements * sizeof *b);
    OK(svit_model_get_parameter(f->model, "pos_embed", a, elements, &f->err));
    OK(svit_model_get_parameter(again, "pos_embed", b, elements, &f->err));
    ck_assert_mem_eq(a, b, elements * sizeof *a);
    free(a);
    free(b);
    golden_free(wanted);
    svit_model_free(again);
    close_family(f);
}
END_TEST

/* A file of timm's names becomes the same tensors when it is loaded and saved under them again,
 * also where its tensors are parts of a parameter, or several parameters are one. */
static const char *const SAVED[] = {"family_timm_reg_gap", "family_timm_dpwee", "family_timm_dwee",
                                    "family_timm_pwee", "family_timm_xp"};

START_TEST(test_families_are_saved_under_their_names)
{
    family all, *f = &all;
    sv_safetensors *saved;
    size_t tensors = 0;
    open_family(f, SAVED[_i]);
    load_family(f);
    OK(svit_model_save_mapped(f->model, f->path, f->map, &f->err));
    OK(sv_safetensors_open(&saved, &f->context->allocator, f->path, &f->err));
    for (size_t i = 0; i < sv_safetensors_count(f->file); i++) {
        const char *name = sv_safetensors_at(f->file, i)->name;
        size_t elements, same;
        if (strncmp(name, "param.", 6) != 0)
            continue;
        ck_assert_msg(sv_safetensors_find(saved, name + 6) != NULL, "%s is not saved", name + 6);
        float *wanted = golden_floats(f->file, name, &elements);
        float *got = golden_floats(saved, name + 6, &same);
        ck_assert_uint_eq(same, elements);
        ck_assert_msg(memcmp(got, wanted, elements * sizeof *got) == 0, "%s differs", name + 6);
        golden_free(got);
        golden_free(wanted);
        tensors++;
    }
    ck_assert_uint_eq(sv_safetensors_count(saved), tensors);
    sv_safetensors_close(saved);
    close_family(f);
}
END_TEST

/* The attention of a differential head is the difference of its maps, whose rows sum to 1 -
 * lambda. */
START_TEST(test_difference_maps_sum_to_one_minus_lambda)
{
    static const char *const names[4] = {"q1", "k1", "q2", "k2"};
    family all, *f = &all;
    size_t heads, tokens, n = 2, half = 8;
    double products[2] = {0, 0};
    open_family(f, "family_timm_dpwee");
    load_family(f);
    for (size_t pair = 0; pair < 2; pair++) {
        float vectors[2][8];
        for (size_t i = 0; i < 2; i++) {
            char name[48];
            snprintf(name, sizeof name, "blocks.1.attn.lambda_%s", names[2 * pair + i]);
            OK(svit_model_get_parameter(f->model, name, vectors[i], half, &f->err));
        }
        for (size_t i = 0; i < half; i++)
            products[pair] += (double)vectors[0][i] * (double)vectors[1][i];
    }
    const double lambda = exp(products[0]) - exp(products[1]) + 0.8 - 0.6 * exp(-0.3);
    svit_session *session = training_session(f, n);
    OK(svit_session_attention_size(session, &heads, &tokens, &f->err));
    ck_assert_uint_eq(heads, 3);
    ck_assert_uint_eq(tokens, 17);
    const size_t rows = n * heads * tokens;
    float *attention = malloc(rows * tokens * sizeof *attention), logits[14];
    float *input = golden_floats(f->file, "input", NULL);
    OK(svit_forward_attention(session, input, n, logits, attention, rows * tokens, &f->err));
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t t = 0; t < tokens; t++)
            sum += (double)attention[r * tokens + t];
        ck_assert_double_le(fabs(sum - (1 - lambda)), 1e-6);
    }
    golden_free(input);
    free(attention);
    svit_session_free(session);
    close_family(f);
}
END_TEST

static Suite *pretrained_suite(void)
{
    Suite *suite = suite_create("pretrained families");
    TCase *all = tcase_create("families");
    tcase_add_loop_test(all, test_families_equal_their_own_code, 0, FAMILY_COUNT);
    tcase_add_loop_test(all, test_families_are_saved_under_their_names, 0,
                        sizeof SAVED / sizeof *SAVED);
    tcase_add_test(all, test_positions_are_interpolated_as_timm_does);
    tcase_add_test(all, test_a_mapped_model_is_saved_as_its_own);
    tcase_add_test(all, test_difference_maps_sum_to_one_minus_lambda);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(pretrained_suite)
