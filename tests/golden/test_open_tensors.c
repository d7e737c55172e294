/* Each tensor of a checkpoint is left out, renamed, flattened, turned, or widened by a column. The
 * checkpoint is refused with a message that names its place, or it computes the same logits. */
#include "open_case.h"
#include "suite.h"

/* A golden file and the JSON beside it. */
static const struct damaged {
    const char *golden, *file, *text;
} CHECKPOINTS[] = {
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"image_size\":28,\"patch_size\":7}"},
    {"pretrained_hf_dinov2_reg_swiglu", "config.json",
     "{\"architectures\":[\"Dinov2WithRegistersForImageClassification\"],\"model_type\":"
     "\"dinov2_with_registers\",\"num_attention_heads\":3,\"image_size\":28,\"patch_size\":14,"
     "\"use_swiglu_ffn\":true,\"num_register_tokens\":3}"},
    {"pretrained_hf_clip", "config.json",
     "{\"model_type\":\"clip_vision_model\",\"num_attention_heads\":4,\"image_size\":32,"
     "\"patch_size\":8}"},
    {"family_hf_siglip", "config.json",
     "{\"model_type\":\"siglip_vision_model\",\"num_attention_heads\":3,\"image_size\":32,"
     "\"patch_size\":8}"},
    {"family_timm_rope_mixed", "config.json",
     "{\"architecture\":\"vit_small_patch16_rope_mixed_224\",\"model_args\":{\"img_size\":32}}"},
    {"family_timm_eva02_base", "config.json",
     "{\"architecture\":\"eva02_base_patch14_448\",\"model_args\":{\"img_size\":28,\"num_heads\":3}"
     "}"},
    {"family_timm_pe_core", "config.json",
     "{\"architecture\":\"vit_pe_core_tiny_patch16_384\",\"model_args\":{\"img_size\":32,"
     "\"num_heads\":3}}"},
    {"pretrained_timm_distilled", "config.json",
     "{\"architecture\":\"deit_tiny_distilled_patch16_224\",\"model_args\":{\"num_heads\":3}}"},
    {"family_timm_dpwee", "config.json", "{\"architecture\":\"vit_dpwee_patch16_reg1_gap_256\"}"},
    {"family_timm_dwee", "config.json",
     "{\"architecture\":\"vit_dwee_patch16_reg1_gap_256\",\"model_args\":{\"img_size\":[32,48]}}"},
    {"family_timm_pwee", "config.json",
     "{\"architecture\":\"vit_pwee_patch16_reg1_gap_256\",\"model_args\":{\"num_heads\":3}}"},
    {"family_timm_xp", "config.json",
     "{\"architecture\":\"vit_base_patch16_xp_224\",\"model_args\":{\"img_size\":[32,48]}}"},
    {"pretrained_openclip", "open_clip_config.json",
     "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{\"head_width\":10,"
     "\"width\":40,"
     "\"image_size\":32}}}"}};
enum { CHECKPOINT_COUNT = sizeof CHECKPOINTS / sizeof *CHECKPOINTS };

typedef enum damage { LEFT_OUT, RENAMED, FLATTENED, TURNED, WIDENED, DAMAGES } damage;
static const char *const DAMAGE_NAMES[] = {"left out", "renamed", "flattened", "turned", "widened"};

/* A tensor as it is written, and the golden file's. */
typedef struct written {
    char name[160];
    sv_tensor_desc desc;
    const sv_safetensors_entry *entry;
} written;

/* What a tensor is damaged to; false if that leaves it as it is. */
static bool change(written *out, damage how)
{
    const sv_tensor_desc old = out->desc;
    int64_t shape[SV_MAX_RANK];
    size_t rank = old.rank;
    if (how == RENAMED)
        strcat(out->name, "x");
    if (how == LEFT_OUT || how == RENAMED)
        return true;
    for (size_t i = 0; i < rank; i++)
        shape[i] = old.shape[how == TURNED ? rank - 1 - i : i];
    if (how == FLATTENED) {
        shape[0] = (int64_t)old.elements;
        rank = 1;
    }
    if (how == WIDENED && rank > 0)
        shape[rank - 1]++;
    ck_assert(sv_tensor_desc_init(&out->desc, old.dtype, shape, rank));
    return rank != old.rank || memcmp(shape, old.shape, rank * sizeof *shape) != 0;
}

/* The elements of a tensor in the golden file; those that it has more are zeros. */
static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    const open_case *self = user;
    const written *of = tensor->source;
    float *values = calloc(of->desc.elements + of->entry->desc.elements, sizeof *values);
    WORKS(sv_safetensors_read_f32(self->golden, of->entry, values, err));
    memcpy(out, values, of->desc.elements * sizeof *out);
    free(values);
}

/* Writes the checkpoint with one tensor damaged. False: there is no such tensor or no such
 * damage. */
