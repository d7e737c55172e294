/* What classifiers make of feature sets. */
#include "results/feature_results.h"

#include "data/class_list.h"
#include "program/json_line.h"
#include "program/shown.h"
#include "results/results.h"
#include "settings/pipeline_fit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 };

/* Writes the label of each sample in the list `to`, by name, to *labels; free them with free(). */
static svit_status match_labels(struct program *self, const svit_features *set, const char *path,
                                const class_list *to, int32_t **labels)
{
    char shown[SHOWN_CAPACITY];
    const class_list from = classes_of_features(set, shown_text(shown, path));
    const int32_t *given = svit_features_labels(set);
    const size_t n = svit_features_count(set);
    int32_t *of_class = NULL;
    svit_status status = class_list_match(self, to, &from, &of_class);
    *labels = calloc(n, sizeof **labels);
    if (status == SVIT_OK && !*labels)
        status = program_fail(self, SVIT_E_MEMORY, "no memory for the labels of %zu samples", n);
    for (size_t i = 0; i < n && status == SVIT_OK; i++)
        if (given[i] < 0)
            status =
                program_fail(self, SVIT_E_ARGUMENT,
                             "sample %zu of '%s' has no label; every sample needs one", i, path);
        else
            (*labels)[i] = of_class[given[i]];
    free(of_class);
    return status;
}

/* Refuses features of another layer than `layer`, and says so if they are of another model than
 * `model`, as training a classifier on them does. Texts that are empty are not known. `reads` says
 * in the message who needs the layer, and `of` whose model it is. */
static svit_status check_source(struct program *self, const svit_features *set, const char *path,
                                const char *layer, const char *reads, const char *model,
                                const char *of)
{
    char shown[SHOWN_CAPACITY];
    const char *own_layer = svit_features_layer(set), *own_model = svit_features_model(set);
    if (own_layer[0] && layer[0] && strcmp(own_layer, layer) != 0)
        return program_fail(self, SVIT_E_ARGUMENT, "'%s' is of the layer '%.40s'; %s '%.40s'", path,
                            own_layer, reads, layer);
    if (!self->quiet && own_model[0] && model[0] && strcmp(own_model, model) != 0)
        fprintf(stderr, "%s: warning: '%s' has the features of another model than %s\n",
                option_program_name, shown_text(shown, path), of);
    return SVIT_OK;
}

svit_status feature_describe_model(svit_features **out, struct program *self, svit_model *model)
{
    svit_model_config config;
    svit_pipeline_config pipeline;
    svit_features_config how;
    svit_dataset *image = NULL;
    const int32_t label = 0;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    TRY(svit_features_config_init(&how, sizeof how));
    if (svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL) != SVIT_OK) {
        TRY(svit_pipeline_config_init(&pipeline, sizeof pipeline));
        pipeline_fit(&pipeline, &config, NULL);
    }
    const size_t height = pipeline.source_height, width = pipeline.source_width;
    uint8_t *pixels = calloc(height * width, pipeline.channels);
    svit_status status = pixels
                             ? svit_dataset_memory(&image, self->context, pixels, &label, 1, height,
                                                   width, pipeline.channels, 1, &self->err)
                             : program_fail(self, SVIT_E_MEMORY, "no memory for an image");
    if (status == SVIT_OK)
        status = svit_features_compute(out, model, image, &pipeline, &how, &self->err);
    svit_dataset_free(image);
    free(pixels);
    return status;
}

/* Checks that the model has a classifier, which reads such features. */
static svit_status check_set(struct program *self, svit_model *model, const svit_features *set,
                             const char *path)
{
    static const char READS[] = "the classifier of the model reads the layer";
    svit_features *own = NULL;
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    if (!config.classifier)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "the model has no classifier; shiftvit-train --init-from gives it one");
    TRY(check_source(self, set, path, "features", READS, "", ""));
    if (!svit_features_model(set)[0])
        return SVIT_OK;
    TRY(feature_describe_model(&own, self, model));
    const svit_status status =
        check_source(self, set, path, "features", READS, svit_features_model(own), "--model");
    svit_features_free(own);
    return status;
}

static svit_status create_matched(struct program *self, const class_list *to,
                                  const svit_features *set, const int32_t *labels,
                                  svit_features **out)
{
    const char **names;
    TRY(class_list_names(self, to, &names));
    svit_status status = svit_features_create(out, self->context, svit_features_values(set), labels,
                                              svit_features_count(set), svit_features_channels(set),
                                              to->count, names, &self->err);
    free(names);
    return status;
}

svit_status feature_match_classes(struct program *self, svit_model *model, svit_features **set,
                                  const char *path)
{
    svit_model_config config;
    int32_t *labels = NULL;
    svit_features *matched = NULL;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    const class_list to = classes_of_model(model, config.num_classes);
    const class_list from = classes_of_features(*set, path);
    if (!class_list_is_named(&to) || !class_list_is_named(&from))
        return SVIT_OK;
    TRY(check_set(self, model, *set, path)); /* a new set knows neither layer nor model */
    svit_status status = match_labels(self, *set, path, &to, &labels);
    if (status == SVIT_OK)
        status = create_matched(self, &to, *set, labels, &matched);
    free(labels);
    if (status != SVIT_OK)
        return status;
    svit_features_free(*set);
    *set = matched;
    return SVIT_OK;
}

