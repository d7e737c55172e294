/* Adapters of PEFT: a pair of matrices for queries and one for values of block 1, and a classifier
 * of two classes that was trained as a whole. */
#include "open_case.h"
#include "suite.h"

enum { DIM = 32, RANK = 2, CLASSES = 2, TENSORS = 6 };

static const char VIT[] = "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7}";
static const char LORA[] = "{\"peft_type\":\"LORA\",\"lora_alpha\":6,\"bias\":\"none\","
                           "\"base_model_name_or_path\":\"someone/else\"%s%s}";

/* The tensors of the adapter, in the names of transformers since version 5; those of the model have
 * the names before it. */
static const struct adapter_tensor {
    const char *name;
    int64_t shape[2];
} ADAPTER[TENSORS] = {
    {"base_model.model.classifier.bias", {CLASSES, 1}},
    {"base_model.model.classifier.weight", {CLASSES, DIM}},
    {"base_model.model.vit.layers.1.attention.q_proj.lora_A.weight", {RANK, DIM}},
    {"base_model.model.vit.layers.1.attention.q_proj.lora_B.weight", {DIM, RANK}},
    {"base_model.model.vit.layers.1.attention.v_proj.lora_A.weight", {RANK, DIM}},
    {"base_model.model.vit.layers.1.attention.v_proj.lora_B.weight", {DIM, RANK}},
};

/* Element e of tensor t. */
static float value_of(size_t t, size_t e)
{
    return (float)((double)((t * 31 + e * 17) % 23) / 23 - 0.4);
}

static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    (void)user;
    const struct adapter_tensor *of = tensor->source;
    for (size_t e = 0; e < tensor->desc->elements; e++)
        out[e] = value_of((size_t)(of - ADAPTER), e);
}

/* The adapter's tensors; `renamed` takes the place of the last one's name, and the tensor of number
 * `damaged` has other shapes: more rows, more columns, or one axis. */
static void write_tensors(const open_case *self, const fit_folder *folder, const char *renamed,
                          size_t damaged, size_t how)
{
    sv_safetensors_tensor tensors[TENSORS];
    sv_tensor_desc descs[TENSORS];
    for (size_t t = 0; t < TENSORS; t++) {
        const size_t rank = t == 0 || (t == damaged && how == 2) ? 1 : 2;
        int64_t shape[] = {ADAPTER[t].shape[0], ADAPTER[t].shape[1]};
        shape[how == 1] += t == damaged;
        ck_assert(sv_tensor_desc_init(&descs[t], SV_DTYPE_F32, shape, rank));
        tensors[t] = (sv_safetensors_tensor){
            t + 1 == TENSORS && renamed ? renamed : ADAPTER[t].name, &descs[t], &ADAPTER[t]};
    }
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(folder, "adapter_model.safetensors"), "{}", tensors,
                               TENSORS, fill, NULL, err));
}

/* `more`: members of the configuration. Without "r" among them it has the rank of the tensors. */
static void write_adapter(const open_case *self, const fit_folder *folder, const char *more,
                          const char *renamed)
{
    char text[512];
    write_tensors(self, folder, renamed, TENSORS, 0);
    snprintf(text, sizeof text, LORA, strstr(more, "\"r\":") ? "" : ",\"r\":2", more);
    fit_write(fit_path(folder, "adapter_config.json"), text, strlen(text));
}

static svit_status open_adapter(open_case *self, const fit_folder *folder, svit_model **model)
{
    const svit_open_options options = {.struct_size = sizeof options, .base = self->folder.path};
    return svit_model_open(model, self->context, folder->path, &options, NULL, &self->err);
}

static void begin(open_case *self, fit_folder *folder)
{
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", VIT);
    *folder = fit_folder_make();
}

static void end(open_case *self, const fit_folder *folder)
{
    unlink(fit_path(folder, "adapter_model.safetensors"));
    unlink(fit_path(folder, "adapter_config.json"));
    fit_folder_remove(folder);
    case_end(self);
}

static float *parameter_of(const svit_model *model, const char *name, size_t elements)
{
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, name, values, elements, err));
    return values;
}

