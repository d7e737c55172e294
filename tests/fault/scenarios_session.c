/* Scenarios of sessions, optimisers, checkpoints and predictors. */
#include "scenario.h"

#include <math.h>

SCENARIO(svit_session_create, NEEDS_MODEL, EVERY_MODEL)
{
    svit_session_config config = world_session();
    config.input_gradient = 0;
    return svit_session_create(&w->made.session, w->has.model, &config, err);
}

VARIANT(svit_session_create, infer, NEEDS_MODEL, EVERY_MODEL, NULL)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = BATCH;
    return svit_session_create(&w->made.session, w->has.model, &config, err);
}

VARIANT(svit_session_create, bf16, NEEDS_MODEL, EVERY_MODEL, NULL)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = 2;
    config.compute = SVIT_COMPUTE_BF16;
    return svit_session_create(&w->made.session, w->has.model, &config, err);
}

SCENARIO(svit_session_memory_needed, NEEDS_MODEL, 0)
{
    const svit_session_config config = world_session();
    return svit_session_memory_needed(OUT(uint64_t, 1), w->has.model, &config, err);
}

SCENARIO(svit_forward, NEEDS_SESSION, PURE | EVERY_MODEL)
{
    return svit_forward(w->has.session, world_images, BATCH, OUT(float, BATCH *CLASSES), err);
}

static void go_forward(world *w)
{
    float logits[BATCH * CLASSES];
    WORKS(svit_forward(w->has.session, world_images, BATCH, logits, err));
}

VARIANT(svit_backward, , NEEDS_SESSION, PURE | EVERY_MODEL, go_forward)
{
    return svit_backward(w->has.session, world_logits, BATCH, err);
}

VARIANT(svit_backward_input, , NEEDS_SESSION, PURE, go_forward)
{
    return svit_backward_input(w->has.session, world_logits, BATCH, OUT(float, BATCH *PIXELS), err);
}

static void use_vit_session(world *w)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = BATCH;
    config.features = 1;
    world_use(w, MODEL_VIT);
    svit_session_free(w->has.session);
    svit_model_free(w->has.model);
    w->has.session = NULL;
    WORKS(svit_model_create(&w->has.model, w->has.context, &w->config, 1, err));
    WORKS(svit_session_create(&w->has.session, w->has.model, &config, err));
}

VARIANT(svit_forward_attention, , NEEDS_SESSION, PURE, use_vit_session)
{
    size_t heads = 0, tokens = 0;
    svit_session_attention_size(w->has.session, &heads, &tokens, NULL);
    const size_t elements = BATCH * heads * tokens * tokens;
    return svit_forward_attention(w->has.session, world_images, BATCH, OUT(float, BATCH *CLASSES),
                                  OUT(float, elements), elements, err);
}

VARIANT(svit_session_attention_size, , NEEDS_SESSION, PURE, use_vit_session)
{
    return svit_session_attention_size(w->has.session, OUT(size_t, 1), OUT(size_t, 1), err);
}

VARIANT(svit_forward_features, , NEEDS_SESSION, PURE, use_vit_session)
{
    size_t tokens = 0, channels = 0;
    svit_session_layer_shape(w->has.session, "features", &tokens, &channels, NULL);
    const size_t elements = BATCH * tokens * channels;
    return svit_forward_features(w->has.session, world_images, BATCH, "features",
                                 OUT(float, elements), elements, err);
}

SCENARIO(svit_session_layer_shape, NEEDS_SESSION, PURE)
{
    return svit_session_layer_shape(w->has.session, svit_session_layer_name(w->has.session, 0),
                                    OUT(size_t, 1), OUT(size_t, 1), err);
}

SCENARIO(svit_session_set_mode, NEEDS_SESSION, PURE)
{
    return svit_session_set_mode(w->has.session, SVIT_MODE_INFER, err);
}

SCENARIO(svit_session_set_counter, NEEDS_SESSION, PURE)
{
    return svit_session_set_counter(w->has.session, 17, err);
}

SCENARIO(svit_session_get_gradient, NEEDS_BACKWARD, PURE)
{
    return svit_session_get_gradient(w->has.session, "head.bias", OUT(float, CLASSES), CLASSES,
                                     err);
}

