/* Checks what all configuration structs of the public API promise: their init functions fill
 * structs of any size, and their JSON forms read structs of older and newer headers. */
#include "fit.h"

typedef struct type {
    const char *name;
    size_t size;
    svit_status (*init)(void *config, size_t size);
} type;

typedef struct json_type {
    type type;
    svit_status (*read)(void *config, size_t size, const char *json, svit_error *err);
    svit_status (*write)(const void *config, char *buffer, size_t capacity, size_t *needed,
                         svit_error *err);
} json_type;

/* config_types.h, which the build makes of tests/abi/symbols.txt, has STRUCT(svit_matmul) for each
 * exported svit_matmul_init, and JSON(svit_loader_config) for each exported
 * svit_loader_config_from_json. */
#define STRUCT(name)                                                                               \
    static svit_status name##_fill(void *config, size_t size)                                      \
    {                                                                                              \
        return name##_init(config, size);                                                          \
    }
#define JSON(name)                                                                                 \
    static svit_status name##_read(void *config, size_t size, const char *json, svit_error *err)   \
    {                                                                                              \
        return name##_from_json(config, size, json, err);                                          \
    }                                                                                              \
    static svit_status name##_write(const void *config, char *buffer, size_t capacity,             \
                                    size_t *needed, svit_error *err)                               \
    {                                                                                              \
        return name##_to_json(config, buffer, capacity, needed, err);                              \
    }
#include "config_types.h"
#undef STRUCT
#undef JSON

#define STRUCT(name) {#name, sizeof(name), name##_fill},
#define JSON(name)
static const type TYPES[] = {
#include "config_types.h"
};
#undef STRUCT
#undef JSON

#define STRUCT(name)
#define JSON(name) {{#name, sizeof(name), name##_fill}, name##_read, name##_write},
static const json_type JSON_TYPES[] = {
#include "config_types.h"
};

enum {
    TYPE_COUNT = sizeof TYPES / sizeof *TYPES,
    JSON_COUNT = sizeof JSON_TYPES / sizeof *JSON_TYPES,
    LIMIT = 65536, /* bytes of the largest struct that is accepted */
    TAIL = 24,     /* bytes of fields of a later version */
};

typedef union any {
    uint32_t struct_size;
    double aligned;
    unsigned char bytes[LIMIT + TAIL];
} any;

/* Bytes begin..end all have the value. */
static void check_bytes(const any *config, size_t begin, size_t end, int value)
{
    size_t i = begin;
    while (i < end && config->bytes[i] == value)
        i++;
    ck_assert_msg(i >= end, "byte %zu is %d, not %d", i, config->bytes[i % sizeof *config], value);
}

START_TEST(test_a_struct_of_any_size_is_filled)
{
    static any whole, config;
    const type *what = &TYPES[_i];
    const size_t sizes[] = {4, 8, what->size - 1, what->size, what->size + TAIL, LIMIT};
    ck_assert_int_eq(what->init(&whole, what->size), SVIT_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t size = sizes[i], common = size < what->size ? size : what->size;
        memset(&config, 0xff, sizeof config);
        ck_assert_int_eq(what->init(&config, size), SVIT_OK);
        ck_assert_uint_eq(config.struct_size, size);
        ck_assert_mem_eq(config.bytes + 4, whole.bytes + 4, common - 4);
        check_bytes(&config, common, size, 0);
        check_bytes(&config, size, sizeof config, 0xff);
    }
    memset(&config, 0xff, sizeof config);
    ck_assert_int_eq(what->init(NULL, what->size), SVIT_E_ARGUMENT);
    ck_assert_int_eq(what->init(&config, 3), SVIT_E_ARGUMENT);
    ck_assert_int_eq(what->init(&config, LIMIT + 1), SVIT_E_ARGUMENT);
    check_bytes(&config, 0, sizeof config, 0xff);
}
END_TEST

START_TEST(test_the_defaults_are_those_of_an_empty_object)
{
    static any config, back;
    static char text[4096];
    const json_type *what = &JSON_TYPES[_i];
    ck_assert_int_eq(what->type.init(&config, what->type.size), SVIT_OK);
    WORKS(what->read(&back, what->type.size, "{}", err));
    ck_assert_mem_eq(&back, &config, what->type.size);
    WORKS(what->write(&config, text, sizeof text, NULL, err));
    memset(&back, 0xff, sizeof back);
    WORKS(what->read(&back, what->type.size, text, err));
    ck_assert_mem_eq(&back, &config, what->type.size);
}
END_TEST

/* Fields of a later version are accepted while they are 0. */
START_TEST(test_a_newer_struct_is_read_if_its_tail_is_zero)
{
    static any config;
    const json_type *what = &JSON_TYPES[_i];
    WORKS(what->read(&config, what->type.size + TAIL, "{}", err));
    ck_assert_uint_eq(config.struct_size, what->type.size + TAIL);
    WORKS(what->write(&config, NULL, 0, NULL, err));
    config.bytes[what->type.size + TAIL - 1] = 1;
    FAILS(what->write(&config, NULL, 0, NULL, err), SVIT_E_VERSION, what->type.name);
}
END_TEST

