/* Scenarios of configurations: their defaults and their JSON. */
#include "scenario.h"

enum { JSON_BYTES = 20000 };

/* The scenarios of a configuration whose functions are svit_NOUN_init, _from_json and _to_json. The
 * struct that is read is compared by its text, since its padding may differ. */
#define INIT(noun)                                                                                 \
    SCENARIO(svit_##noun##_init, NEEDS_NOTHING, PURE | NO_ERROR)                                   \
    {                                                                                              \
        (void)err;                                                                                 \
        return svit_##noun##_init(OUT(svit_##noun, 1), sizeof(svit_##noun));                       \
    }
#define JSON(noun, text)                                                                           \
    SCENARIO(svit_##noun##_from_json, NEEDS_NOTHING, 0)                                            \
    {                                                                                              \
        return svit_##noun##_from_json(OUT(svit_##noun, 1), sizeof(svit_##noun), text, err);       \
    }                                                                                              \
    SCENARIO(svit_##noun##_to_json, NEEDS_NOTHING, 0)                                              \
    {                                                                                              \
        svit_##noun config;                                                                        \
        svit_##noun##_init(&config, sizeof config);                                                \
        return svit_##noun##_to_json(&config, OUT(char, JSON_BYTES), JSON_BYTES, OUT(size_t, 1),   \
                                     err);                                                         \
    }

/* Fields of a pipeline whose check divides a mean by a deviation to a subnormal value. */
#define UNDERFLOW "\"mean\":[1e-300,0,0],\"variance\":[1e30,1,1]"

INIT(class_config)
INIT(head_config)
INIT(loader_config)
INIT(model_config)
INIT(optimizer_config)
INIT(pipeline_config)
INIT(session_config)
INIT(trainer_config)
INIT(features_config)
INIT(predictor_config)
INIT(onnx_options)

JSON(class_config, "{\"recall\":0.5}")
JSON(head_config, "{\"epochs\":3}")
JSON(loader_config, "{\"batch\":3,\"sampling\":\"balanced\",\"shuffle\":true}")
JSON(model_config, "{\"architecture\":\"vit\",\"head_units\":[5,6]}")
JSON(optimizer_config, "{\"groups\":[{\"pattern\":\"head.*\",\"lr_scale\":10.0}],"
                       "\"decay_exclude\":[\"bias\"]}")
JSON(pipeline_config, "{\"augment\":[{\"name\":\"flip\",\"probability\":0.5}]," UNDERFLOW "}")
JSON(session_config, "{\"input_layer\":\"blocks.0\"}")
JSON(trainer_config, "{\"epochs\":3,\"class_weights\":[1.0,2.0]}")

SCENARIO(svit_model_config_preset, NEEDS_NOTHING, PURE)
{
    return svit_model_config_preset(OUT(svit_model_config, 1), sizeof(svit_model_config),
                                    "vit-cifar100", err);
}

static void fill_training(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                          svit_pipeline_config *pipeline)
{
    svit_trainer_config_init(trainer, sizeof *trainer);
    svit_optimizer_config_init(optimizer, sizeof *optimizer);
    svit_pipeline_config_init(pipeline, sizeof *pipeline);
}

/* Structs that were changed in part would count as an output. */
SCENARIO(svit_training_from_json, NEEDS_NOTHING, 0)
{
    svit_trainer_config trainer, before;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    fill_training(&trainer, &optimizer, &pipeline);
    before = trainer;
    const svit_status status = svit_training_from_json(
        &trainer, &optimizer, &pipeline, "{\"epochs\":3,\"optimizer\":\"sgd\"," UNDERFLOW "}", err);
    const int is_read = trainer.epochs == 3 && optimizer.kind == SVIT_OPTIMIZER_SGD;
    const int is_kept = trainer.epochs == before.epochs && optimizer.kind == SVIT_OPTIMIZER_ADAMW;
    if (status == SVIT_OK ? !is_read : !is_kept)
        *OUT(int, 1) = 1; /* which is wrong in both cases */
    return status;
}

SCENARIO(svit_training_to_json, NEEDS_NOTHING, 0)
{
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    fill_training(&trainer, &optimizer, &pipeline);
    return svit_training_to_json(&trainer, &optimizer, &pipeline, OUT(char, JSON_BYTES), JSON_BYTES,
                                 OUT(size_t, 1), err);
}

/* The variances are squares of deviations, which no double has. */
SCENARIO(svit_training_preset, NEEDS_NOTHING, PURE)
{
    return svit_training_preset("shiftvit-t", OUT(svit_trainer_config, 1),
                                sizeof(svit_trainer_config), OUT(svit_optimizer_config, 1),
                                sizeof(svit_optimizer_config), OUT(svit_pipeline_config, 1),
                                sizeof(svit_pipeline_config), err);
}

SCENARIO(svit_fine_tuning_settings, NEEDS_MODEL, EVERY_MODEL | PURE)
{
    return svit_fine_tuning_settings(w->has.model, 30, OUT(svit_trainer_config, 1),
                                     sizeof(svit_trainer_config), OUT(svit_optimizer_config, 1),
                                     sizeof(svit_optimizer_config), OUT(svit_pipeline_config, 1),
                                     sizeof(svit_pipeline_config), err);
}

SCENARIO(svit_config_fields, NEEDS_NOTHING, 0)
{
    return svit_config_fields("training", OUT(char, JSON_BYTES), JSON_BYTES, OUT(size_t, 1), err);
}

SCENARIO(svit_learning_rate, NEEDS_NOTHING, PURE)
{
    const svit_optimizer_config config = world_optimizer();
    return svit_learning_rate(&config, 7, OUT(double, 1), err);
}

SCENARIO(svit_pipeline_evaluation_size, NEEDS_NOTHING, PURE)
{
    svit_pipeline_config config = world_pipeline();
    config.mean[0] = 1e-300;
    config.variance[0] = 1e30;
    return svit_pipeline_evaluation_size(&config, OUT(size_t, 1), OUT(size_t, 1), err);
}

GETTER(svit_model_preset_name, NEEDS_NOTHING, (0))
GETTER(svit_model_architecture_name, NEEDS_NOTHING, (0))
