/* The list of presets. */
#include "settings/preset_list.h"

#include "program/json_line.h"
#include "program/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* `trainer` and `optimizer` are NULL for a preset without a training. */
static void print_preset(const char *name, const svit_model_config *model,
                         const svit_trainer_config *trainer, const svit_optimizer_config *optimizer)
{
    printf("%-32s %3" PRIu32 " x %-3" PRIu32 " pixels, %4" PRIu32 " classes", name,
           model->input_height, model->input_width, model->num_classes);
    if (trainer)
        printf("; %3" PRIu32 " epochs, batch %4" PRIu32 ", learning rate %g, weight decay %g",
               trainer->epochs, trainer->batch, optimizer->learning_rate, optimizer->weight_decay);
    putchar('\n');
}

static void print_preset_json(const char *name, const svit_model_config *model,
                              const svit_trainer_config *trainer,
                              const svit_optimizer_config *optimizer)
{
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:I}", "preset", name, "height", (json_int_t)model->input_height, "width",
        (json_int_t)model->input_width, "classes", (json_int_t)model->num_classes);
    json_t *training =
        trainer ? json_pack("{s:I, s:I, s:f, s:f}", "epochs", (json_int_t)trainer->epochs, "batch",
                            (json_int_t)trainer->batch, "learning_rate", optimizer->learning_rate,
                            "weight_decay", optimizer->weight_decay)
                : NULL;
    if (training)
        json_object_update(object, training);
    json_decref(training);
    json_line_print(object, JSON_LINE_DIGITS);
}

void preset_list_print(int json)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_preset_name(i)); i++) {
        svit_model_config model;
        svit_trainer_config trainer;
        svit_optimizer_config optimizer;
        svit_model_config_preset(&model, sizeof model, name, NULL);
        const int trains = svit_training_preset(name, &trainer, sizeof trainer, &optimizer,
                                                sizeof optimizer, NULL, 0, NULL) == SVIT_OK;
        (json ? print_preset_json : print_preset)(
            name, &model, trains ? &trainer : NULL, &optimizer);
    }
    exit(STATUS_DONE);
}
