/* Runs augmentation steps: each draws its random numbers from a stream of its own. */
#include "data/augmentation/steps.h"

#include "base/numbers/random.h"
#include "data/augmentation/policy.h"
#include "data/augmentation/step_fields.h"

#include <math.h>

/* The image between two operations, which read one buffer and write the other. */
typedef struct image_chain {
    const void *image;
    void *buffers[2];
    void *tables; /* scratch of resized crops */
    size_t height, width, channels;
    size_t pixel_bytes;
} image_chain;

/* The buffer that does not hold the image. */
static void *next_buffer(const image_chain *chain)
{
    return chain->buffers[chain->image == chain->buffers[0]];
}

static void apply(image_chain *chain, sv_operation operation, double value)
{
    uint8_t *out = next_buffer(chain);
    sv_operation_apply(out, chain->image, chain->height, chain->width, operation, value);
    chain->image = out;
}

static sv_random start_random(const sv_augment_key *key, uint64_t epoch, uint32_t step)
{
    sv_random random;
    sv_random_start(&random, key->seed, SV_STREAM_AUGMENT_STEP,
                    epoch * SVIT_MAX_AUGMENT_STEPS + step, key->sample);
    return random;
}

/* Uniform in [low, high). */
static double draw_between(sv_random *random, double low, double high)
{
    return low + (high - low) * sv_random_unit(random);
}

static void crop(image_chain *chain, const svit_augment_step *step, sv_random *random)
{
    void *out = next_buffer(chain);
    size_t top = sv_random_below(random, 2 * step->padding + 1);
    size_t left = sv_random_below(random, 2 * step->padding + 1);
    sv_augment_crop(out, chain->image, chain->height, chain->width, chain->pixel_bytes,
                    step->padding, top, left, step->mode == SVIT_CROP_REFLECT);
    chain->image = out;
}

/* An alternating flip mirrors an image in every second epoch. A bit for each image, from the stream
 * of epoch 0, says whether that begins with the first epoch. */
static void flip(image_chain *chain, const svit_augment_step *step, const sv_augment_key *key,
                 uint32_t index, sv_random *random)
{
    bool mirrors;
    if (step->mode == SVIT_FLIP_ALTERNATING) {
        sv_random first = start_random(key, 0, index);
        mirrors = (sv_random_u32(&first) + key->epoch) & 1;
    } else {
        mirrors = sv_random_unit(random) < step->probability;
    }
    if (!mirrors)
        return;
    void *out = next_buffer(chain);
    sv_augment_mirror(out, chain->image, chain->height, chain->width, chain->pixel_bytes);
    chain->image = out;
}

/* The order of the four changes is a random permutation. Each factor is drawn when its turn comes,
 * and changes that cannot do anything are left out. */
static void color_jitter(image_chain *chain, const svit_augment_step *step, sv_random *random)
{
    const struct {
        sv_operation operation;
        double amount;
    } changes[4] = {{SV_BRIGHTNESS, step->brightness},
                    {SV_CONTRAST, step->contrast},
                    {SV_COLOR, step->saturation},
                    {SV_HUE, step->hue}};
    uint32_t order[4] = {0, 1, 2, 3};
    for (uint32_t left = 4; left > 0; left--) {
        uint32_t chosen = sv_random_below(random, left);
        uint32_t i = order[chosen];
        order[chosen] = order[left - 1];
        double amount = changes[i].amount;
        if (amount == 0)
            continue;
        bool is_hue = changes[i].operation == SV_HUE;
        double low = is_hue ? -amount : fmax(0, 1 - amount);
        apply(chain, changes[i].operation, draw_between(random, low, is_hue ? amount : 1 + amount));
    }
}

static void apply_magnitude(image_chain *chain, sv_policy policy, sv_operation operation,
                            uint32_t magnitude, sv_random *random)
{
    bool negative = sv_operation_is_signed(operation) && sv_random_below(random, 2);
    apply(chain, operation,
          sv_policy_value(policy, operation, magnitude, negative, chain->height, chain->width));
}

static void randaugment(image_chain *chain, const svit_augment_step *step, sv_random *random)
{
    for (uint32_t i = 0; i < step->count; i++)
        apply_magnitude(chain, SV_RANDAUGMENT,
                        sv_policy_operations[sv_random_below(random, SV_POLICY_OPERATIONS)],
                        step->magnitude, random);
}