static svit_status run_batches(struct program *self, svit_session *session,
                               const svit_features *set, size_t classes, float *logits)
{
    const size_t count = svit_features_count(set), c = svit_features_channels(set);
    if (svit_session_input_size(session) != c)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "the features have %zu channels; the classifier of the model reads %zu",
                            c, svit_session_input_size(session));
    for (size_t first = 0; first < count; first += BATCH) {
        const size_t n = count - first < BATCH ? count - first : BATCH;
        TRY(svit_forward(session, svit_features_values(set) + first * c, n,
                         logits + first * classes, &self->err));
    }
    return SVIT_OK;
}

svit_status feature_logits(struct program *self, svit_model *model, const svit_features *set,
                           float **logits)
{
    svit_model_config config;
    svit_session_config options;
    svit_session *session = NULL;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    TRY(svit_session_config_init(&options, sizeof options));
    options.max_batch = BATCH;
    strcpy(options.input_layer, "features");
    TRY(svit_session_create(&session, model, &options, &self->err));
    svit_status status = SVIT_OK;
    *logits = calloc(svit_features_count(set), config.num_classes * sizeof **logits);
    if (!*logits)
        status = program_fail(self, SVIT_E_MEMORY, "no memory for the logits of %zu samples",
                              svit_features_count(set));
    if (status == SVIT_OK)
        status = run_batches(self, session, set, config.num_classes, *logits);
    svit_session_free(session);
    return status;
}

svit_status feature_evaluate(struct program *self, svit_model *model, const svit_features *set,
                             const char *path)
{
    svit_model_config config;
    evaluation of = {.loss_kind = SVIT_LOSS_CROSS_ENTROPY};
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    of.n = svit_features_count(set);
    of.classes = config.num_classes;
    TRY(check_set(self, model, set, path));
    const class_list to = classes_of_model(model, of.classes);
    svit_status status = match_labels(self, set, path, &to, &of.labels);
    if (status == SVIT_OK)
        status = feature_logits(self, model, set, &of.logits);
    if (status == SVIT_OK)
        status = svit_cross_entropy(of.logits, of.labels, of.n, of.classes, 0, &of.loss, NULL,
                                    &self->err);
    if (status == SVIT_OK)
        status = results_print(self, &of, path, "features");
    evaluation_free(&of);
    return status;
}

/* Counts the rows of probabilities[n, classes] in which the label has a vote and fewer than 5
 * classes have more. Classes without a vote have the probability 0 each, so that with neighbours of
 * fewer than 5 classes any label is among the 5 largest probabilities. */
static svit_status count_voted(struct program *self, const float *probabilities,
                               const int32_t *labels, size_t n, size_t classes, uint64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        const float *row = probabilities + i * classes;
        uint64_t found;
        TRY(svit_count_top_k(row, &labels[i], 1, classes, 5, &found, &self->err));
        *count += row[labels[i]] > 0 ? found : 0;
    }
    return SVIT_OK;
}

/* The probabilities are [n, classes], the labels [n]. */
static svit_status print_neighbours(struct program *self, const char *path,
                                    const float *probabilities, const int32_t *labels, size_t n,
                                    size_t classes, size_t k)
{
    uint64_t first = 0, fifth = 0;
    TRY(svit_count_top1(probabilities, labels, n, classes, &first, &self->err));
    TRY(count_voted(self, probabilities, labels, n, classes, &fifth));
    const double top1 = (double)first / (double)n, top5 = (double)fifth / (double)n;
    if (!self->json) {
        printf("neighbours: k %zu top-1 %.2f %% top-5 %.2f %%\n", k, 100 * top1, 100 * top5);
        return SVIT_OK;
    }
    json_t *object =
        json_pack("{s:o, s:I, s:I, s:f, s:f}", "data", json_line_text(path), "images",
                  (json_int_t)n, "neighbours", (json_int_t)k, "top1", top1, "top5", top5);
    json_line_print(object, JSON_LINE_DIGITS);
    return SVIT_OK;
}

svit_status feature_neighbours(struct program *self, const svit_features *reference,
                               const svit_features *queries, const char *path, size_t k,
                               double temperature)
{
    const size_t n = svit_features_count(queries), classes = svit_features_classes(reference);
    const class_list to = classes_of_features(reference, "the reference");
    int32_t *labels = NULL;
    if (svit_features_channels(queries) != svit_features_channels(reference))
        return program_fail(self, SVIT_E_ARGUMENT, "'%s' has %zu channels; the neighbours have %zu",
                            path, svit_features_channels(queries),
                            svit_features_channels(reference));
    TRY(check_source(self, queries, path, svit_features_layer(reference),
                     "the neighbours are of the layer", svit_features_model(reference),
                     "--reference"));
    float *probabilities = calloc(n, classes * sizeof *probabilities);
    svit_status status = probabilities
                             ? match_labels(self, queries, path, &to, &labels)
                             : program_fail(self, SVIT_E_MEMORY,
                                            "no memory for %zu x %zu probabilities", n, classes);
    if (status == SVIT_OK)
        status = svit_features_knn(reference, svit_features_values(queries), n, k, temperature,
                                   probabilities, &self->err);
    if (status == SVIT_OK)
        status = print_neighbours(self, path, probabilities, labels, n, classes, k);
    free(labels);
    free(probabilities);
    return status;
}