/* W + scale B A in queries and values, keys as they were. */
static void check_attention(const svit_model *base, const svit_model *model, double scale)
{
    const size_t elements = 3 * DIM * DIM;
    float *old = parameter_of(base, "blocks.1.attn.qkv.weight", elements);
    float *new = parameter_of(model, "blocks.1.attn.qkv.weight", elements);
    for (size_t o = 0; o < 3 * DIM; o++)
        for (size_t i = 0; i < DIM; i++) {
            const size_t part = o / DIM, t = part == 0 ? 2 : 4;
            double sum = 0;
            for (size_t r = 0; r < RANK && part != 1; r++)
                sum +=
                    (double)value_of(t + 1, o % DIM * RANK + r) * (double)value_of(t, r * DIM + i);
            const double wanted = (double)old[o * DIM + i] + scale * sum;
            ck_assert_double_le(fabs((double)new[o * DIM + i] - wanted), 1e-6);
        }
    free(old);
    free(new);
}

/* The factor is alpha / rank, or alpha / sqrt(rank). */
START_TEST(test_adapters_are_merged)
{
    static const char *const more[] = {
        ",\"use_rslora\":true",
        "",
        ",\"init_lora_weights\":true",
        ",\"init_lora_weights\":false",
        ",\"init_lora_weights\":null",
        ",\"init_lora_weights\":\"gaussian\"",
        ",\"init_lora_weights\":\"orthogonal\"",
        ",\"init_lora_weights\":\"eva\"",
        ",\"loftq_config\":{},\"corda_config\":null,\"use_bdlora\":null"};
    open_case all, *self = &all;
    fit_folder folder;
    svit_model *base = NULL, *model = NULL;
    svit_model_config config;
    begin(self, &folder);
    write_adapter(self, &folder, more[_i], NULL);
    WORKS(case_open(self, &base, NULL));
    const svit_status status = open_adapter(self, &folder, &model);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    check_attention(base, model, _i == 0 ? 6 / sqrt(2) : 3);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.num_classes, CLASSES);
    float *head = parameter_of(model, "head.fc1.weight", CLASSES * DIM);
    for (size_t e = 0; e < CLASSES * DIM; e++)
        ck_assert_float_eq(head[e], value_of(1, e));
    float *old = parameter_of(base, "blocks.0.attn.qkv.weight", 3 * DIM * DIM);
    float *kept = parameter_of(model, "blocks.0.attn.qkv.weight", 3 * DIM * DIM);
    ck_assert_mem_eq(old, kept, 3 * DIM * DIM * sizeof *old);
    free(head);
    free(old);
    free(kept);
    svit_model_free(base);
    svit_model_free(model);
    end(self, &folder);
}
END_TEST

/* An adapter's own classifier has its own classes, whatever the configuration of the model
 * counts. */
START_TEST(test_a_classifier_of_an_adapter_has_its_classes)
{
    static const struct adapter_tensor head[] = {{"base_model.model.head.bias", {CLASSES, 1}},
                                                 {"base_model.model.head.weight", {CLASSES, DIM}}};
    static const char text[] = "{\"peft_type\":\"LORA\",\"lora_alpha\":6,\"r\":2}";
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    svit_model *model = NULL;
    svit_model_config config;
    sv_safetensors_tensor tensors[2];
    sv_tensor_desc descs[2];
    case_begin(self, "pretrained_timm_plain");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"architecture\":\"vit_tiny_patch16_224\",\"num_classes\":7,\"model_args\":"
              "{\"num_heads\":2,\"img_size\":[28,35]}}");
    for (size_t t = 0; t < 2; t++) {
        ck_assert(sv_tensor_desc_init(&descs[t], SV_DTYPE_F32, head[t].shape, t + 1));
        tensors[t] = (sv_safetensors_tensor){head[t].name, &descs[t], &ADAPTER[t]};
    }
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(&folder, "adapter_model.safetensors"), "{}", tensors, 2,
                               fill, NULL, err));
    fit_write(fit_path(&folder, "adapter_config.json"), text, strlen(text));
    const svit_status status = open_adapter(self, &folder, &model);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.num_classes, CLASSES);
    svit_model_free(model);
    end(self, &folder);
}
END_TEST

