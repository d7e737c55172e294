/* Position embeddings of another grid are interpolated as the model's own library does it, which is
 * not the same for all models of transformers. */
#include "open_case.h"
#include "suite.h"

#include "models/load/load_internal.h"

enum { MOST = 4096 };

#define VIT_WIDE                                                                                   \
    "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"image_size\":[14,56],\"patch_size\":7}"

static const struct positions_case {
    const char *golden, *file, *config, *input; /* the input that is wanted */
    const char *name;                           /* of the position embedding */
    const char *map;                            /* that finds it as well; NULL: there is none */
    size_t prefix, height, width;               /* rows of other tokens, grid of the file */
    size_t out_height, out_width;
    sv_interpolation interpolation;
    bool flat; /* the patches are, as in SigLIP 2 */
} CASES[] = {
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"image_size\":28,\"patch_size\":7}",
     "{\"input_height\":14,\"input_width\":21}", "vit.embeddings.position_embeddings",
     "huggingface", 1, 4, 4, 2, 3, SV_BICUBIC, false},
    {"pretrained_hf_dinov2", "config.json",
     "{\"architectures\":[\"Dinov2ForImageClassification\"],\"model_type\":\"dinov2\",\"num_"
     "attention_heads\":4,\"image_size\":42,\"patch_size\":14}",
     "{\"input_height\":28,\"input_width\":28}", "dinov2.embeddings.position_embeddings",
     "huggingface", 1, 3, 3, 2, 2, SV_BICUBIC, false},
    {"pretrained_hf_dinov2_reg_swiglu", "config.json",
     "{\"architectures\":[\"Dinov2WithRegistersForImageClassification\"],\"model_type\":\"dinov2_"
     "with_registers\",\"num_attention_heads\":3,\"image_size\":28,"
     "\"patch_size\":14,\"use_swiglu_ffn\":true}",
     "{\"input_height\":70,\"input_width\":42}",
     "dinov2_with_registers.embeddings.position_embeddings", "huggingface", 1, 2, 2, 5, 3,
     SV_BICUBIC_ANTIALIASED, false},
    {"pretrained_hf_clip", "config.json",
     "{\"model_type\":\"clip_vision_model\",\"num_attention_heads\":4,\"image_size\":32,"
     "\"patch_size\":8}",
     "{\"input_height\":24,\"input_width\":16}",
     "vision_model.embeddings.position_embedding.weight", "huggingface", 1, 4, 4, 3, 2, SV_BICUBIC,
     false},
    {"family_hf_siglip", "config.json",
     "{\"model_type\":\"siglip_vision_model\",\"num_attention_heads\":3,\"image_size\":32,"
     "\"patch_size\":8}",
     "{\"input_height\":24,\"input_width\":16}", "embeddings.position_embedding.weight",
     "huggingface", 0, 4, 4, 3, 2, SV_BICUBIC, false},
    {"family_hf_siglip", "config.json",
     "{\"model_type\":\"siglip2_vision_model\",\"num_attention_heads\":3,\"num_patches\":16,"
     "\"patch_size\":8}",
     "{\"input_height\":24,\"input_width\":16}", "embeddings.position_embedding.weight",
     "huggingface", 0, 4, 4, 3, 2, SV_BILINEAR_ANTIALIASED, true},
    /* Of a side that the caller does not name the file's is kept. */
    {"family_hf_siglip", "config.json",
     "{\"model_type\":\"siglip2_vision_model\",\"num_attention_heads\":3,\"num_patches\":16,"
     "\"patch_size\":8}",
     "{\"input_height\":24}", "embeddings.position_embedding.weight", "huggingface", 0, 4, 4, 3, 4,
     SV_BILINEAR_ANTIALIASED, true},
    {"pretrained_openclip", "open_clip_config.json",
     "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{\"head_width\":10,"
     "\"width\":40,\"image_size\":32}}}",
     "{\"input_height\":24,\"input_width\":16}", "visual.positional_embedding", "openclip", 1, 4, 4,
     3, 2, SV_BICUBIC_ANTIALIASED, false},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":2,\"img_size\":"
     "[28,35]}}",
     "{\"input_height\":14,\"input_width\":21}", "pos_embed", "timm", 1, 4, 5, 2, 3,
     SV_BICUBIC_ANTIALIASED, false},
    /* transformers takes the rows that it interpolates for a square, of DINOv2 always. */
    {"pretrained_hf_vit", "config.json", VIT_WIDE, "{\"input_height\":28,\"input_width\":28}",
     "vit.embeddings.position_embeddings", "huggingface", 1, 4, 4, 4, 4, SV_BICUBIC, false},
    {"pretrained_hf_vit", "config.json", VIT_WIDE,
     "{\"input_height\":28,\"input_width\":28,\"position_height\":0,\"position_width\":0}",
     "vit.embeddings.position_embeddings", "huggingface", 1, 4, 4, 4, 4, SV_BICUBIC, false},
    {"pretrained_hf_vit", "config.json", VIT_WIDE, "{\"input_height\":14,\"input_width\":21}",
     "vit.embeddings.position_embeddings", "huggingface", 1, 4, 4, 2, 3, SV_BICUBIC, false},
    {"pretrained_hf_vit", "config.json", VIT_WIDE, NULL, "vit.embeddings.position_embeddings",
     "huggingface", 1, 2, 8, 2, 8, SV_BICUBIC, false},
    {"pretrained_hf_vit", "config.json", VIT_WIDE,
     "{\"input_height\":14,\"input_width\":21,\"position_height\":2,\"position_width\":8}",
     "vit.embeddings.position_embeddings", "huggingface", 1, 2, 8, 2, 3, SV_BICUBIC, false},
    {"pretrained_hf_dinov2", "config.json",
     "{\"architectures\":[\"Dinov2ForImageClassification\"],\"model_type\":\"dinov2\",\"num_"
     "attention_heads\":4,\"image_size\":[14,126],\"patch_size\":14}",
     NULL, "dinov2.embeddings.position_embeddings", "huggingface", 1, 3, 3, 1, 9, SV_BICUBIC,
     false},
    {"pretrained_hf_dinov2_reg_swiglu", "config.json",
     "{\"architectures\":[\"Dinov2WithRegistersForImageClassification\"],\"model_type\":\"dinov2_"
     "with_registers\",\"num_attention_heads\":3,\"image_size\":[56,14],"
     "\"patch_size\":14,\"use_swiglu_ffn\":true}",
     NULL, "dinov2_with_registers.embeddings.position_embeddings", "huggingface", 1, 2, 2, 4, 1,
     SV_BICUBIC_ANTIALIASED, false},
};
enum { COUNT = sizeof CASES / sizeof *CASES, FLAT = 5 };

