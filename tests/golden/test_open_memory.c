/* Empty tensors tell of a model that is as large as their other axis: a small file with them is
 * refused before the weights of that model are allocated. */
#include "open_case.h"
#include "suite.h"

enum { ROWS = 1 << 19, MOST = 1 << 20 };

static size_t largest; /* bytes of an allocation */

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *memory = NULL;
    largest = bytes > largest ? bytes : largest;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static void begin(open_case *self, const char *golden)
{
    svit_context_config config;
    case_begin(self, golden);
    svit_context_free(self->context);
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.allocate = allocate;
    config.release = release;
    WORKS(svit_context_create(&self->context, &config, err));
    largest = 0;
}

static void empty(own_tensor *list, size_t count, const char *name, int64_t rows, int64_t columns)
{
    size_t t = 0;
    while (t < count && strcmp(list[t].name, name) != 0)
        t++;
    ck_assert_uint_lt(t, count);
    golden_free((float *)(uintptr_t)list[t].from);
    list[t] = own(name, 2, (const int64_t[]){rows, columns}, NULL);
}

/* An MLP of half a million channels, of which the file has none. */
START_TEST(test_the_widths_of_empty_tensors_cost_nothing)
{
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    begin(self, "pretrained_timm_plain");
    const size_t count = own_golden(list, self, "");
    empty(list, count, "blocks.0.mlp.fc1.weight", ROWS, 0);
    empty(list, count, "blocks.0.mlp.fc2.weight", 0, ROWS);
    own_write(self, list, count);
    case_text(self, "config.json",
              "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":2,"
              "\"img_size\":[28,35]}}");
    const svit_status status = case_open(self, &model, NULL);
    ck_assert_msg(status == SVIT_E_FORMAT &&
                      strstr(self->err.message, "mlp.fc1.weight' is [524288"),
                  "%d: %s", (int)status, self->err.message);
    ck_assert_uint_le(largest, MOST);
    own_free(list, count);
    case_end(self);
}
END_TEST

/* The classifier of an adapter, which replaces that of the model. */
START_TEST(test_so_do_those_of_an_adapter)
{
    static const char *const names[] = {"base_model.model.classifier.bias",
                                        "base_model.model.classifier.weight"};
    static const int64_t shapes[2][2] = {{ROWS, 0}, {ROWS, 0}};
    open_case all, *self = &all;
    svit_model *model = NULL;
    own_tensor list[2];
    sv_safetensors_tensor tensors[2];
    begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7}");
    fit_folder folder = fit_folder_make();
    static const char ADAPTER[] = "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":6,"
                                  "\"bias\":\"none\"}";
    fit_write(fit_path(&folder, "adapter_config.json"), ADAPTER, sizeof ADAPTER - 1);
    for (size_t i = 0; i < 2; i++) {
        list[i] = own(names[i], 2, shapes[i], NULL);
        tensors[i] = (sv_safetensors_tensor){list[i].name, &list[i].desc, &list[i]};
    }
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(&folder, "adapter_model.safetensors"), "{}", tensors, 2,
                               own_fill, NULL, err));
    const svit_open_options options = {.struct_size = sizeof options, .base = self->folder.path};
    const svit_status status =
        svit_model_open(&model, self->context, folder.path, &options, NULL, &self->err);
    ck_assert_msg(status == SVIT_E_FORMAT &&
                      strstr(self->err.message, "classifier.weight' is [524288"),
                  "%d: %s", (int)status, self->err.message);
    ck_assert_uint_le(largest, MOST);
    unlink(fit_path(&folder, "adapter_model.safetensors"));
    unlink(fit_path(&folder, "adapter_config.json"));
    fit_folder_remove(&folder);
    case_end(self);
}
END_TEST

static Suite *open_memory_suite(void)
{
    Suite *suite = suite_create("open_memory");
    TCase *tcase = tcase_create("open");
    tcase_add_test(tcase, test_the_widths_of_empty_tensors_cost_nothing);
    tcase_add_test(tcase, test_so_do_those_of_an_adapter);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_memory_suite)