static void trivialaugment(image_chain *chain, sv_random *random)
{
    sv_operation operation = sv_policy_operations[sv_random_below(random, SV_POLICY_OPERATIONS)];
    apply_magnitude(chain, SV_TRIVIALAUGMENT, operation, sv_random_below(random, SV_MAGNITUDES),
                    random);
}

static void autoaugment(image_chain *chain, const svit_augment_step *step, sv_random *random)
{
    const sv_sub_policy *pairs =
        step->mode == SVIT_AUTOAUGMENT_IMAGENET ? sv_autoaugment_imagenet : sv_autoaugment_cifar10;
    const sv_sub_policy *pair = &pairs[sv_random_below(random, SV_SUB_POLICIES)];
    for (size_t i = 0; i < 2; i++)
        if (sv_random_unit(random) < pair->steps[i].probability)
            apply_magnitude(chain, SV_AUTOAUGMENT, pair->steps[i].operation,
                            pair->steps[i].magnitude, random);
}

/* The largest box in the centre whose ratio of sides is in the range. */
static sv_crop_box centre_box(const svit_augment_step *step, size_t height, size_t width)
{
    double ratio = (double)width / (double)height;
    sv_crop_box box = {0, 0, height, width};
    if (ratio < step->ratio[0])
        box.height = (size_t)rint((double)width / step->ratio[0]);
    else if (ratio > step->ratio[1])
        box.width = (size_t)rint((double)height * step->ratio[1]);
    box.height = box.height < 1 ? 1 : box.height;
    box.width = box.width < 1 ? 1 : box.width;
    box.top = (height - box.height) / 2;
    box.left = (width - box.width) / 2;
    return box;
}

/* A box of a random area and a random ratio of its sides, which is uniform on a logarithmic scale.
 * After ten that do not fit it is the largest in the centre, as in torchvision. */
static sv_crop_box draw_box(const svit_augment_step *step, sv_random *random, size_t height,
                            size_t width)
{
    sv_crop_box box;
    for (int attempt = 0; attempt < 10; attempt++) {
        double area = draw_between(random, step->scale[0], step->scale[1]);
        double ratio = exp(draw_between(random, log(step->ratio[0]), log(step->ratio[1])));
        if (!sv_resized_crop_sides(&box, height, width, area, ratio))
            continue;
        box.top = sv_random_below(random, (uint32_t)(height - box.height + 1));
        box.left = sv_random_below(random, (uint32_t)(width - box.width + 1));
        return box;
    }
    return centre_box(step, height, width);
}

bool sv_augment_crops_first(const svit_pipeline_config *config)
{
    return config->augment_count > 0 && config->augment[0].kind == SVIT_AUGMENT_RESIZED_CROP;
}

sv_crop_box sv_augment_draw_box(const sv_first_crop *crop, size_t height, size_t width)
{
    sv_random random = start_random(&crop->key, crop->key.epoch, 0);
    return draw_box(crop->step, &random, height, width);
}

static void resized_crop(image_chain *chain, const svit_augment_step *step, sv_random *random)
{
    uint8_t *out = next_buffer(chain);
    sv_crop_box box = draw_box(step, random, chain->height, chain->width);
    sv_augment_resized_crop(out, chain->image, chain->height, chain->width, chain->channels, &box,
                            sv_augment_crop_filter(step), chain->tables);
    chain->image = out;
}

