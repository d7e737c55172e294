/* The JSON of every configuration: the first byte chooses the struct. What was read is written,
 * read again and written again, to the same text. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define STRUCT(type)                                                                               \
    {                                                                                              \
        sizeof(svit_##type), from_##type, to_##type                                                \
    }
#define FUNCTIONS(type)                                                                            \
    static svit_status from_##type(void *config, const char *json, svit_error *err)                \
    {                                                                                              \
        return svit_##type##_from_json(config, sizeof(svit_##type), json, err);                    \
    }                                                                                              \
    static svit_status to_##type(const void *config, char *buffer, size_t capacity,                \
                                 size_t *needed, svit_error *err)                                  \
    {                                                                                              \
        return svit_##type##_to_json(config, buffer, capacity, needed, err);                       \
    }

FUNCTIONS(model_config)
FUNCTIONS(optimizer_config)
FUNCTIONS(pipeline_config)
FUNCTIONS(session_config)
FUNCTIONS(loader_config)
FUNCTIONS(trainer_config)
FUNCTIONS(head_config)
FUNCTIONS(class_config)

typedef struct config_functions {
    size_t size;
    svit_status (*from)(void *config, const char *json, svit_error *err);
    svit_status (*to)(const void *config, char *buffer, size_t capacity, size_t *needed,
                      svit_error *err);
} config_functions;

static const config_functions STRUCTS[] = {STRUCT(model_config),    STRUCT(optimizer_config),
                                           STRUCT(pipeline_config), STRUCT(session_config),
                                           STRUCT(loader_config),   STRUCT(trainer_config),
                                           STRUCT(head_config),     STRUCT(class_config)};
enum { STRUCT_COUNT = sizeof STRUCTS / sizeof *STRUCTS };

static char *written(const config_functions *of, const void *config)
{
    svit_error err = FUZZ_ERROR;
    size_t needed = 0;
    FUZZ_CHECK(of->to(config, NULL, 0, &needed, &err) == SVIT_OK && needed > 1);
    char *text = malloc(needed);
    FUZZ_CHECK(text);
    FUZZ_CHECK(of->to(config, text, needed, &needed, &err) == SVIT_OK);
    FUZZ_CHECK(strlen(text) + 1 == needed);
    fuzz_check_text(text);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    svit_error err = FUZZ_ERROR;
    const config_functions *of = &STRUCTS[data[0] % STRUCT_COUNT];
    char *json = fuzz_text(data + 1, size - 1);
    void *config = calloc(1, of->size), *before = calloc(1, of->size);
    FUZZ_CHECK(config && before);
    if (fuzz_ok(of->from(config, json, &err), &err)) {
        char *first = written(of, config);
        FUZZ_CHECK(of->from(config, first, &err) == SVIT_OK);
        char *second = written(of, config);
        FUZZ_CHECK(strcmp(first, second) == 0);
        free(first);
        free(second);
    } else {
        FUZZ_CHECK(memcmp(config, before, of->size) == 0);
    }
    free(before);
    free(config);
    free(json);
    return 0;
}
