/* Hashes what a caller can see of a world: the bits of every handle, of the results of a call, and
 * of the files in the folder of outputs. */
#include "scenario.h"

#include <dirent.h>
#include <sys/stat.h>

uint64_t world_hash(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ from[i]) * 0x100000001B3u;
    return (hash ^ bytes) * 0x100000001B3u;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return world_hash(hash, text ? text : "", text ? strlen(text) + 1 : 0);
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return world_hash(hash, &number, sizeof number);
}

static uint64_t hash_file(uint64_t hash, const char *path)
{
    size_t bytes;
    char *data = fit_read(path, &bytes);
    hash = world_hash(hash, data, bytes);
    free(data);
    return hash;
}

/* Whether the name is that of a temporary file of the library. */
static int is_temporary(const char *name)
{
    const size_t length = strlen(name);
    return strncmp(name, ".shiftvit-", 10) == 0 && strcmp(name + length - 5, ".part") == 0;
}

/* The sum over the entries of a folder, so that their order does not count. A `.lock` is as long
 * there as its handle. With `leftovers` temporary files are counted there instead. */
static uint64_t folder_sum(const char *folder, uint64_t *leftovers)
{
    uint64_t sum = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char path[512];
        struct stat state;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strcmp(entry->d_name, ".lock") == 0)
            continue;
        if (leftovers && is_temporary(entry->d_name)) {
            ++*leftovers;
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const uint64_t name = hash_text(1, entry->d_name);
        ck_assert_int_eq(lstat(path, &state), 0);
        sum += S_ISDIR(state.st_mode) ? hash_number(name, folder_sum(path, leftovers))
                                      : hash_number(hash_file(name, path), state.st_mode);
    }
    if (list)
        closedir(list);
    return sum;
}

uint64_t world_digest_folder(void)
{
    return folder_sum(world_folder, NULL);
}

uint64_t world_digest_without(uint64_t *leftovers)
{
    return folder_sum(world_folder, leftovers);
}

static uint64_t hash_model(uint64_t hash, const svit_model *model)
{
    svit_model_config config;
    svit_pipeline_config pipeline;
    char json[4096];
    size_t elements;
    const char *name;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    WORKS(svit_model_config_to_json(&config, json, sizeof json, NULL, err));
    hash = hash_text(hash, json);
    float *weights = fit_weights(model, &elements);
    hash = world_hash(hash, weights, elements * sizeof *weights);
    free(weights);
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)); i++) {
        int32_t is_trainable;
        WORKS(svit_model_get_trainable(model, name, &is_trainable, err));
        hash = hash_number(hash_text(hash, name), (uint64_t)is_trainable);
    }
    for (size_t i = 0; i < config.num_classes; i++)
        hash = hash_text(hash, svit_model_class_name(model, i));
    for (size_t i = 0; svit_model_text_class_name(model, i); i++)
        hash = hash_text(hash, svit_model_text_class_name(model, i));
    if (svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL) == SVIT_OK) {
        WORKS(svit_pipeline_config_to_json(&pipeline, json, sizeof json, NULL, err));
        hash = hash_text(hash, json);
    }
    hash = hash_number(hash, (uint64_t)(svit_model_threshold(model) * 1e9));
    return hash_number(hash, (uint64_t)svit_model_output(model));
}

/* Counters and gradients; for the slots of an optimiser, its checkpoint. */
static uint64_t hash_training(uint64_t hash, const svit_model *model, const svit_session *session,
                              const svit_optimizer *optimizer)
{
    const char *name, *path = world_asset("digest.safetensors");
    for (size_t i = 0; session && (name = svit_model_parameter_name(model, i)); i++) {
        const size_t elements = fit_elements(model, name);
        float *values = calloc(elements, sizeof *values);
        svit_session_get_gradient(session, name, values, elements, NULL);
        hash = world_hash(hash, values, elements * sizeof *values);
        free(values);
    }
    hash = hash_number(hash, svit_session_counter(session));
    hash = hash_number(hash, svit_session_memory(session));
    hash = hash_number(hash, svit_optimizer_steps(optimizer));
    if (!optimizer || svit_checkpoint_save(path, model, optimizer, session, NULL, NULL, 0, NULL))
        return hash;
    hash = hash_file(hash, path);
    unlink(path);
    return hash;
}