/* Bytes of the tables of resized crops, rounded up to whole floats. */
static size_t table_bytes(const sv_image_shape *shape)
{
    size_t bytes = sv_antialias_enlarge_scratch(shape->height, shape->width, shape->channels);
    return (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

size_t sv_augment_scratch(const sv_image_shape *shape)
{
    return table_bytes(shape) + 2 * sv_image_bytes(shape);
}

const void *sv_augment_bytes(const svit_pipeline_config *config, const sv_augment_key *key,
                             uint32_t first, const void *pixels, const sv_image_shape *shape,
                             void *scratch)
{
    uint8_t *images = (uint8_t *)scratch + table_bytes(shape);
    image_chain chain = {.image = pixels,
                         .buffers = {images, images + sv_image_bytes(shape)},
                         .tables = scratch,
                         .height = shape->height,
                         .width = shape->width,
                         .channels = shape->channels,
                         .pixel_bytes = sv_image_pixel_bytes(shape)};
    for (uint32_t i = first; i < config->augment_count; i++) {
        const svit_augment_step *step = &config->augment[i];
        sv_random random = start_random(key, key->epoch, i);
        if (step->kind == SVIT_AUGMENT_CROP)
            crop(&chain, step, &random);
        else if (step->kind == SVIT_AUGMENT_FLIP)
            flip(&chain, step, key, i, &random);
        else if (step->kind == SVIT_AUGMENT_COLOR_JITTER)
            color_jitter(&chain, step, &random);
        else if (step->kind == SVIT_AUGMENT_RANDAUGMENT)
            randaugment(&chain, step, &random);
        else if (step->kind == SVIT_AUGMENT_TRIVIALAUGMENT)
            trivialaugment(&chain, &random);
        else if (step->kind == SVIT_AUGMENT_AUTOAUGMENT)
            autoaugment(&chain, step, &random);
        else if (step->kind == SVIT_AUGMENT_RESIZED_CROP)
            resized_crop(&chain, step, &random);
    }
    return chain.image;
}

/* A box of a random area and a random ratio of its sides, which is uniform on a logarithmic scale.
 * After ten boxes that do not fit, nothing is erased, as in torchvision. */
static void erase(const svit_augment_step *step, sv_random *random, float *image, size_t height,
                  size_t width, size_t channels)
{
    if (!(sv_random_unit(random) < step->probability))
        return;
    for (int attempt = 0; attempt < 10; attempt++) {
        double area =
            draw_between(random, step->scale[0], step->scale[1]) * (double)(height * width);
        double ratio = exp(draw_between(random, log(step->ratio[0]), log(step->ratio[1])));
        double box_height = rint(sqrt(area * ratio)), box_width = rint(sqrt(area / ratio));
        if (!(box_height < (double)height && box_width < (double)width))
            continue;
        size_t top = sv_random_below(random, (uint32_t)(height - (size_t)box_height + 1));
        size_t left = sv_random_below(random, (uint32_t)(width - (size_t)box_width + 1));
        sv_augment_erase(image, width, channels, top, left, (size_t)box_height, (size_t)box_width);
        return;
    }
}

static void cutout(const svit_augment_step *step, sv_random *random, float *image, size_t height,
                   size_t width, size_t channels)
{
    size_t top, left, box_height, box_width;
    sv_cutout_range(&top, &box_height, height, step->size,
                    sv_random_below(random, (uint32_t)height));
    sv_cutout_range(&left, &box_width, width, step->size, sv_random_below(random, (uint32_t)width));
    sv_augment_erase(image, width, channels, top, left, box_height, box_width);
}

void sv_augment_values(const svit_pipeline_config *config, const sv_augment_key *key, float *image,
                       size_t height, size_t width)
{
    for (uint32_t i = 0; i < config->augment_count; i++) {
        const svit_augment_step *step = &config->augment[i];
        sv_random random = start_random(key, key->epoch, i);
        if (step->kind == SVIT_AUGMENT_ERASING)
            erase(step, &random, image, height, width, config->channels);
        else if (step->kind == SVIT_AUGMENT_CUTOUT)
            cutout(step, &random, image, height, width, config->channels);
    }
}

bool sv_augment_has_bytes(const svit_pipeline_config *config)
{
    return config->augment_count > 0 && sv_augment_stage_of(&config->augment[0]) == SV_ON_BYTES;
}

bool sv_augment_has_values(const svit_pipeline_config *config)
{
    for (uint32_t i = 0; i < config->augment_count; i++)
        if (sv_augment_stage_of(&config->augment[i]) == SV_ON_VALUES)
            return true;
    return false;
}

uint32_t sv_augment_repeats(const svit_pipeline_config *config)
{
    for (uint32_t i = 0; i < config->augment_count; i++)
        if (config->augment[i].kind == SVIT_AUGMENT_REPEAT)
            return config->augment[i].count;
    return 1;
}
