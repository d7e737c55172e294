/* The JSON of training settings: svit_training_from_json over the settings of a preset, which the
 * first byte chooses. A call that fails changes nothing, and what was read is written to a text
 * that reads the same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
} settings;

static void preset(settings *to, unsigned number)
{
    svit_error err = FUZZ_ERROR;
    size_t count = 0;
    while (svit_model_preset_name(count))
        count++;
    memset(to, 0, sizeof *to);
    FUZZ_CHECK(svit_training_preset(svit_model_preset_name(number % count), &to->trainer,
                                    sizeof to->trainer, &to->optimizer, sizeof to->optimizer,
                                    &to->pipeline, sizeof to->pipeline, &err) == SVIT_OK);
}

static svit_status read_json(settings *to, const char *json, svit_error *err)
{
    return svit_training_from_json(&to->trainer, &to->optimizer, &to->pipeline, json, err);
}

static char *written(const settings *of)
{
    svit_error err = FUZZ_ERROR;
    size_t needed = 0;
    const svit_status status =
        svit_training_to_json(&of->trainer, &of->optimizer, &of->pipeline, NULL, 0, &needed, &err);
    FUZZ_CHECK(fuzz_ok(status, &err) && needed > 0);
    char *text = malloc(needed);
    FUZZ_CHECK(text);
    FUZZ_CHECK(svit_training_to_json(&of->trainer, &of->optimizer, &of->pipeline, text, needed,
                                     &needed, &err) == SVIT_OK);
    fuzz_check_text(text);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    static settings now, before;
    const unsigned number = size > 0 ? data[0] : 0;
    char *json = fuzz_text(data + (size > 0), size - (size > 0));
    preset(&now, number);
    memcpy(&before, &now, sizeof now);
    if (fuzz_ok(read_json(&now, json, &err), &err)) {
        double rate;
        char *first = written(&now);
        FUZZ_CHECK(read_json(&now, first, &err) == SVIT_OK);
        char *second = written(&now);
        FUZZ_CHECK(strcmp(first, second) == 0);
        fuzz_ok(svit_learning_rate(&now.optimizer, number * 7u, &rate, &err), &err);
        free(first);
        free(second);
    } else {
        FUZZ_CHECK(memcmp(&now, &before, sizeof now) == 0);
    }
    free(json);
    return fuzz_end();
}
