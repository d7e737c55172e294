/* Datasets whose samples the caller's functions give. */
#include "base/numbers/finite.h"
#include "base/text/names.h"
#include "config/config.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

#include <stdio.h>

typedef struct custom_set {
    svit_dataset base;
    svit_custom_dataset functions; /* `release` is NULL until the dataset has been created */
    char **names;                  /* [classes], or NULL */
} custom_set;

static const svit_custom_dataset *functions_of(const svit_dataset *dataset)
{
    return &((const custom_set *)dataset)->functions;
}

/* Fails as a function of the caller has for sample `index`, with what it said. */
static svit_status fail(svit_error *err, svit_status status, const char *function, size_t index,
                        const svit_error *said)
{
    char where[40];
    snprintf(where, sizeof where, "sample %zu", index);
    return sv_fail_in(err, sv_fail_function(err, status, function, said->message), where);
}

static svit_status take_label(int32_t *label, const svit_dataset *dataset, size_t index,
                              int32_t given, svit_error *err)
{
    if (given < 0 || (size_t)given >= dataset->classes)
        return sv_fail(err, SVIT_E_ARGUMENT, "sample %zu has the label %d; 0..%zu are accepted",
                       index, (int)given, dataset->classes - 1);
    *label = given;
    return SVIT_OK;
}

/* SVIT_E_FORMAT unless values[count] of a sample, which are its `what`, are finite. */
static svit_status check_finite(const float *values, size_t count, const char *what, size_t index,
                                svit_error *err)
{
    const size_t k = sv_first_not_finite(values, count);
    if (k == count)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT, "sample %zu: %s %zu is %g; it must be finite", index, what,
                   k, (double)values[k]);
}

static svit_status custom_sample(const svit_dataset *dataset, size_t index,
                                 const sv_first_crop *crop, void *pixels, int32_t *label,
                                 svit_error *err)
{
    (void)crop;
    const svit_custom_dataset *functions = functions_of(dataset);
    svit_error said = {.struct_size = sizeof said};
    int32_t given = -1;
    const svit_status status = functions->sample(functions->user, index, pixels, &given, &said);
    if (status != SVIT_OK)
        return fail(err, status, "the sample function", index, &said);
    const size_t elements = dataset->height * dataset->width * dataset->channels;
    if (dataset->is_f32)
        SVIT_TRY(check_finite(pixels, elements, "value", index, err));
    if (!dataset->has_targets)
        return take_label(label, dataset, index, given, err);
    *label = -1;
    return SVIT_OK;
}

static svit_status custom_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                svit_error *err)
{
    const svit_custom_dataset *functions = functions_of(dataset);
    svit_error said = {.struct_size = sizeof said};
    int32_t given = -1;
    const svit_status status = functions->label(functions->user, index, &given, &said);
    if (status != SVIT_OK)
        return fail(err, status, "the label function", index, &said);
    return take_label(label, dataset, index, given, err);
}

static svit_status no_label(const svit_dataset *dataset, size_t index, int32_t *label,
                            svit_error *err)
{
    (void)dataset;
    (void)index;
    (void)err;
    *label = -1;
    return SVIT_OK;
}

static svit_status custom_targets(const svit_dataset *dataset, size_t index, float *targets,
                                  svit_error *err)
{
    const svit_custom_dataset *functions = functions_of(dataset);
    svit_error said = {.struct_size = sizeof said};
    const svit_status status = functions->targets(functions->user, index, targets, &said);
    if (status != SVIT_OK)
        return fail(err, status, "the targets function", index, &said);
    return check_finite(targets, dataset->classes, "target", index, err);
}

static void custom_free(svit_dataset *dataset)
{
    custom_set *self = (custom_set *)dataset;
    sv_names_free(&dataset->context->allocator, self->names, dataset->classes);
    if (self->functions.release)
        self->functions.release(self->functions.user);
}

static const sv_dataset_ops UNLABELLED = {
    .bytes = sizeof(custom_set), .sample = custom_sample, .free = custom_free};
static const sv_dataset_ops LABELLED = {.bytes = sizeof(custom_set),
                                        .sample = custom_sample,
                                        .label = custom_label,
                                        .free = custom_free};
static const sv_dataset_ops WITH_TARGETS = {.bytes = sizeof(custom_set),
                                            .sample = custom_sample,
                                            .label = no_label,
                                            .targets = custom_targets,
                                            .free = custom_free};

static svit_status check_custom(const void *checked, svit_error *err)
{
    const char *where = "svit_custom_dataset";
    const svit_custom_dataset *self = checked;
    if (!self->sample)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: sample is NULL; a function is needed", where);
    if (self->label && self->targets)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: label and targets are both set; a dataset has one of them", where);
    SVIT_TRY(sv_check_flag(where, "is_f32", self->is_f32, err));
    SVIT_TRY(sv_check_flag(where, "any_thread", self->any_thread, err));
    const sv_image_shape shape = {self->height, self->width, self->channels, self->is_f32 != 0};
    return sv_dataset_check_form(where, self->count, 1, &shape, self->classes, err);
}

static const svit_custom_dataset DEFAULTS = {.channels = SV_RGB};
static const sv_config_type TYPE = {SV_CONFIG_STRUCT(svit_custom_dataset),
                                    .reserved = offsetof(svit_custom_dataset, reserved),
                                    .defaults = &DEFAULTS, .check = check_custom};

SV_CONFIG_INIT(svit_custom_dataset, TYPE)

static svit_status open_custom(svit_dataset **out, svit_context *context,
                               const svit_custom_dataset *own, svit_error *err)
{
    const sv_dataset_ops *ops = own->targets ? &WITH_TARGETS : own->label ? &LABELLED : &UNLABELLED;
    const sv_image_shape shape = {own->height, own->width, own->channels, own->is_f32 != 0};
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create_form(&dataset, context, ops, own->count, &shape, own->classes, err));
    custom_set *self = (custom_set *)dataset;
    const svit_status status = sv_names_copy(&self->names, &context->allocator, own->class_names,
                                             own->classes, "class_names", err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    dataset->names = (const char *const *)self->names;
    dataset->has_targets = own->targets != NULL;
    dataset->label_needs_image = !ops->label;
    dataset->caller_thread_only = !own->any_thread;
    dataset->varies = true; /* the functions may give other pixels at each call */
    self->functions = *own;
    self->functions.class_names = NULL;
    *out = dataset;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_custom(svit_dataset **out, svit_context *context,
                                         const svit_custom_dataset *custom, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(custom);
    svit_custom_dataset own;
    SVIT_TRY(sv_config_read(&TYPE, &own, custom, err));
    return open_custom(out, context, &own, err);
}