START_TEST(test_other_adapters_are_refused)
{
    static const struct refusal {
        const char *more, *renamed, *part;
        svit_status status;
    } refusals[] = {
        {",\"use_dora\":true", NULL, "use_dora is true", SVIT_E_UNSUPPORTED},
        {",\"fan_in_fan_out\":true", NULL, "fan_in_fan_out", SVIT_E_UNSUPPORTED},
        {",\"alpha_pattern\":{\"q\":3}", NULL, "alpha_pattern", SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":\"pissa\"", NULL, "init_lora_weights is 'pissa'",
         SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":\"pissa_niter_4\"", NULL,
         "true, false, 'gaussian', 'orthogonal' and 'eva' are accepted", SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":\"olora\"", NULL, "'olora'", SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":\"corda\"", NULL, "'corda'", SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":\"loftq\"", NULL, "'loftq'", SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":\"lora_ga\"", NULL, "'lora_ga'", SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":\"mica\"", NULL, "'mica'", SVIT_E_UNSUPPORTED},
        {",\"init_lora_weights\":[]", NULL, "init_lora_weights is 'no text'", SVIT_E_UNSUPPORTED},
        {",\"kasa_config\":{\"beta\":1}", NULL, "kasa_config is stated", SVIT_E_UNSUPPORTED},
        {",\"use_bdlora\":{\"nblocks\":2}", NULL, "use_bdlora is stated", SVIT_E_UNSUPPORTED},
        {",\"layer_replication\":[[0,1]]", NULL, "layer_replication is stated", SVIT_E_UNSUPPORTED},
        {",\"r\":4", NULL, "has the rank 2; by adapter_config.json r is 4", SVIT_E_FORMAT},
        {"", "base_model.model.vit.layers.7.attention.v_proj.lora_B.weight",
         "v_proj.lora_A.weight' and its other half do not fit", SVIT_E_FORMAT},
        {"", "base_model.model.vit.layers.1.attention.k_proj.lora_B.weight",
         "v_proj.lora_A.weight' and its other half do not fit", SVIT_E_FORMAT},
    };
    const struct refusal *wanted = &refusals[_i];
    open_case all, *self = &all;
    fit_folder folder;
    svit_model *model = NULL;
    begin(self, &folder);
    write_adapter(self, &folder, wanted->more, wanted->renamed);
    const svit_status status = open_adapter(self, &folder, &model);
    ck_assert_msg(status == wanted->status && strstr(self->err.message, wanted->part), "%d: %s",
                  (int)status, self->err.message);
    end(self, &folder);
}
END_TEST

/* Each member of the configuration with other values: refused, or the adapter is merged as
 * before. */
START_TEST(test_members_are_refused_or_change_nothing)
{
    static const struct {
        const char *key, *value;
        bool tells; /* another value is another model */
    } members[] = {{"peft_type", "\"LORA\"", false}, {"lora_alpha", "6", true},
                   {"bias", "\"none\"", false},      {"use_rslora", "false", true},
                   {"alpha_pattern", "{}", false},   {"use_dora", "false", false},
                   {"lora_bias", "false", false},    {"r", "2", false},
                   {"target_modules", "[]", false},  {"init_lora_weights", "true", false},
                   {"kasa_config", "null", false},   {"base_model_name_or_path", "\"a\"", false}};
    static const char *const values[] = {"null",     "true", "7",  "-1",       "1e999",
                                         "\"text\"", "[]",   "{}", "{\"q\":1}"};
    enum { MEMBERS = sizeof members / sizeof *members };
    open_case all, *self = &all;
    fit_folder folder;
    svit_model *base = NULL;
    begin(self, &folder);
    WORKS(case_open(self, &base, NULL));
    write_tensors(self, &folder, NULL, TENSORS, 0);
    for (size_t i = 0; i < MEMBERS * (sizeof values / sizeof *values); i++) {
        char text[512] = "{\"all\":0";
        svit_model *model = NULL;
        for (size_t m = 0; m < MEMBERS; m++)
            snprintf(text + strlen(text), sizeof text - strlen(text), ",\"%s\":%s", members[m].key,
                     m == i % MEMBERS ? values[i / MEMBERS] : members[m].value);
        strcat(text, "}");
        fit_write(fit_path(&folder, "adapter_config.json"), text, strlen(text));
        if (open_adapter(self, &folder, &model) != SVIT_OK)
            ck_assert_msg(strstr(self->err.message, folder.path), "%s: %s", text,
                          self->err.message);
        else if (!members[i % MEMBERS].tells)
            check_attention(base, model, 3);
        svit_model_free(model);
    }
    svit_model_free(base);
    end(self, &folder);
}
END_TEST

START_TEST(test_halves_of_other_shapes_are_refused)
{
    open_case all, *self = &all;
    fit_folder folder;
    begin(self, &folder);
    write_adapter(self, &folder, "", NULL);
    for (size_t i = 3; i < 3 * TENSORS; i++) {
        svit_model *model = NULL;
        write_tensors(self, &folder, NULL, i / 3, i % 3);
        ck_assert_int_eq(open_adapter(self, &folder, &model), SVIT_E_FORMAT);
        ck_assert_ptr_nonnull(strstr(self->err.message, folder.path));
    }
    end(self, &folder);
}
END_TEST

