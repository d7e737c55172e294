/* What classifiers make of feature sets. */
#include "feature_results.h"

#include "results.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 };

svit_status feature_check(struct program *self, const svit_features *set, const char *path,
                          size_t classes, const char *(*name_of)(const void *, size_t),
                          const void *of)
{
    const int32_t *labels = svit_features_labels(set);
    if (svit_features_classes(set) != classes)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "'%s' has %zu classes; what it is compared with has %zu", path,
                            svit_features_classes(set), classes);
    for (size_t k = 0; k < classes; k++) {
        const char *name = svit_features_class_name(set, k), *other = name_of(of, k);
        if (name && other && strcmp(name, other) != 0)
            return program_fail(self, SVIT_E_ARGUMENT,
                                "class %zu of '%s' is '%s'; in what it is compared with it is '%s'",
                                k, path, name, other);
    }
    for (size_t i = 0; i < svit_features_count(set); i++)
        if (labels[i] < 0)
            return program_fail(self, SVIT_E_ARGUMENT,
                                "sample %zu of '%s' has no label; every sample needs one", i, path);
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

static const char *model_name(const void *of, size_t k)
{
    return svit_model_class_name(of, k);
}

static const char *set_name(const void *of, size_t k)
{
    return svit_features_class_name(of, k);
}

svit_status feature_evaluate(struct program *self, svit_model *model, const svit_features *set,
                             const char *path)
{
    svit_model_config config;
    evaluation of = {.loss_kind = SVIT_LOSS_CROSS_ENTROPY};
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    TRY(feature_check(self, set, path, config.num_classes, model_name, model));
    of.n = svit_features_count(set);
    of.classes = config.num_classes;
    of.labels = (int32_t *)svit_features_labels(set); /* which nothing changes without targets */
    svit_status status = feature_logits(self, model, set, &of.logits);
    if (status == SVIT_OK)
        status = svit_cross_entropy(of.logits, of.labels, of.n, of.classes, 0, &of.loss, NULL,
                                    &self->err);
    if (status == SVIT_OK)
        status = results_print(self, &of, path, "features");
    free(of.logits);
    return status;
}

static svit_status print_neighbours(struct program *self, const svit_features *queries,
                                    const char *path, const float *probabilities, size_t classes,
                                    size_t k)
{
    uint64_t first = 0, fifth = 0;
    const size_t n = svit_features_count(queries);
    TRY(svit_count_top1(probabilities, svit_features_labels(queries), n, classes, &first,
                        &self->err));
    TRY(svit_count_top_k(probabilities, svit_features_labels(queries), n, classes, 5, &fifth,
                         &self->err));
    const double top1 = (double)first / (double)n, top5 = (double)fifth / (double)n;
    if (!self->json) {
        printf("neighbours: k %zu top-1 %.2f %% top-5 %.2f %%\n", k, 100 * top1, 100 * top5);
        return SVIT_OK;
    }
    json_t *object =
        json_pack("{s:o, s:I, s:I, s:f, s:f}", "data", results_text(path), "images", (json_int_t)n,
                  "neighbours", (json_int_t)k, "top1", top1, "top5", top5);
    results_json(object, RESULTS_DIGITS);
    return SVIT_OK;
}

svit_status feature_neighbours(struct program *self, const svit_features *reference,
                               const svit_features *queries, const char *path, size_t k,
                               double temperature)
{
    const size_t n = svit_features_count(queries), classes = svit_features_classes(reference);
    TRY(feature_check(self, queries, path, classes, set_name, reference));
    if (svit_features_channels(queries) != svit_features_channels(reference))
        return program_fail(self, SVIT_E_ARGUMENT, "'%s' has %zu channels; the neighbours have %zu",
                            path, svit_features_channels(queries),
                            svit_features_channels(reference));
    float *probabilities = calloc(n, classes * sizeof *probabilities);
    if (!probabilities)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu x %zu probabilities", n,
                            classes);
    svit_status status = svit_features_knn(reference, svit_features_values(queries), n, k,
                                           temperature, probabilities, &self->err);
    if (status == SVIT_OK)
        status = print_neighbours(self, queries, path, probabilities, classes, k);
    free(probabilities);
    return status;
}
