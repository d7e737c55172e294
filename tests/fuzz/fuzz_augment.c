/* Augmentation: a pipeline whose fields come from the input, which a loader applies to small
 * images. */
#include "datasets.h"

#include <math.h>
#include <string.h>

/* A number that is mostly in 0..1. */
static double fraction(fuzz_bytes *bytes)
{
    const uint8_t kind = (uint8_t)fuzz_take(bytes, 1);
    return kind < 245 ? kind / 244.0 : (double)fuzz_float(bytes);
}

static svit_augment_step step_from(fuzz_bytes *bytes)
{
    svit_augment_step step = {.kind = (int32_t)fuzz_range(bytes, 0, 12)};
    step.mode = (int32_t)fuzz_range(bytes, 0, 2);
    step.padding = fuzz_range(bytes, 0, 20);
    step.count = fuzz_range(bytes, 0, 17);
    step.magnitude = fuzz_range(bytes, 0, 31);
    step.size = fuzz_range(bytes, 0, 40);
    step.off_epoch = fuzz_range(bytes, 0, 2);
    step.probability = fraction(bytes);
    for (int i = 0; i < 2; i++) {
        step.scale[i] = fraction(bytes);
        step.ratio[i] = 2 * fraction(bytes);
    }
    step.brightness = 2 * fraction(bytes);
    step.contrast = 2 * fraction(bytes);
    step.saturation = 2 * fraction(bytes);
    step.alpha = 4 * fraction(bytes);
    step.hue = fraction(bytes) / 2;
    return step;
}

/* Clears the fields that do not belong to the step, through its JSON, which a pipeline with other
 * fields would refuse; the steps are refused as they are in one input of two. */
static void keep_own_fields(svit_augment_step *step)
{
    svit_augment_step own = {.kind = step->kind};
    switch (step->kind) {
    case SVIT_AUGMENT_CROP:
        own.padding = step->padding;
        own.mode = step->mode;
        break;
    case SVIT_AUGMENT_FLIP:
        own.probability = step->probability;
        own.mode = step->mode;
        break;
    case SVIT_AUGMENT_COLOR_JITTER:
        own.brightness = step->brightness;
        own.contrast = step->contrast;
        own.saturation = step->saturation;
        own.hue = step->hue;
        break;
    case SVIT_AUGMENT_RANDAUGMENT:
        own.count = step->count;
        own.magnitude = step->magnitude;
        break;
    case SVIT_AUGMENT_AUTOAUGMENT:
        own.mode = step->mode;
        break;
    case SVIT_AUGMENT_RESIZED_CROP:
    case SVIT_AUGMENT_ERASING:
        own.mode = step->kind == SVIT_AUGMENT_RESIZED_CROP ? step->mode : 0;
        own.probability = step->kind == SVIT_AUGMENT_ERASING ? step->probability : 0;
        memcpy(own.scale, step->scale, sizeof own.scale);
        memcpy(own.ratio, step->ratio, sizeof own.ratio);
        break;
    case SVIT_AUGMENT_CUTOUT:
        own.size = step->size;
        break;
    case SVIT_AUGMENT_MIXUP:
    case SVIT_AUGMENT_CUTMIX:
        own.probability = step->probability;
        own.alpha = step->alpha;
        own.off_epoch = step->off_epoch;
        break;
    case SVIT_AUGMENT_REPEAT:
        own.count = step->count;
        break;
    default:
        break;
    }
    *step = own;
}

static svit_pipeline_config pipeline_from(fuzz_bytes *bytes)
{
    static const uint32_t channels[] = {3, 1, 4, 7};
    svit_pipeline_config config;
    svit_pipeline_config_init(&config, sizeof config);
    config.channels = channels[fuzz_range(bytes, 0, 3)];
    config.source_height = fuzz_range(bytes, 1, 24);
    config.source_width = fuzz_range(bytes, 1, 24);
    config.output_height = fuzz_range(bytes, 1, 24);
    config.output_width = fuzz_range(bytes, 1, 24);
    config.resize_height = config.output_height + fuzz_range(bytes, 0, 5);
    config.resize_width = config.output_width + fuzz_range(bytes, 0, 5);
    config.evaluation = (int32_t)fuzz_range(bytes, 0, 3);
    config.per_batch = (int32_t)fuzz_range(bytes, 0, 1);
    config.source_filter = (int32_t)fuzz_range(bytes, 0, 5);
    config.flip_probability = fraction(bytes);
    config.rotation = fraction(bytes);
    config.zoom = fraction(bytes);
    config.augment_count = fuzz_range(bytes, 0, 5);
    const bool own = fuzz_take(bytes, 1) % 8 != 0;
    for (uint32_t i = 0; i < config.augment_count; i++) {
        config.augment[i] = step_from(bytes);
        if (own)
            keep_own_fields(&config.augment[i]);
    }
    return config;
}

static void run(svit_loader *loader, size_t batch, size_t channels, size_t classes)
{
    svit_error err = FUZZ_ERROR;
    const size_t image = svit_loader_height(loader) * svit_loader_width(loader) * channels;
    float *images = malloc(batch * image * sizeof *images);
    float *targets = malloc(batch * classes * sizeof *targets);
    FUZZ_CHECK(images && targets);
    for (int i = 0; i < 4; i++) {
        size_t n;
        if (!fuzz_ok(svit_loader_next_targets(loader, images, targets, &n, &err), &err))
            break;
        FUZZ_CHECK(n <= batch);
        for (size_t e = 0; e < n * image; e++)
            FUZZ_CHECK(isfinite(images[e]));
        for (size_t e = 0; e < n * classes; e++)
            FUZZ_CHECK(targets[e] >= 0 && targets[e] <= 1.0001f);
    }
    free(targets);
    free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { COUNT = 3, CLASSES = 2 };
    static const int32_t labels[COUNT] = {0, 1, 0};
    fuzz_bytes bytes = {data, size};
    svit_error err = FUZZ_ERROR;
    svit_dataset *dataset = NULL;
    svit_loader *loader = NULL;
    svit_loader_config config;
    const svit_pipeline_config pipeline = pipeline_from(&bytes);
    const size_t height = fuzz_range(&bytes, 1, 20), width = fuzz_range(&bytes, 1, 20);
    const size_t pixel_bytes = COUNT * height * width * pipeline.channels;
    uint8_t *pixels = malloc(pixel_bytes);
    FUZZ_CHECK(pixels);
    for (size_t i = 0; i < pixel_bytes; i++)
        pixels[i] = bytes.size > 0 ? (uint8_t)fuzz_take(&bytes, 1) : (uint8_t)(i * 37);
    svit_loader_config_init(&config, sizeof config);
    config.batch = 2;
    config.shuffle = config.augment = 1;
    config.prefetch = 0;
    config.seed = size;
    FUZZ_CHECK(svit_dataset_memory(&dataset, fuzz_context(), pixels, labels, COUNT, height, width,
                                   pipeline.channels, CLASSES, &err) == SVIT_OK);
    if (fuzz_ok(svit_loader_create(&loader, dataset, &pipeline, &config, &err), &err))
        run(loader, config.batch, pipeline.channels, CLASSES);
    svit_loader_free(loader);
    svit_dataset_free(dataset);
    free(pixels);
    return fuzz_end();
}
