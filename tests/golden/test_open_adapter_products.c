/* The products of adapters in models whose weights are not the tensors of their files: one that
 * joins several maps, has a part of one, or has a convolution's pixels before its channels. */
#include "adapter_case.h"
#include "suite.h"

#include "models/model.h"

enum { RANK = 2, SCALE = 2 /* alpha / r of adapter_write */ };

/* A golden file with its JSON, and the module that has a pair. */
static const struct adapted {
    const char *golden, *text, *module, *fields;
} CASES[] = {
    {"family_timm_eva02_base",
     "{\"architecture\":\"eva02_base_patch14_448\",\"model_args\":{\"img_size\":28,\"num_heads\":3}"
     "}",
     "blocks.1.attn.q_proj", NULL},
    {"family_timm_eva02_base",
     "{\"architecture\":\"eva02_base_patch14_448\",\"model_args\":{\"img_size\":28,\"num_heads\":3}"
     "}",
     "blocks.0.attn.v_proj", NULL},
    {"pretrained_hf_clip",
     "{\"architectures\":[\"CLIPVisionModelWithProjection\"],\"model_type\":\"clip_vision_model\","
     "\"num_attention_heads\":4,\"image_size\":32,\"patch_size\":8}",
     "visual_projection", NULL},
    {"pretrained_hf_clip",
     "{\"model_type\":\"clip_vision_model\",\"num_attention_heads\":4,\"image_size\":32,"
     "\"patch_size\":8}",
     "vision_model.embeddings.patch_embedding", NULL},
    {"pretrained_hf_vit",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"image_size\":28,\"patch_size\":7}",
     "vit.embeddings.patch_embeddings.projection", NULL},
    {"pretrained_hf_vit",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"image_size\":28,\"patch_size\":7}",
     "vit.embeddings.patch_embeddings.projection", "{\"in_channels\":1}"},
    {"family_timm_pwee",
     "{\"architecture\":\"vit_pwee_patch16_reg1_gap_256\",\"model_args\":{\"num_heads\":3}}",
     "patch_embed.proj", NULL},
    {"family_timm_pwee",
     "{\"architecture\":\"vit_pwee_patch16_reg1_gap_256\",\"model_args\":{\"num_heads\":3}}",
     "blocks.1.in_proj", NULL},
    {"family_timm_xp",
     "{\"architecture\":\"vit_base_patch16_xp_224\",\"model_args\":{\"img_size\":[32,48]}}",
     "blocks.0.in_proj", NULL},
    {"family_timm_dpwee", "{\"architecture\":\"vit_dpwee_patch16_reg1_gap_256\"}",
     "blocks.0.out_proj", NULL},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

/* A checkpoint and an adapter of one pair. */
typedef struct products {
    open_case all;
    fit_folder folder;
    own_tensor list[CASE_TENSORS];
    size_t count, golden; /* of the tensors, and of those of the golden file */
    size_t at;            /* the tensor that is changed */
    own_tensor pair[2];
} products;

static float *varied(size_t elements, size_t seed)
{
    float *values = malloc(elements * sizeof *values);
    for (size_t e = 0; e < elements; e++)
        values[e] = (float)((double)((seed * 31 + e * 17) % 23) / 23 - 0.4);
    return values;
}

/* The pair of a tensor [out, in..], A[RANK, in..] and B[out, RANK, 1..], as PEFT makes it. */
static void make_pair(own_tensor pair[2], const own_tensor *of, const char *module)
{
    for (size_t half = 0; half < 2; half++) {
        int64_t shape[SV_MAX_RANK];
        char name[160];
        for (size_t i = 0; i < of->desc.rank; i++)
            shape[i] = half == 0 ? of->desc.shape[i] : 1;
        shape[half] = RANK;
        if (half == 1)
            shape[0] = of->desc.shape[0];
        snprintf(name, sizeof name, "base_model.model.%s.lora_%c.weight", module, "AB"[half]);
        pair[half] = own(name, of->desc.rank, shape, NULL);
        pair[half].from = varied(pair[half].desc.elements, half + 1);
    }
}

static void begin(products *self, const struct adapted *of)
{
    static const int64_t projection[] = {24, 40};
    char name[160];
    *self = (products){.folder = fit_folder_make()};
    case_begin(&self->all, of->golden);
    self->golden = self->count = own_golden(self->list, &self->all, "");
    if (strcmp(of->module, "visual_projection") == 0)
        self->list[self->count++] = own("visual_projection.weight", 2, projection, NULL);
    own_write(&self->all, self->list, self->count);
    case_text(&self->all, "config.json", of->text);
    snprintf(name, sizeof name, "%s.weight", of->module);
    while (strcmp(self->list[self->at].name, name) != 0)
        ck_assert_uint_lt(++self->at, self->count);
    make_pair(self->pair, &self->list[self->at], of->module);
}

static void end(products *self)
{
    own_free(self->list, self->golden);
    for (size_t half = 0; half < 2; half++)
        free((float *)(uintptr_t)self->pair[half].from);
    adapter_end(&self->all, &self->folder);
}

/* Writes the checkpoint with the product added to its tensor, which is what PEFT computes with. */
static void write_merged(products *self)
{
    const own_tensor old = self->list[self->at];
    const size_t rows = (size_t)old.desc.shape[0], columns = old.desc.elements / rows;
    float *merged = malloc(old.desc.elements * sizeof *merged);
    for (size_t o = 0; o < rows; o++)
        for (size_t i = 0; i < columns; i++) {
            double sum = 0;
            for (size_t r = 0; r < RANK; r++)
                sum += (double)self->pair[1].from[o * RANK + r] *
                       (double)self->pair[0].from[r * columns + i];
            const float before = old.from ? old.from[o * columns + i] : 0;
            merged[o * columns + i] = (float)((double)before + SCALE * sum);
        }
    self->list[self->at].from = merged;
    own_write(&self->all, self->list, self->count);
    self->list[self->at] = old;
    free(merged);
}

static void compare(const svit_model *model, const svit_model *wanted)
{
    ck_assert_uint_eq(model->parameters.count, wanted->parameters.count);
    for (size_t p = 0; p < model->parameters.count; p++) {
        const sv_parameter *parameter = &model->parameters.list[p];
        const float *have = model->weights + parameter->offset;
        for (size_t e = 0; e < parameter->desc.elements; e++)
            ck_assert_msg(fabs((double)have[e] - (double)wanted->weights[parameter->offset + e]) <=
                              1e-6,
                          "%s[%zu]", parameter->name, e);
    }
}

/* The model with the adapter is that of the file with the product added. */
START_TEST(test_products_are_added_to_the_tensors_of_the_file)
{
    products self;
    svit_model *model = NULL, *wanted = NULL;
    begin(&self, &CASES[_i]);
    adapter_write(&self.all, &self.folder, "", self.pair, 2);
    const svit_status status = adapter_try(&self.all, &model, &self.folder, CASES[_i].fields, NULL);
    ck_assert_msg(status == SVIT_OK, "%s", self.all.err.message);
    write_merged(&self);
    WORKS(case_open(&self.all, &wanted, CASES[_i].fields));
    compare(model, wanted);
    svit_model_free(model);
    svit_model_free(wanted);
    end(&self);
}
END_TEST

/* Each axis of either half is made longer, and then cut off, which makes the half of another
 * rank. */
START_TEST(test_pairs_of_other_shapes_are_refused)
{
    products self;
    size_t refused = 0;
    begin(&self, &CASES[_i]);
    for (size_t half = 0; half < 2; half++) {
        const own_tensor whole = self.pair[half];
        for (size_t k = 0; k < 2 * whole.desc.rank; k++) {
            int64_t shape[SV_MAX_RANK];
            svit_model *model = NULL;
            const size_t axis = k / 2, rest = whole.desc.rank - axis - 1;
            memcpy(shape, whole.desc.shape, sizeof shape);
            shape[axis]++;
            if (k % 2 == 1)
                memmove(&shape[axis], &shape[axis + 1], rest * sizeof *shape);
            self.pair[half] = own(whole.name, whole.desc.rank - k % 2, shape, NULL);
            adapter_write(&self.all, &self.folder, "", self.pair, 2);
            ck_assert_int_eq(adapter_try(&self.all, &model, &self.folder, CASES[_i].fields, NULL),
                             SVIT_E_FORMAT);
            ck_assert_msg(strstr(self.all.err.message, "and its other half do not fit the weight"),
                          "%s", self.all.err.message);
            refused++;
        }
        self.pair[half] = whole;
    }
    ck_assert_uint_eq(refused, 4 * self.pair[0].desc.rank);
    end(&self);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("products of adapters");
    TCase *c = tcase_create("products");
    tcase_add_loop_test(c, test_products_are_added_to_the_tensors_of_the_file, 0, CASE_COUNT);
    tcase_add_loop_test(c, test_pairs_of_other_shapes_are_refused, 0, CASE_COUNT);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
