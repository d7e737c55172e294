/* The fields of augmentation steps: names, ranges and defaults of each kind, and JSON. */
#include "data/augmentation/step_fields.h"

#include "data/augmentation/policy.h"
#include "data/checks.h"

#include <stdio.h>
#include <string.h>

#define FIELD(field, kind) SV_FIELD(svit_augment_step, field, kind)
#define AMOUNT(field, limit)                                                                       \
    {                                                                                              \
        FIELD(field, REAL), .max = limit                                                           \
    }
#define PROBABILITY AMOUNT(probability, 1)
#define TABLE(list)                                                                                \
    {                                                                                              \
        .type = "svit_augment_step", .noun = "the augmentation step", .fields = list,              \
        .count = sizeof(list) / sizeof *(list)                                                     \
    }

static const sv_field CROP[] = {
    {FIELD(padding, U32), .max = 256},
    {FIELD(mode, WORD),
     .words = (sv_words){[SVIT_CROP_ZERO] = "zero", [SVIT_CROP_REFLECT] = "reflect"}}};
static const sv_field FLIP[] = {
    PROBABILITY,
    {FIELD(mode, WORD),
     .words = (sv_words){[SVIT_FLIP_RANDOM] = "random", [SVIT_FLIP_ALTERNATING] = "alternating"}}};
static const sv_field COLOR_JITTER[] = {AMOUNT(brightness, 255), AMOUNT(contrast, 255),
                                        AMOUNT(saturation, 255), AMOUNT(hue, 0.5)};
static const sv_field RANDAUGMENT[] = {
    {FIELD(count, U32), .key = "n", .min = 1, .max = 16},
    {FIELD(magnitude, U32), .key = "m", .max = SV_MAGNITUDES - 1}};
static const sv_field AUTOAUGMENT[] = {
    {FIELD(mode, WORD), .key = "policy",
     .words = (sv_words){
         [SVIT_AUTOAUGMENT_CIFAR10] = "cifar10", [SVIT_AUTOAUGMENT_IMAGENET] = "imagenet"}}};
static const sv_field ERASING[] = {PROBABILITY,
                                   {FIELD(scale, PAIR), .min_is_open = 1, .max = 1},
                                   {FIELD(ratio, PAIR), .min_is_open = 1, .max = 1e6}};
static const sv_field MIX[] = {{FIELD(alpha, REAL), .min_is_open = 1, .max = 1000},
                               PROBABILITY,
                               {FIELD(off_epoch, U32), .max = UINT32_MAX}};
static const sv_field REPEAT[] = {{FIELD(count, U32), .key = "n", .min = 1, .max = 16}};
static const sv_field RESIZED_CROP[] = {
    {FIELD(scale, PAIR), .min_is_open = 1, .max = 1},
    {FIELD(ratio, PAIR), .min_is_open = 1, .max = 1e6},
    {FIELD(mode, WORD),
     .words = (sv_words){[SVIT_RESIZE_BILINEAR] = "bilinear", [SVIT_RESIZE_BICUBIC] = "bicubic"}}};
static const sv_field CUTOUT[] = {{FIELD(size, U32), .min = 1, .max = 8192}};