START_TEST(test_a_wrong_call_names_the_argument)
{
    static any config;
    const json_type *what = &JSON_TYPES[_i];
    const size_t size = what->type.size;
    char call[80];
    memset(&config, 0xff, sizeof config);
    snprintf(call, sizeof call, "%s_from_json: config is NULL", what->type.name);
    FAILS(what->read(NULL, size, "{}", err), SVIT_E_ARGUMENT, call);
    snprintf(call, sizeof call, "%s_from_json: json is NULL", what->type.name);
    FAILS(what->read(&config, size, NULL, err), SVIT_E_ARGUMENT, call);
    snprintf(call, sizeof call, "%s_to_json: config is NULL", what->type.name);
    FAILS(what->write(NULL, NULL, 0, NULL, err), SVIT_E_ARGUMENT, call);
    FAILS(what->read(&config, 3, "{}", err), SVIT_E_ARGUMENT, what->type.name);
    FAILS(what->read(&config, size, "[]", err), SVIT_E_FORMAT, "is not a JSON object");
    FAILS(what->read(&config, size, "{\"no field\":1}", err), SVIT_E_ARGUMENT, "'no field'");
    check_bytes(&config, 0, sizeof config, 0xff);
    ck_assert_int_eq(what->type.init(&config, size), SVIT_OK);
    config.struct_size = 4;
    FAILS(what->write(&config, NULL, 0, NULL, err), SVIT_E_ARGUMENT, what->type.name);
    config.struct_size = LIMIT + 1;
    FAILS(what->write(&config, NULL, 0, NULL, err), SVIT_E_ARGUMENT, what->type.name);
}
END_TEST

/* A later version may use the place of `reserved` for a new field. */
START_TEST(test_reserved_is_zero)
{
    svit_class_config added;
    svit_model_config model;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    svit_class_config_init(&added, sizeof added);
    svit_model_config_init(&model, sizeof model);
    svit_optimizer_config_init(&optimizer, sizeof optimizer);
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.augment_count = 1;
    pipeline.augment[0].kind = SVIT_AUGMENT_TRIVIALAUGMENT;
    pipeline.augment[0].reserved = 7;
    added.reserved = model.reserved = optimizer.reserved = 7;
    FAILS(svit_class_config_to_json(&added, NULL, 0, NULL, err), SVIT_E_VERSION,
          "reserved of svit_class_config is 7");
    FAILS(svit_model_config_to_json(&model, NULL, 0, NULL, err), SVIT_E_VERSION,
          "reserved of svit_model_config is 7");
    FAILS(svit_optimizer_config_to_json(&optimizer, NULL, 0, NULL, err), SVIT_E_VERSION,
          "reserved of svit_optimizer_config is 7");
    FAILS(svit_pipeline_config_to_json(&pipeline, NULL, 0, NULL, err), SVIT_E_VERSION,
          "reserved of svit_augment_step is 7");
}
END_TEST

/* What is computed with is a float32, which would be at the open end itself. */
START_TEST(test_open_ends_are_those_of_float32)
{
    static const struct {
        const char *accepted, *refused;
    } CASES[] = {{"{\"epsilon\": 1.2e-38}", "{\"epsilon\": 1.1e-38}"},
                 {"{\"epsilon\": 1e-30}", "{\"epsilon\": 1e-50}"},
                 {"{\"beta2\": 0.9999999}", "{\"beta2\": 0.99999999}"},
                 {"{\"momentum\": 0.9999999}", "{\"momentum\": 0.999999999999}"}};
    svit_optimizer_config optimizer;
    svit_trainer_config trainer;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        WORKS(
            svit_optimizer_config_from_json(&optimizer, sizeof optimizer, CASES[i].accepted, err));
        FAILS(svit_optimizer_config_from_json(&optimizer, sizeof optimizer, CASES[i].refused, err),
              SVIT_E_ARGUMENT, "it is in ");
    }
    WORKS(svit_trainer_config_from_json(&trainer, sizeof trainer,
                                        "{\"label_smoothing\": 0.9999999}", err));
    FAILS(svit_trainer_config_from_json(&trainer, sizeof trainer,
                                        "{\"label_smoothing\": 0.99999999}", err),
          SVIT_E_ARGUMENT, "label_smoothing is 0.99999999; it is in [0, 1) as a float32");
    FAILS(
        svit_optimizer_config_from_json(&optimizer, sizeof optimizer, "{\"epsilon\": 1e-38}", err),
        SVIT_E_ARGUMENT, "38] as a normal float32");
    FAILS(svit_trainer_config_from_json(&trainer, sizeof trainer, "{\"class_weights\": [1e-50]}",
                                        err),
          SVIT_E_ARGUMENT, "1e-50");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("configuration types");
    TCase *c = tcase_create("configuration types");
    tcase_add_loop_test(c, test_a_struct_of_any_size_is_filled, 0, TYPE_COUNT);
    tcase_add_loop_test(c, test_the_defaults_are_those_of_an_empty_object, 0, JSON_COUNT);
    tcase_add_loop_test(c, test_a_newer_struct_is_read_if_its_tail_is_zero, 0, JSON_COUNT);
    tcase_add_loop_test(c, test_a_wrong_call_names_the_argument, 0, JSON_COUNT);
    tcase_add_test(c, test_reserved_is_zero);
    tcase_add_test(c, test_open_ends_are_those_of_float32);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
