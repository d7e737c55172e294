/* Adapters whose names are not those of the model's file: of a class around an encoder that was
 * saved alone, and of one of the two maps that a gated MLP joins. */
#include "adapter_case.h"
#include "suite.h"

#include "models/model.h"

/* The file of Dinov2Model, and an adapter of Dinov2ForImageClassification: the classifier reads
 * class token and mean, and "dinov2." stands before the names of the pair, whose product is 0. */
START_TEST(test_an_adapter_of_a_class_around_the_encoder)
{
    static const char prefix[] = "dinov2.", more[] = ",\"auto_mapping\":{\"base_model_class\":"
                                                     "\"Dinov2ForImageClassification\"}";
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    own_tensor list[CASE_TENSORS], adapter[4];
    char text[4096];
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = sizeof text};
    size_t held = 0, changed = 0;
    case_begin(self, "pretrained_hf_dinov2");
    const size_t count = own_golden(list, self, "");
    for (size_t i = 0; i < count; i++) {
        char name[160];
        if (strncmp(list[i].name, "classifier.", 11) == 0) {
            adapter[changed] = list[i];
            snprintf(adapter[changed++].name, sizeof name, "base_model.model.%.128s", list[i].name);
            continue;
        }
        memcpy(name, list[i].name, sizeof name);
        list[held] = list[i];
        snprintf(list[held++].name, sizeof name, "%s", name + strlen(prefix));
    }
    ck_assert_uint_eq(changed, 2);
    own_write(self, list, held);
    case_text(self, "config.json",
              "{\"architectures\":[\"Dinov2Model\"],\"model_type\":\"dinov2\","
              "\"num_attention_heads\":4,\"image_size\":42,\"patch_size\":14}");
    adapter[2] =
        own("base_model.model.dinov2.encoder.layer.1.attention.attention.query.lora_A.weight", 2,
            (const int64_t[]){2, 32}, NULL);
    adapter[3] =
        own("base_model.model.dinov2.encoder.layer.1.attention.attention.query.lora_B.weight", 2,
            (const int64_t[]){32, 2}, NULL);
    adapter_write(self, &folder, more, adapter, 4);
    svit_model *model = adapter_open(self, &folder, &report);
    ck_assert_double_le(case_difference(self, model), 1e-5);
    /* What the adapter brings is not missing. */
    ck_assert_uint_eq(report.loaded, model->parameters.count);
    ck_assert_uint_eq(report.missing + report.mismatched, 0);
    ck_assert_ptr_null(strstr(text, "missing"));
    svit_model_free(model);
    for (size_t i = 0; i < held; i++)
        golden_free((float *)(uintptr_t)list[i].from);
    golden_free((float *)(uintptr_t)adapter[0].from);
    golden_free((float *)(uintptr_t)adapter[1].from);
    adapter_end(self, &folder);
}
END_TEST

/* A class without a classifier of its own, such as the encoder or one of the user's, changes
 * nothing in how a file of a class with one is read. */
START_TEST(test_the_class_of_the_file_counts_beside_others)
{
    static const char *const classes[] = {"Dinov2Model", "MyNet"};
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    char more[160];
    case_begin(self, "pretrained_hf_dinov2");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"architectures\":[\"Dinov2ForImageClassification\"],\"model_type\":\"dinov2\","
              "\"num_attention_heads\":4,\"image_size\":42,\"patch_size\":14}");
    snprintf(more, sizeof more, ",\"auto_mapping\":{\"base_model_class\":\"%s\"}", classes[_i]);
    adapter_write(self, &folder, more, NULL, 0);
    svit_model *model = adapter_open(self, &folder, NULL);
    ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
    adapter_end(self, &folder);
}
END_TEST

/* DINOv3's gate and values are two tensors of one weight: either may have a pair alone. */
START_TEST(test_either_map_of_a_gated_mlp_is_adapted)
{
    enum { DIM = 48, HIDDEN = 96, RANK = 2 };
    static const char *const maps[] = {"gate_proj", "up_proj"};
    static const int64_t shape[] = {HIDDEN, DIM};
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    own_tensor list[CASE_TENSORS], adapter[2];
    float ones[HIDDEN * RANK], *weight = malloc(2 * HIDDEN * DIM * sizeof *weight);
    float *base = malloc(2 * HIDDEN * DIM * sizeof *base);
    svit_model *model = NULL;
    for (size_t i = 0; i < HIDDEN * RANK; i++)
        ones[i] = 1;
    case_begin(self, "family_hf_dinov3");
    size_t count = own_golden(list, self, "");
    const size_t golden = count;
    for (size_t block = 0; block < 2; block++) {
        char name[160];
        snprintf(name, sizeof name, "layer.%zu.mlp.gate_proj.weight", block);
        list[count++] = own(name, 2, shape, NULL);
        snprintf(name, sizeof name, "layer.%zu.mlp.gate_proj.bias", block);
        list[count++] = own(name, 1, shape, NULL);
    }
    own_write(self, list, count);
    case_text(self, "config.json",
              "{\"model_type\":\"dinov3_vit\",\"num_attention_heads\":3,\"image_size\":32,"
              "\"patch_size\":8,\"num_register_tokens\":2,\"use_gated_mlp\":true,"
              "\"hidden_act\":\"silu\"}");
    WORKS(case_open(self, &model, NULL));
    WORKS(svit_model_get_parameter(model, "blocks.1.mlp.fc1.weight", base, 2 * HIDDEN * DIM, err));
    svit_model_free(model);
    for (int half = 0; half < 2; half++) {
        char name[160];
        snprintf(name, sizeof name, "base_model.model.layer.1.mlp.%s.lora_%c.weight", maps[_i],
                 "AB"[half]);
        adapter[half] = half == 0 ? own(name, 2, (const int64_t[]){RANK, DIM}, ones)
                                  : own(name, 2, (const int64_t[]){HIDDEN, RANK}, ones);
    }
    adapter_write(self, &folder, "", adapter, 2);
    model = adapter_open(self, &folder, NULL);
    WORKS(
        svit_model_get_parameter(model, "blocks.1.mlp.fc1.weight", weight, 2 * HIDDEN * DIM, err));
    for (size_t e = 0; e < 2 * HIDDEN * DIM; e++) {
        const double added = e / (HIDDEN * DIM) == (size_t)_i ? 4 : 0; /* alpha / r of two ones */
        ck_assert_double_le(fabs((double)weight[e] - (double)base[e] - added), 1e-6);
    }
    svit_model_free(model);
    own_free(list, golden);
    free(weight);
    free(base);
    adapter_end(self, &folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("adapters under other names");
    TCase *c = tcase_create("names");
    tcase_add_test(c, test_an_adapter_of_a_class_around_the_encoder);
    tcase_add_loop_test(c, test_the_class_of_the_file_counts_beside_others, 0, 2);
    tcase_add_loop_test(c, test_either_map_of_a_gated_mlp_is_adapted, 0, 2);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