/* Changes the type that the header gives a tensor to one of as many bytes. */
static void retype(const fit_folder *folder, const char *name, const char *dtype)
{
    size_t bytes;
    const char *path = fit_path(folder, "adapter_model.safetensors");
    char *data = fit_read(path, &bytes), quoted[160];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    char *at = strstr(data + 8, quoted);
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_nonnull(at = strstr(at, "F32"));
    memcpy(at, dtype, 3);
    fit_write(path, data, bytes);
    free(data);
}

/* No tensor of an adapter may be of whole numbers. */
START_TEST(test_types_of_halves_are_checked)
{
    open_case all, *self = &all;
    fit_folder folder;
    begin(self, &folder);
    for (size_t t = 0; t < TENSORS; t++) {
        svit_model *model = NULL;
        char wanted[200];
        write_adapter(self, &folder, "", NULL);
        retype(&folder, ADAPTER[t].name, "I32");
        ck_assert_int_eq(open_adapter(self, &folder, &model), SVIT_E_FORMAT);
        snprintf(wanted, sizeof wanted, "'%.80s", ADAPTER[t].name);
        ck_assert_msg(strstr(self->err.message, wanted), "%s", self->err.message);
        ck_assert_ptr_null(model);
    }
    end(self, &folder);
}
END_TEST

/* Writes tensors of names and shapes of the test's choice; each is full of ones. */
static void fill_ones(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    (void)user;
    for (size_t e = 0; e < tensor->desc->elements; e++)
        out[e] = 1;
}

/* Adapters of few tensors: of none, which changes nothing, and of pairs that fit no weight. */
START_TEST(test_adapters_of_few_tensors)
{
    enum { MOST = 2 };
    static const struct few {
        struct {
            const char *name;
            int64_t shape[2];
        } tensors[MOST];
        const char *part; /* NULL: it is merged, and the model is as it was */
    } cases[] = {
        {{{NULL, {0}}}, NULL},
        {{{"vit.embeddings.patch_embeddings.projection.lora_A.weight", {RANK, 3}},
          {"vit.embeddings.patch_embeddings.projection.lora_B.weight", {DIM, RANK}}},
         "do not fit the weight 'patch_embed.proj.weight'"},
        {{{"vit.layers.1.layernorm_before.lora_A.weight", {RANK, 0}},
          {"vit.layers.1.layernorm_before.lora_B.weight", {DIM, RANK}}},
         "do not fit the weight 'blocks.1.norm1.weight'"},
        {{{"vit.layers.1.attention.q_proj.lora_A.weight", {0, DIM}},
          {"vit.layers.1.attention.q_proj.lora_B.weight", {DIM, 0}}},
         "do not fit the weight 'blocks.1.attn.qkv.weight'"},
        {{{"vit.layers.1.attention.q_proj.lora_A.weight", {RANK, DIM}},
          {"vit.layers.1.attention.q_proj.lora_C.weight", {DIM, RANK}}},
         "do not fit the weight 'blocks.1.attn.qkv.weight'"},
        {{{"vit.layers.1.attention.q_proj.magnitude", {DIM, 1}}, {NULL, {0}}},
         "q_proj.magnitude' belongs to no weight of the model"},
    };
    const struct few *of = &cases[_i];
    sv_safetensors_tensor tensors[MOST];
    sv_tensor_desc descs[MOST];
    char names[MOST][160], text[512];
    size_t count = 0;
    open_case all, *self = &all;
    fit_folder folder;
    svit_model *model = NULL;
    begin(self, &folder);
    for (; count < MOST && of->tensors[count].name; count++) {
        snprintf(names[count], sizeof names[0], "base_model.model.%s", of->tensors[count].name);
        ck_assert(sv_tensor_desc_init(&descs[count], SV_DTYPE_F32, of->tensors[count].shape, 2));
        tensors[count] = (sv_safetensors_tensor){names[count], &descs[count], NULL};
    }
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(&folder, "adapter_model.safetensors"), "{}", tensors, count,
                               fill_ones, NULL, err));
    snprintf(text, sizeof text, LORA, ",\"r\":2", "");
    fit_write(fit_path(&folder, "adapter_config.json"), text, strlen(text));
    const svit_status status = open_adapter(self, &folder, &model);
    if (of->part) {
        ck_assert_msg(status == SVIT_E_FORMAT && strstr(self->err.message, of->part), "%d: %s",
                      (int)status, self->err.message);
    } else {
        ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
        ck_assert_double_le(case_difference(self, model), 1e-5);
    }
    svit_model_free(model);
    end(self, &folder);
}
END_TEST

