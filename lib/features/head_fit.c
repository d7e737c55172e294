/* Trains a model's classifier on a feature set, in a session that begins behind the features. */
#include "base/arrays.h"
#include "base/size.h"
#include "base/text/names.h"
#include "base/threads/fp_env.h"
#include "config/config.h"
#include "data/loading/order.h"
#include "features/classifier.h"
#include "session/optimizer_handle.h"

#include <shiftvit/loss.h>
#include <shiftvit/optimizer.h>

#include <float.h>
#include <math.h>
#include <string.h>

#define FIELD(field, kind) SV_FIELD(svit_head_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(epochs, U32), .min = 1, .max = 1000000},
    {FIELD(batch, U32), .min = 1, .max = 65536},
    {FIELD(balanced, FLAG)},
    {FIELD(learning_rate, REAL), .min = 0, .max = FLT_MAX, .min_is_open = 1},
    {FIELD(weight_decay, REAL), .min = -FLT_MAX, .max = FLT_MAX},
    {FIELD(label_smoothing, REAL), .min = 0, .max = 1, .max_is_open = 1},
    {FIELD(seed, U64)},
};
static const svit_head_config DEFAULTS = {
    .epochs = 100, .batch = 256, .learning_rate = 0.003, .weight_decay = -1};

static const sv_config_type TYPE = {
    SV_CONFIG(svit_head_config, FIELDS, "the configuration of a head"), .defaults = &DEFAULTS,
    .null_is_default = true};

SV_CONFIG_FUNCTIONS(svit_head_config, TYPE)

/* One call. */
typedef struct fit {
    svit_model *model;
    const svit_features *features;
    svit_head_config config; /* batch: at most the number of samples */
    svit_session *session;
    svit_optimizer *optimizer;
    float *rows, *logits, *dlogits; /* of a batch: [batch, channels], then twice [batch, classes] */
    float *class_weights;           /* [classes]; NULL: 1 for each */
    size_t *samples;                /* [classes] of each class; NULL without class_weights */
    int32_t *labels;                /* of a batch */
    uint32_t *order;                /* [samples] */
    sv_arrays arrays;               /* these */
    char **names;                   /* those of the set for the model; NULL: the set has none */
} fit;

static svit_status check(const fit *self, svit_error *err)
{
    const svit_features *features = self->features;
    const svit_model_config *model = &self->model->config;
    if (!model->classifier)
        return sv_fail(err, SVIT_E_STATE,
                       "the model has no classifier; svit_model_replace_head gives it one");
    if (features->classes != model->num_classes)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the set has %zu classes, the model %u; svit_model_replace_head gives it "
                       "another number",
                       features->classes, model->num_classes);
    if (features->count > UINT32_MAX)
        return sv_fail(err, SVIT_E_ARGUMENT, "the set has %zu samples; at most %u are accepted",
                       features->count, UINT32_MAX);
    for (size_t i = 0; i < features->count; i++)
        if (features->labels[i] < 0)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "labels[%zu] of the set is -1; every sample needs a label", i);
    return SVIT_OK;
}

static svit_status create_session(fit *self, svit_error *err)
{
    svit_session_config session;
    SVIT_TRY(svit_session_config_init(&session, sizeof session));
    session.max_batch = self->config.batch;
    session.mode = SVIT_MODE_TRAIN;
    session.seed = self->config.seed;
    strcpy(session.input_layer, "features");
    return svit_session_create(&self->session, self->model, &session, err);
}

/* The weight decay that is used if none is given. It is larger for fewer samples, which by chance
 * differ more from others of their classes. */
static double default_decay(size_t samples)
{
    return fmin(10, 5000 / (double)samples);
}

static svit_status create_optimizer(fit *self, svit_error *err)
{
    svit_optimizer_config optimizer;
    const size_t n = self->features->count, batch = self->config.batch;
    SVIT_TRY(svit_optimizer_config_init(&optimizer, sizeof optimizer));
    optimizer.learning_rate = self->config.learning_rate;
    optimizer.weight_decay =
        self->config.weight_decay < 0 ? default_decay(n) : self->config.weight_decay;
    optimizer.decay_exclude = SVIT_EXCLUDE_BIAS;
    optimizer.schedule = SVIT_SCHEDULE_WARMUP_COSINE;
    optimizer.total_steps = (uint64_t)self->config.epochs * ((n + batch - 1) / batch);
    return sv_optimizer_create(&self->optimizer, self->model, self->model->context, self->session,
                               &optimizer, err);
}

static svit_status allocate(fit *self, svit_error *err)
{
    sv_arrays *arrays = &self->arrays;
    const size_t batch = self->config.batch, classes = self->features->classes;
    SVIT_TRY(sv_arrays_add(arrays, &self->rows, batch,
                           self->features->channels * sizeof *self->rows, "a batch of features",
                           err));
    SVIT_TRY(
        sv_arrays_add(arrays, &self->logits, batch, classes * sizeof *self->logits, "logits", err));
    SVIT_TRY(sv_arrays_add(arrays, &self->dlogits, batch, classes * sizeof *self->dlogits,
                           "gradients of logits", err));
    SVIT_TRY(sv_arrays_add(arrays, &self->labels, batch, sizeof *self->labels,
                           "the labels of a batch", err));
    if (self->config.balanced) {
        SVIT_TRY(sv_arrays_add(arrays, &self->class_weights, classes, sizeof *self->class_weights,
                               "weights of classes", err));
        SVIT_TRY(sv_arrays_add(arrays, &self->samples, classes, sizeof *self->samples,
                               "the sizes of classes", err));
    }
    return sv_arrays_add(arrays, &self->order, self->features->count, sizeof *self->order,
                         "the order of features", err);
}