static bool write_damaged(open_case *self, size_t number, damage how, char name[160])
{
    static written all[CASE_TENSORS];
    sv_safetensors_tensor tensors[CASE_TENSORS];
    size_t count = 0, kept = 0;
    bool is_damaged = false;
    for (size_t i = 0; i < sv_safetensors_count(self->golden); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(self->golden, i);
        if (strncmp(entry->name, "param.", 6) != 0)
            continue;
        written *of = &all[kept];
        *of = (written){.desc = entry->desc, .entry = entry};
        snprintf(of->name, sizeof of->name - 1, "%s", entry->name + 6);
        if (count++ == number) {
            snprintf(name, 160, "%s", of->name);
            is_damaged = change(of, how);
            if (how == LEFT_OUT)
                continue;
        }
        tensors[kept++] = (sv_safetensors_tensor){of->name, &of->desc, of};
    }
    if (is_damaged)
        WORKS(sv_safetensors_write(&self->context->allocator,
                                   fit_path(&self->folder, "model.safetensors"), "{}", tensors,
                                   kept, fill, self, err));
    return is_damaged;
}

START_TEST(test_tensors_are_refused_or_not_needed)
{
    const struct damaged *of = &CHECKPOINTS[_i / DAMAGES];
    const damage how = _i % DAMAGES;
    open_case all, *self = &all;
    char name[160];
    size_t refused = 0, opened = 0;
    case_begin(self, of->golden);
    case_text(self, of->file, of->text);
    for (size_t number = 0; number < CASE_TENSORS; number++) {
        svit_model *model = NULL;
        if (!write_damaged(self, number, how, name))
            continue;
        const svit_status status = case_open(self, &model, NULL);
        if (status == SVIT_OK)
            ck_assert_msg(case_difference(self, model) <= 1e-5, "%s %s: other logits", name,
                          DAMAGE_NAMES[how]);
        else
            ck_assert_msg(strstr(self->err.message, self->folder.path), "%s: %s", name,
                          self->err.message);
        *(status == SVIT_OK ? &opened : &refused) += 1;
        svit_model_free(model);
    }
    ck_assert_msg(refused >= 6 && opened <= 4, "%s: %zu refused, %zu opened", DAMAGE_NAMES[how],
                  refused, opened);
    case_end(self);
}
END_TEST

/* DeiT's distillation token has a head of its own in the class with a teacher, which its tensors
 * tell where nothing states it; in the class with one head it is a register that has a position. */
START_TEST(test_a_distillation_token_is_what_its_class_makes_of_it)
{
    static const int64_t TOKEN[] = {1, 1, 32}, POSITIONS[] = {1, 18, 32}, WEIGHT[] = {6, 32};
    const bool has_teacher = _i > 0, is_stated = _i < 2;
    own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    char text[256];
    case_begin(self, "pretrained_hf_vit");
    size_t count = own_golden(list, self, "");
    for (size_t t = 0; t < count; t++) {
        if (strcmp(list[t].name, "vit.embeddings.position_embeddings") == 0) {
            golden_free((float *)(uintptr_t)list[t].from);
            list[t] = own(list[t].name, 3, POSITIONS, NULL);
        }
        if (has_teacher && strncmp(list[t].name, "classifier.", 11) == 0) {
            snprintf(text, sizeof text, "cls_%.100s", list[t].name);
            strcpy(list[t].name, text);
        }
    }
    list[count++] = own("vit.embeddings.distillation_token", 3, TOKEN, NULL);
    if (has_teacher) {
        list[count++] = own("distillation_classifier.weight", 2, WEIGHT, NULL);
        list[count++] = own("distillation_classifier.bias", 1, WEIGHT, NULL);
    }
    own_write(self, list, count);
    own_free(list, count);
    snprintf(text, sizeof text,
             "{\"%s\":[\"DeiTForImageClassification%s\"],\"model_type\":\"deit\","
             "\"num_attention_heads\":2,\"image_size\":28,\"patch_size\":7}",
             is_stated ? "architectures" : "lost", has_teacher ? "WithTeacher" : "");
    case_text(self, "config.json", text);
    const svit_status status = case_open(self, &model, NULL);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_int_eq(config.distilled, has_teacher);
    ck_assert_uint_eq(config.register_tokens, !has_teacher);
    ck_assert_int_eq(config.position_tokens, SVIT_POSITION_ALL);
    svit_model_free(model);
    case_end(self);
}
END_TEST

static Suite *open_tensors_suite(void)
{
    Suite *suite = suite_create("open_tensors");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_tensors_are_refused_or_not_needed, 0,
                        CHECKPOINT_COUNT * DAMAGES);
    tcase_add_loop_test(tcase, test_a_distillation_token_is_what_its_class_makes_of_it, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_tensors_suite)