/* A file of this library has other names than those that an adapter refers to. */
START_TEST(test_adapters_of_own_files_are_refused)
{
    open_case all, *self = &all;
    fit_folder folder;
    svit_model *base = NULL, *model = NULL;
    begin(self, &folder);
    WORKS(case_open(self, &base, NULL));
    WORKS(svit_model_save(base, fit_path(&self->folder, "best.safetensors"), err));
    write_adapter(self, &folder, "", NULL);
    ck_assert_int_eq(open_adapter(self, &folder, &model), SVIT_E_UNSUPPORTED);
    ck_assert_msg(strstr(self->err.message, "best.safetensors is a model file of this library"),
                  "%s", self->err.message);
    svit_model_free(base);
    end(self, &folder);
}
END_TEST

/* What the configuration names is not there, and the option is not given. */
START_TEST(test_the_model_of_an_adapter_is_asked_for)
{
    open_case all, *self = &all;
    fit_folder folder;
    svit_model *model = NULL;
    begin(self, &folder);
    write_adapter(self, &folder, "", NULL);
    FAILS(svit_model_open(&model, self->context, folder.path, NULL, NULL, err), SVIT_E_IO,
          "'someone/else' that the adapter changes is not there; the option base");
    static const char NAMELESS[] = "{\"peft_type\":\"LORA\",\"lora_alpha\":6}";
    fit_write(fit_path(&folder, "adapter_config.json"), NAMELESS, strlen(NAMELESS));
    FAILS(svit_model_open(&model, self->context, folder.path, NULL, NULL, err), SVIT_E_IO,
          "the model '' that the adapter changes is not there; the option base");
    unlink(fit_path(&folder, "adapter_config.json"));
    FAILS(svit_model_open(&model, self->context, folder.path, NULL, NULL, err), SVIT_E_IO,
          "adapter_config.json is not beside it");
    end(self, &folder);
}
END_TEST

/* What the adapter does not have whole is in the model's own file, in its shape: each tensor but
 * the classifier's is left out, and then halved. */
START_TEST(test_a_damaged_model_is_refused_with_an_adapter)
{
    open_case all, *self = &all;
    fit_folder folder;
    own_tensor list[CASE_TENSORS], rest[CASE_TENSORS];
    begin(self, &folder);
    write_adapter(self, &folder, "", NULL);
    const size_t count = own_golden(list, self, "");
    size_t refused = 0;
    for (size_t k = 0; k < 2 * count; k++) {
        svit_model *model = NULL;
        const size_t at = k / 2;
        memcpy(rest, list, sizeof list);
        if (k % 2 == 0) {
            memmove(&rest[at], &rest[at + 1], (count - at - 1) * sizeof *rest);
        } else {
            int64_t shape[SV_MAX_RANK];
            memcpy(shape, list[at].desc.shape, sizeof shape);
            const size_t last = list[at].desc.rank - 1;
            shape[last] = (shape[last] + 1) / 2;
            rest[at] = own(list[at].name, list[at].desc.rank, shape, list[at].from);
        }
        if (rest[at].desc.elements == list[at].desc.elements && k % 2 == 1)
            continue;
        own_write(self, rest, count - (k % 2 == 0));
        const svit_status status = open_adapter(self, &folder, &model);
        if (strstr(list[at].name, "classifier")) {
            ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
        } else {
            ck_assert_msg(status != SVIT_OK, "%s is damaged", list[at].name);
            refused++;
        }
        svit_model_free(model);
    }
    ck_assert_uint_gt(refused, 60);
    own_free(list, count);
    end(self, &folder);
}
END_TEST

static Suite *open_adapter_suite(void)
{
    Suite *suite = suite_create("open_adapter");
    TCase *tcase = tcase_create("open");
    tcase_add_test(tcase, test_a_classifier_of_an_adapter_has_its_classes);
    tcase_add_loop_test(tcase, test_adapters_are_merged, 0, 9);
    tcase_add_loop_test(tcase, test_other_adapters_are_refused, 0, 17);
    tcase_add_test(tcase, test_members_are_refused_or_change_nothing);
    tcase_add_test(tcase, test_halves_of_other_shapes_are_refused);
    tcase_add_test(tcase, test_types_of_halves_are_checked);
    tcase_add_test(tcase, test_a_damaged_model_is_refused_with_an_adapter);
    tcase_add_loop_test(tcase, test_adapters_of_few_tensors, 0, 6);
    tcase_add_test(tcase, test_adapters_of_own_files_are_refused);
    tcase_add_test(tcase, test_the_model_of_an_adapter_is_asked_for);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_adapter_suite)