static void release(fit *self)
{
    sv_arrays_free(&self->arrays);
    sv_names_free(self->arrays.allocator, self->names, self->features->classes);
    svit_optimizer_free(self->optimizer);
    svit_session_free(self->session);
}

/* class_weights[k] = samples / (classes * samples of k), 0 for a class without any. */
static void balance(fit *self)
{
    const svit_features *features = self->features;
    if (!self->class_weights)
        return;
    for (size_t i = 0; i < features->count; i++)
        self->samples[features->labels[i]]++;
    for (size_t k = 0; k < features->classes; k++)
        if (self->samples[k] > 0)
            self->class_weights[k] =
                (float)features->count / ((float)features->classes * (float)self->samples[k]);
}

static void gather(fit *self, size_t first, size_t n)
{
    const svit_features *features = self->features;
    const size_t c = features->channels;
    for (size_t i = 0; i < n; i++) {
        const size_t sample = self->order[first + i];
        memcpy(self->rows + i * c, features->values + sample * c, c * sizeof *self->rows);
        self->labels[i] = features->labels[sample];
    }
}

static svit_status update(fit *self, size_t n, svit_error *err)
{
    SVIT_TRY(sv_context_go_on(self->model->context, err));
    SVIT_TRY(svit_forward(self->session, self->rows, n, self->logits, err));
    SVIT_TRY(svit_cross_entropy_weighted(
        self->logits, self->labels, self->class_weights, n, self->features->classes,
        (float)self->config.label_smoothing, NULL, self->dlogits, err));
    SVIT_TRY(svit_backward(self->session, self->dlogits, n, err));
    return svit_step(self->optimizer, self->session, err);
}

static svit_status train(fit *self, svit_error *err)
{
    const size_t count = self->features->count, batch = self->config.batch;
    balance(self);
    for (uint32_t epoch = 0; epoch < self->config.epochs; epoch++) {
        sv_order_fill(&(sv_order){.count = (uint32_t)count}, self->order, self->config.seed, epoch);
        for (size_t first = 0; first < count; first += batch) {
            const size_t n = sv_size_min(batch, count - first);
            gather(self, first, n);
            SVIT_TRY(update(self, n, err));
        }
    }
    return SVIT_OK;
}

/* With the default rate or decay, features of a small scale hardly move the logits, and the decay
 * takes their weights; those of a large one make the logits confident. */
static void note_scale(const fit *self)
{
    const svit_features *features = self->features;
    if (self->config.weight_decay >= 0 && self->config.learning_rate != DEFAULTS.learning_rate)
        return;
    const size_t elements = features->count * features->channels;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < elements; i++) {
        sum += (double)features->values[i];
        squares += (double)features->values[i] * (double)features->values[i];
    }
    const double mean = sum / (double)elements;
    const double deviation = sqrt(fmax(0, squares / (double)elements - mean * mean));
    if (deviation < 0.1 || deviation > 10)
        sv_context_warn(self->model->context,
                        "the standard deviation of the features is %g: the defaults of a head's "
                        "learning_rate and weight_decay suit 0.1 to 10",
                        deviation);
}

static svit_status run(fit *self, svit_error *err)
{
    const svit_features *features = self->features;
    if (features->names && self->model->classes)
        SVIT_TRY(sv_names_check_moved((const char *const *)features->names,
                                      (const char *const *)self->model->classes, features->classes,
                                      "the set", &self->model->context->allocator, err));
    SVIT_TRY(create_session(self, err));
    SVIT_TRY(sv_features_check_model(features, self->model, svit_session_input_size(self->session),
                                     "the set", err));
    note_scale(self);
    SVIT_TRY(create_optimizer(self, err));
    SVIT_TRY(allocate(self, err));
    SVIT_TRY(sv_names_copy(&self->names, &self->model->context->allocator,
                           (const char *const *)features->names, features->classes, "class_names",
                           err));
    SVIT_TRY(train(self, err));
    if (self->names)
        sv_model_take_names(self->model, self->names);
    self->names = NULL;
    /* What a loss of another kind has left: logits of cross-entropy are no numbers of their own. */
    return svit_model_output(self->model) == SVIT_OUTPUT_SOFTMAX
               ? SVIT_OK
               : svit_model_set_output(self->model, SVIT_OUTPUT_SOFTMAX, err);
}

SVIT_API svit_status svit_model_fit_head(svit_model *model, const svit_features *features,
                                         const svit_head_config *config, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SV_REQUIRE(features);
    fit self = {
        .model = model, .features = features, .arrays.allocator = &model->context->allocator};
    SVIT_TRY(sv_config_read(&TYPE, &self.config, config, err));
    SVIT_TRY(check(&self, err));
    self.config.batch = (uint32_t)sv_size_min(self.config.batch, features->count);
    svit_status status = run(&self, err);
    release(&self);
    return status;
}