static const struct step_kind {
    const char *name;
    sv_augment_stage stage;
    bool changes_colors; /* needs 3 channels */
    sv_field_table table;
    svit_augment_step defaults;
} KINDS[] = {
    [SVIT_AUGMENT_CROP] = {"crop", SV_ON_BYTES, false, TABLE(CROP), {.padding = 4}},
    [SVIT_AUGMENT_FLIP] = {"flip", SV_ON_BYTES, false, TABLE(FLIP), {.probability = 0.5}},
    [SVIT_AUGMENT_COLOR_JITTER] = {"color-jitter", SV_ON_BYTES, true, TABLE(COLOR_JITTER), {0}},
    [SVIT_AUGMENT_RANDAUGMENT] =
        {"randaugment", SV_ON_BYTES, true, TABLE(RANDAUGMENT), {.count = 2, .magnitude = 9}},
    [SVIT_AUGMENT_TRIVIALAUGMENT] =
        {"trivialaugment", SV_ON_BYTES, true, {.noun = "the augmentation step"}, {0}},
    [SVIT_AUGMENT_AUTOAUGMENT] = {"autoaugment", SV_ON_BYTES, true, TABLE(AUTOAUGMENT), {0}},
    [SVIT_AUGMENT_ERASING] = {"erasing",
                              SV_ON_VALUES,
                              false,
                              TABLE(ERASING),
                              {.probability = 0.5, .scale = {0.02, 0.33}, .ratio = {0.3, 3.3}}},
    [SVIT_AUGMENT_RESIZED_CROP] = {"resized-crop",
                                   SV_ON_BYTES,
                                   false,
                                   TABLE(RESIZED_CROP),
                                   {.scale = {0.08, 1}, .ratio = {3.0 / 4, 4.0 / 3}}},
    [SVIT_AUGMENT_CUTOUT] = {"cutout", SV_ON_VALUES, false, TABLE(CUTOUT), {.size = 8}},
    [SVIT_AUGMENT_MIXUP] =
        {"mixup", SV_ON_BATCHES, false, TABLE(MIX), {.alpha = 0.8, .probability = 1}},
    [SVIT_AUGMENT_CUTMIX] =
        {"cutmix", SV_ON_BATCHES, false, TABLE(MIX), {.alpha = 1, .probability = 1}},
    [SVIT_AUGMENT_REPEAT] = {"repeat", SV_ON_BATCHES, false, TABLE(REPEAT), {.count = 3}},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

/* Writes the known names: "'crop', 'flip', ...". */
static const char *list_names(char *text, size_t capacity)
{
    size_t used = 0;
    for (size_t i = 0; i < KIND_COUNT && used < capacity; i++)
        used +=
            (size_t)snprintf(text + used, capacity - used, i ? ", '%s'" : "'%s'", KINDS[i].name);
    return text;
}

static svit_status check_range(const char *name, const double range[2], svit_error *err)
{
    if (range[0] <= range[1])
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is [%g, %g]; the first is at most the second", name,
                   range[0], range[1]);
}

static svit_status step_check(const void *element, svit_error *err)
{
    const svit_augment_step *step = element;
    if (step->kind < 0 || step->kind >= KIND_COUNT)
        return sv_fail(err, SVIT_E_ARGUMENT, "kind is %d; it is 0..%d", step->kind, KIND_COUNT - 1);
    if (step->reserved != 0)
        return sv_fail(err, SVIT_E_VERSION, "reserved of svit_augment_step is %u; it is 0",
                       step->reserved);
    SVIT_TRY(sv_fields_check(&KINDS[step->kind].table, step, err));
    SVIT_TRY(check_range("scale", step->scale, err));
    return check_range("ratio", step->ratio, err);
}

/* Sets the fields of all members but "name". */
static svit_status read_members(svit_augment_step *step, const sv_json_value *object,
                                svit_error *err)
{
    const sv_field_table *table = &KINDS[step->kind].table;
    const sv_json_value *member = object + 1;
    for (size_t i = 0; i < object->count; i++, member = member->after) {
        const sv_field *field = sv_fields_find_key(table, member->key);
        if (strcmp(member->key, "name") == 0)
            continue;
        if (!field)
            return sv_fail(err, SVIT_E_ARGUMENT, "'%.40s' is no field of '%s'", member->key,
                           KINDS[step->kind].name);
        SVIT_TRY(sv_field_from_json(field, step, member, err));
    }
    return SVIT_OK;
}