static uint64_t hash_dataset(uint64_t hash, const svit_dataset *dataset)
{
    const size_t count = svit_dataset_count(dataset);
    const size_t elements =
        svit_dataset_height(dataset) * svit_dataset_width(dataset) * svit_dataset_channels(dataset);
    float *image = calloc(elements + 1, sizeof *image);
    hash = hash_number(hash, count);
    for (size_t i = 0; i < svit_dataset_classes(dataset); i++)
        hash = hash_text(hash, svit_dataset_class_name(dataset, i));
    for (size_t i = 0; i < count; i++) {
        int32_t label = 0;
        char path[512] = "";
        float targets[64] = {0};
        WORKS(svit_dataset_path(dataset, i, path, sizeof path, NULL, err));
        hash =
            hash_number(hash, (uint64_t)svit_dataset_sample_f32(dataset, i, image, &label, NULL));
        hash = world_hash(hash_text(hash, path), image, elements * sizeof *image);
        hash = hash_number(hash, (uint64_t)label);
        if (svit_dataset_has_targets(dataset))
            svit_dataset_targets(dataset, i, targets, NULL);
        hash = world_hash(hash, targets, sizeof targets);
    }
    free(image);
    return hash;
}

static uint64_t hash_features(uint64_t hash, const svit_features *features)
{
    const size_t count = svit_features_count(features), classes = svit_features_classes(features);
    hash = world_hash(hash, svit_features_values(features),
                      count * svit_features_channels(features) * sizeof(float));
    hash = world_hash(hash, svit_features_labels(features), count * sizeof(int32_t));
    for (size_t i = 0; i < classes; i++)
        hash = hash_text(hash, svit_features_class_name(features, i));
    return hash_text(hash_text(hash, svit_features_layer(features)), svit_features_model(features));
}

/* What a loader brings next, and what a predictor says of an image: the handle has moved on. */
static uint64_t hash_next(uint64_t hash, svit_loader *loader, svit_predictor *predictor)
{
    float images[BATCH * PIXELS] = {0}, targets[BATCH * CLASSES] = {0};
    size_t n = 0;
    if (loader)
        WORKS(svit_loader_next_targets(loader, images, targets, &n, err));
    hash = world_hash(world_hash(hash, images, sizeof images), targets, sizeof targets);
    if (!predictor)
        return hash;
    WORKS(svit_predict_u8(predictor, world_bytes, 2, SIDE, SIDE, targets, err));
    return world_hash(hash, targets, sizeof targets);
}

static uint64_t hash_rest(uint64_t hash, const handles *of)
{
    if (of->dataset)
        hash = hash_dataset(hash, of->dataset);
    if (of->features)
        hash = hash_features(hash, of->features);
    if (of->image)
        hash = world_hash(hash, svit_image_pixels(of->image),
                          svit_image_height(of->image) * svit_image_width(of->image) *
                              svit_image_channels(of->image));
    if (of->checkpoint)
        hash = hash_text(hash, svit_checkpoint_value(of->checkpoint, "note"));
    hash = hash_number(hash, svit_trainer_history_count(of->trainer));
    return hash_number(hash, svit_optimizer_steps(svit_trainer_optimizer(of->trainer)));
}

uint64_t world_digest(world *w)
{
    uint64_t hash = hash_number(1, w->hides_folder ? 0 : world_digest_folder());
    const svit_model *model = w->has.model;
    if (model)
        hash = hash_training(hash_model(hash, model), model, w->has.session, w->has.optimizer);
    return hash_rest(hash, &w->has);
}

/* Handles that a call has not made do not count. */
#define MADE(noun)                                                                                 \
    if (world_has_made((const void *)w->made.noun))                                                \
        made.noun = w->made.noun;

uint64_t world_digest_results(world *w)
{
    handles made = {0};
    HANDLES(MADE)
    uint64_t hash = world_hash(world_digest(w), w->out, w->out_used);
    char text[4096] = "";
    if (made.context)
        WORKS(svit_context_describe(made.context, text, sizeof text, NULL, err));
    hash = hash_text(hash, text);
    if (made.model)
        hash = hash_model(hash, made.model);
    const svit_model *model = w->has.model ? w->has.model : made.model;
    if (made.session || made.optimizer)
        hash = hash_training(hash, model, made.session, made.optimizer);
    hash = hash_rest(hash, &made);
    hash = hash_next(hash, w->has.loader, w->has.predictor);
    hash = hash_next(hash, made.loader, made.predictor);
    svit_trainer *trainer = made.trainer ? made.trainer : w->has.trainer;
    if (!trainer)
        return hash;
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    return hash_number(hash_model(hash, w->has.model), world_digest_folder());
}