/* Writes the checkpoint of a case. Returns the tensors, for own_free. */
static size_t write_case(open_case *self, own_tensor *list, const struct positions_case *of)
{
    const size_t count = own_golden(list, self, "");
    for (size_t t = 0; t < count; t++)
        if (of->flat && strcmp(list[t].name, "embeddings.patch_embedding.weight") == 0) {
            const int64_t shape[] = {list[t].desc.shape[0], 3 * 8 * 8};
            list[t] = own(list[t].name, 2, shape, list[t].from);
        }
    own_write(self, list, count);
    case_text(self, of->file, of->config);
    return count;
}

static const float *values_of(const own_tensor *list, size_t count, const char *name)
{
    for (size_t t = 0; t < count; t++)
        if (strcmp(list[t].name, name) == 0)
            return list[t].from;
    ck_abort_msg("there is no '%s'", name);
    return NULL;
}

/* Fails the test unless the model's positions are those of the rows `in`. */
static void check_positions(const svit_model *model, const struct positions_case *of,
                            const float *in, size_t dim)
{
    static float wanted[MOST], found[MOST], temporary[MOST];
    const size_t prefix = of->prefix * dim,
                 elements = prefix + of->out_height * of->out_width * dim;
    ck_assert_uint_le(elements, MOST);
    memcpy(wanted, in, prefix * sizeof *wanted);
    sv_position_resize(wanted + prefix, of->out_height, of->out_width, in + prefix, of->height,
                       of->width, dim, of->interpolation, temporary);
    WORKS(svit_model_get_parameter(model, "pos_embed", found, elements, err));
    ck_assert_mem_eq(found, wanted, elements * sizeof *found);
}

static size_t dim_of(const svit_model *model)
{
    svit_model_config config;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    return config.dim;
}

/* Opened with its configuration, and loaded through the map of its names. */
START_TEST(test_each_library_interpolates_in_its_way)
{
    static own_tensor list[CASE_TENSORS];
    static const float zeros[MOST];
    const struct positions_case *of = &CASES[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, of->golden);
    const size_t count = write_case(self, list, of);
    const svit_status status = case_open(self, &model, of->input);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    const float *in = values_of(list, count, of->name);
    const size_t dim = dim_of(model);
    check_positions(model, of, in, dim);
    WORKS(svit_model_set_parameter(model, "pos_embed", zeros,
                                   (of->prefix + of->out_height * of->out_width) * dim, err));
    WORKS(svit_model_load_into(model, fit_path(&self->folder, "model.safetensors"), of->map,
                               SVIT_LOAD_IGNORE_EXTRA, NULL, err));
    check_positions(model, of, in, dim);
    own_free(list, count);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* The positions of an adapter of SigLIP 2, whose file has no tensor that tells the model. */
START_TEST(test_an_adapter_interpolates_as_its_model)
{
    static const char ADAPTER[] = "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":6,"
                                  "\"bias\":\"none\"}";
    static own_tensor list[CASE_TENSORS];
    const struct positions_case *of = &CASES[FLAT];
    open_case all, *self = &all;
    svit_model *model = NULL;
    float rows[16 * 48];
    case_begin(self, of->golden);
    const size_t count = write_case(self, list, of);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = (float)(i * 37 % 101) / 8;
    fit_folder folder = fit_folder_make();
    const own_tensor own_rows = own("base_model.model.embeddings.position_embedding.weight", 2,
                                    (const int64_t[]){16, 48}, rows);
    const sv_safetensors_tensor tensor = {own_rows.name, &own_rows.desc, &own_rows};
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(&folder, "adapter_model.safetensors"), "{}", &tensor, 1,
                               own_fill, NULL, err));
    fit_write(fit_path(&folder, "adapter_config.json"), ADAPTER, sizeof ADAPTER - 1);
    const svit_open_options options = {
        .struct_size = sizeof options, .fields = of->input, .base = self->folder.path};
    const svit_status status =
        svit_model_open(&model, self->context, folder.path, &options, NULL, &self->err);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    check_positions(model, of, rows, 48);
    svit_model_free(model);
    own_free(list, count);
    unlink(fit_path(&folder, "adapter_model.safetensors"));
    unlink(fit_path(&folder, "adapter_config.json"));
    fit_folder_remove(&folder);
    case_end(self);
}
END_TEST

static Suite *open_positions_suite(void)
{
    Suite *suite = suite_create("open_positions");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_each_library_interpolates_in_its_way, 0, COUNT);
    tcase_add_test(tcase, test_an_adapter_interpolates_as_its_model);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_positions_suite)