static svit_status step_read(void *element, const sv_json_value *value, svit_error *err)
{
    svit_augment_step *step = element;
    char names[200];
    const char *name = sv_json_text(sv_json_get(value, "name"));
    for (int32_t kind = 0; name && kind < KIND_COUNT; kind++)
        if (strcmp(KINDS[kind].name, name) == 0) {
            *step = KINDS[kind].defaults;
            step->kind = kind;
            SVIT_TRY(read_members(step, value, err));
            return step_check(step, err);
        }
    if (!name)
        return sv_fail(err, SVIT_E_ARGUMENT, "it is no object with a \"name\", which is one of %s",
                       list_names(names, sizeof names));
    return sv_fail(err, SVIT_E_ARGUMENT, "name is '%.40s'; it is one of %s", name,
                   list_names(names, sizeof names));
}

static void step_write(const void *element, sv_json_writer *writer)
{
    const svit_augment_step *step = element;
    sv_json_begin(writer, '{');
    sv_json_put_key(writer, "name");
    sv_json_put_text(writer, KINDS[step->kind].name);
    sv_fields_put(&KINDS[step->kind].table, step, writer);
    sv_json_end(writer, '}');
}

const sv_field_elements sv_augment_elements = {.noun = "augmentation steps",
                                               .bytes = sizeof(svit_augment_step),
                                               .read = step_read,
                                               .write = step_write,
                                               .check = step_check};

sv_augment_stage sv_augment_stage_of(const svit_augment_step *step)
{
    return KINDS[step->kind].stage;
}

svit_status sv_augment_check_channels(const svit_pipeline_config *config, svit_error *err)
{
    for (uint32_t i = 0; i < config->augment_count; i++) {
        const struct step_kind *kind = &KINDS[config->augment[i].kind];
        if (config->channels != SV_RGB && kind->changes_colors)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "augment[%u] is '%s', which changes colours and needs channels 3; "
                           "channels is %u",
                           i, kind->name, config->channels);
        if (config->channels > SVIT_MAX_CHANNELS &&
            config->augment[i].kind == SVIT_AUGMENT_RESIZED_CROP)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "augment[%u] is '%s', which needs channels of 1..%d; channels is %u", i,
                           kind->name, SVIT_MAX_CHANNELS, config->channels);
    }
    return SVIT_OK;
}

svit_status sv_augment_check_images(const svit_pipeline_config *config, const sv_image_shape *shape,
                                    svit_error *err)
{
    size_t side = shape->height < shape->width ? shape->height : shape->width;
    for (uint32_t i = 0; i < config->augment_count; i++) {
        const svit_augment_step *step = &config->augment[i];
        if (step->kind == SVIT_AUGMENT_CROP && step->padding >= side)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "augment[%u]: padding is %u; it is below the sides of the images, %zu x "
                           "%zu pixels",
                           i, step->padding, shape->height, shape->width);
        if (shape->is_f32 &&
            (KINDS[step->kind].changes_colors || step->kind == SVIT_AUGMENT_RESIZED_CROP))
            return sv_fail(err, SVIT_E_UNSUPPORTED,
                           "augment[%u] is '%s', which works on bytes; the images are float", i,
                           KINDS[step->kind].name);
    }
    return SVIT_OK;
}

svit_status sv_augment_check_order(const svit_pipeline_config *config, svit_error *err)
{
    uint32_t repeats = 0;
    for (uint32_t i = 0; i < config->augment_count; i++) {
        repeats += config->augment[i].kind == SVIT_AUGMENT_REPEAT;
        if (repeats > 1)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "augment[%u] is a second 'repeat'; one is accepted", i);
        if (i > 0 &&
            sv_augment_stage_of(&config->augment[i - 1]) > sv_augment_stage_of(&config->augment[i]))
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "augment[%u] is '%s', which comes before '%s': the order is steps on "
                           "bytes, then erasing and cutout, then mixup, cutmix and repeat",
                           i, KINDS[config->augment[i].kind].name,
                           KINDS[config->augment[i - 1].kind].name);
    }
    return SVIT_OK;
}