SCENARIO(svit_session_set_gradient, NEEDS_SESSION, PURE)
{
    return svit_session_set_gradient(w->has.session, "head.bias", world_images, CLASSES, err);
}

SCENARIO(svit_session_zero_gradients, NEEDS_BACKWARD, PURE)
{
    return svit_session_zero_gradients(w->has.session, err);
}

SCENARIO(svit_session_set_reducer, NEEDS_SESSION, 0)
{
    const svit_reducer alone = {.struct_size = sizeof alone, .leaves = 4, .ranks = 1};
    return svit_session_set_reducer(w->has.session, &alone, err);
}

VARIANT(svit_optimizer_create, , NEEDS_MODEL, EVERY_MODEL, NULL)
{
    const svit_optimizer_config config = world_optimizer();
    return svit_optimizer_create(&w->made.optimizer, w->has.model, &config, err);
}

VARIANT(svit_optimizer_create, muon, NEEDS_MODEL, 0, NULL)
{
    svit_optimizer_config config = world_optimizer();
    config.kind = SVIT_OPTIMIZER_MUON;
    config.lookahead = 2;
    return svit_optimizer_create(&w->made.optimizer, w->has.model, &config, err);
}

SCENARIO(svit_step, NEEDS_OPTIMIZER, PURE | EVERY_MODEL)
{
    return svit_step(w->has.optimizer, w->has.session, err);
}

SCENARIO(svit_optimizer_set_f64, NEEDS_OPTIMIZER, PURE)
{
    return svit_optimizer_set_f64(w->has.optimizer, "learning_rate", 0.5, err);
}

SCENARIO(svit_optimizer_set_parameter_f64, NEEDS_OPTIMIZER, 0)
{
    return svit_optimizer_set_parameter_f64(w->has.optimizer, "*.bias", "lr_scale", 0.5, err);
}

SCENARIO(svit_optimizer_get_f64, NEEDS_OPTIMIZER, PURE)
{
    return svit_optimizer_get_f64(w->has.optimizer, "learning_rate", OUT(double, 1), err);
}

SCENARIO(svit_optimizer_bounds, NEEDS_OPTIMIZER, PURE)
{
    return svit_optimizer_bounds(w->has.optimizer, "learning_rate", OUT(double, 1), OUT(double, 1),
                                 err);
}

SCENARIO(svit_optimizer_swap_ema, NEEDS_OPTIMIZER, PURE)
{
    return svit_optimizer_swap_ema(w->has.optimizer, err);
}

SCENARIO(svit_checkpoint_save, NEEDS_OPTIMIZER | NEEDS_OLD_FILE, EVERY_MODEL | WRITES)
{
    static const char *const keys[] = {"note", "other"}, *const values[] = {"kept", "\"too\""};
    return svit_checkpoint_save(TARGET, w->has.model, w->has.optimizer, w->has.session, keys,
                                values, 2, err);
}

static void freeze(world *w)
{
    WORKS(svit_model_set_trainable(w->has.model, "*.bias", 0, err));
}

VARIANT(svit_checkpoint_save, frozen, NEEDS_MODEL | NEEDS_OLD_FILE, WRITES, freeze)
{
    return svit_checkpoint_save(TARGET, w->has.model, NULL, NULL, NULL, NULL, 0, err);
}

SCENARIO(svit_checkpoint_open, NEEDS_CONTEXT, 0)
{
    return svit_checkpoint_open(&w->made.checkpoint, w->has.context,
                                world_asset("state.safetensors"), err);
}

SCENARIO(svit_checkpoint_restore, NEEDS_CHECKPOINT | NEEDS_OPTIMIZER, 0)
{
    return svit_checkpoint_restore(w->has.checkpoint, w->has.model, w->has.optimizer,
                                   w->has.session, err);
}

SCENARIO(svit_checkpoint_get_u64, NEEDS_CHECKPOINT, PURE)
{
    return svit_checkpoint_get_u64(w->has.checkpoint, "optimizer.steps", OUT(uint64_t, 1), err);
}

SCENARIO(svit_predictor_create, NEEDS_CONTEXT, 0)
{
    return svit_predictor_create(&w->made.predictor, w->has.context,
                                 world_asset("model.safetensors"), NULL, err);
}

SCENARIO(svit_predictor_create_from_memory, NEEDS_CONTEXT, 0)
{
    return svit_predictor_create_from_memory(&w->made.predictor, w->has.context,
                                             world_model_file.data, world_model_file.bytes, NULL,
                                             err);
}

SCENARIO(svit_predictor_create_from_model, NEEDS_MODEL, EVERY_MODEL)
{
    svit_predictor_config config;
    svit_predictor_config_init(&config, sizeof config);
    config.tta = SVIT_TTA_FLIP_SHIFT;
    return svit_predictor_create_from_model(&w->made.predictor, w->has.model, &config, err);
}

/* Images of another size than the source's go through the source step. */
SCENARIO(svit_predict_u8, NEEDS_PREDICTOR, 0)
{
    return svit_predict_u8(w->has.predictor, world_bytes, 1, 4, 16, OUT(float, CLASSES), err);
}

SCENARIO(svit_predict_f32, NEEDS_PREDICTOR, 0)
{
    return svit_predict_f32(w->has.predictor, world_images, 2, SIDE, SIDE, OUT(float, 2 * CLASSES),
                            err);
}

SCENARIO(svit_predict_file, NEEDS_PREDICTOR, HAS_IMAGES)
{
    return svit_predict_file(w->has.predictor, world_asset("image.png"), OUT(float, CLASSES), err);
}

SCENARIO(svit_predict_encoded, NEEDS_PREDICTOR, HAS_IMAGES)
{
    return svit_predict_encoded(w->has.predictor, world_png.data, world_png.bytes,
                                OUT(float, CLASSES), err);
}

SCENARIO(svit_predict_files, NEEDS_PREDICTOR, HAS_IMAGES)
{
    const char *paths[] = {world_asset("image.png"), world_asset("image.png")};
    return svit_predict_files(w->has.predictor, paths, 2, OUT(float, 2 * CLASSES), NULL, err);
}

SCENARIO(svit_predict_encoded_images, NEEDS_PREDICTOR, HAS_IMAGES)
{
    const void *data[] = {world_png.data, world_png.data};
    const size_t bytes[] = {world_png.bytes, world_png.bytes};
    return svit_predict_encoded_images(w->has.predictor, data, bytes, 2, OUT(float, 2 * CLASSES),
                                       NULL, err);
}

GETTER(svit_session_free, NEEDS_NOTHING, (NULL))
GETTER(svit_session_memory, NEEDS_SESSION, (w->has.session))
GETTER(svit_session_counter, NEEDS_SESSION, (w->has.session))
GETTER(svit_session_input_size, NEEDS_SESSION, (w->has.session))
GETTER(svit_session_layer_name, NEEDS_SESSION, (w->has.session, 0))
GETTER(svit_optimizer_free, NEEDS_NOTHING, (NULL))
GETTER(svit_optimizer_steps, NEEDS_OPTIMIZER, (w->has.optimizer))
GETTER(svit_checkpoint_free, NEEDS_NOTHING, (NULL))
GETTER(svit_checkpoint_value, NEEDS_CHECKPOINT, (w->has.checkpoint, "note"))
GETTER(svit_predictor_free, NEEDS_NOTHING, (NULL))
GETTER(svit_predictor_channels, NEEDS_PREDICTOR, (w->has.predictor))
GETTER(svit_predictor_classes, NEEDS_PREDICTOR, (w->has.predictor))
GETTER(svit_predictor_class_name, NEEDS_PREDICTOR, (w->has.predictor, 0))
GETTER(svit_predictor_output, NEEDS_PREDICTOR, (w->has.predictor))

SCENARIO(svit_predictor_labels, NEEDS_PREDICTOR, PURE)
{
    return svit_predictor_labels(w->has.predictor, world_images, 2, OUT(int32_t, 2), err);
}

/* What is not a number is no class, and traps where it is compared. */
VARIANT(svit_predictor_labels, nan, NEEDS_PREDICTOR, PURE, NULL)
{
    const float odd[2 * CLASSES] = {NAN, 0, 1, 0, NAN, 1};
    return svit_predictor_labels(w->has.predictor, odd, 2, OUT(int32_t, 2), err);
}
