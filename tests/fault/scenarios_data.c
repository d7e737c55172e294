/* Scenarios of datasets and loaders. */
#include "scenario.h"
#include "tar_make.h"

#include <fcntl.h>
#include <sys/stat.h>

SCENARIO(svit_dataset_cifar10, NEEDS_CONTEXT, 0)
{
    return svit_dataset_cifar10(&w->made.dataset, w->has.context, world_assets, SVIT_SPLIT_TRAIN,
                                err);
}

SCENARIO(svit_dataset_cifar100, NEEDS_CONTEXT, 0)
{
    return svit_dataset_cifar100(&w->made.dataset, w->has.context, world_assets, SVIT_SPLIT_TEST,
                                 SVIT_LABELS_FINE, err);
}

SCENARIO(svit_dataset_folder, NEEDS_CONTEXT, HAS_IMAGES)
{
    return svit_dataset_folder(&w->made.dataset, w->has.context, world_asset("pictures"), SIDE,
                               SIDE, 3, SVIT_SOURCE_NEAREST, err);
}

SCENARIO(svit_dataset_folder_pipeline, NEEDS_CONTEXT, HAS_IMAGES)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_dataset_folder_pipeline(&w->made.dataset, w->has.context, world_asset("pictures"),
                                        &config, err);
}

SCENARIO(svit_dataset_list, NEEDS_CONTEXT, HAS_IMAGES)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_dataset_list(&w->made.dataset, w->has.context, world_asset("list.csv"), &config,
                             err);
}

/* The index is made and written. */
VARIANT(svit_dataset_shards, , NEEDS_CONTEXT, HAS_IMAGES | KEEPS | WRITES, world_write_shards)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_dataset_shards(&w->made.dataset, w->has.context, world_path("s-*.tar"), &config,
                               err);
}

static void write_class_names(world *w)
{
    world_write_shards(w);
    fit_write(world_path("classes.txt"), "one\ntwo\n", 8);
}

VARIANT(svit_dataset_shards, names, NEEDS_CONTEXT, HAS_IMAGES | KEEPS, write_class_names)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_dataset_shards(&w->made.dataset, w->has.context, world_path("s-{0..0}.tar"),
                               &config, err);
}

/* A shard of long names, pax headers and labels that are names. */
static void write_headers(world *w)
{
    const struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    tar_archive tar = {0};
    (void)w;
    tar_member(&tar, 'L', "././@LongLink", "k.png", 6);
    tar_image(&tar, "K.png", 1);
    tar_pax(&tar, 'x', "path", "k.json");
    tar_text(&tar, "K.json", "{\"label\":\"one\"}");
    tar_image(&tar, "l.png", 2);
    tar_text(&tar, "l.json", "{\"label\":\"two\"}");
    tar_end(&tar);
    fit_write(world_path("s-0.tar"), tar.data, tar.bytes);
    ck_assert_int_eq(utimensat(AT_FDCWD, world_path("s-0.tar"), times, 0), 0);
    tar_free(&tar);
}

VARIANT(svit_dataset_shards, headers, NEEDS_CONTEXT, HAS_IMAGES | KEEPS | WRITES, write_headers)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_dataset_shards(&w->made.dataset, w->has.context, world_path("s-{0..0}.tar"),
                               &config, err);
}

/* The index is there and is read. */
VARIANT(svit_dataset_shards, again, NEEDS_SHARDS | NEEDS_DATASET, HAS_IMAGES, NULL)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_dataset_shards(&w->made.dataset, w->has.context, world_path("s-{0..0}.tar"),
                               &config, err);
}

SCENARIO(svit_dataset_memory, NEEDS_CONTEXT, 0)
{
    return svit_dataset_memory(&w->made.dataset, w->has.context, world_bytes, world_labels, COUNT,
                               SIDE, SIDE, 3, CLASSES, err);
}

SCENARIO(svit_dataset_memory_targets, NEEDS_CONTEXT, 0)
{
    return svit_dataset_memory_targets(&w->made.dataset, w->has.context, world_bytes, world_targets,
                                       COUNT, SIDE, SIDE, 3, CLASSES, err);
}

SCENARIO(svit_dataset_memory_f32, NEEDS_CONTEXT, 0)
{
    return svit_dataset_memory_f32(&w->made.dataset, w->has.context, world_images, world_labels,
                                   NULL, COUNT, SIDE, SIDE, 3, CLASSES, err);
}

static int32_t sample(size_t index, uint8_t *pixels, int32_t *label, void *user)
{
    (void)user;
    memcpy(pixels, world_bytes + index * PIXELS, PIXELS);
    *label = world_labels[index];
    return 0;
}

SCENARIO(svit_dataset_callback, NEEDS_CONTEXT, 0)
{
    return svit_dataset_callback(&w->made.dataset, w->has.context, sample, COUNT, SIDE, SIDE, 3,
                                 CLASSES, NULL, err);
}

SCENARIO(svit_custom_dataset_init, NEEDS_NOTHING, PURE | NO_ERROR)
{
    (void)err;
    return svit_custom_dataset_init(OUT(svit_custom_dataset, 1), sizeof(svit_custom_dataset));
}

static svit_status custom_sample(void *user, size_t index, void *image, int32_t *label,
                                 svit_error *err)
{
    (void)err;
    return sample(index, image, label, user);
}

SCENARIO(svit_dataset_custom, NEEDS_CONTEXT, 0)
{
    static const char *const names[CLASSES] = {"a", "b", "c"};
    const svit_custom_dataset custom = {.struct_size = sizeof custom,
                                        .count = COUNT,
                                        .height = SIDE,
                                        .width = SIDE,
                                        .channels = 3,
                                        .classes = CLASSES,
                                        .class_names = names,
                                        .sample = custom_sample};
    return svit_dataset_custom(&w->made.dataset, w->has.context, &custom, err);
}

SCENARIO(svit_dataset_synthetic, NEEDS_CONTEXT, 0)
{
    return svit_dataset_synthetic(&w->made.dataset, w->has.context, 1, SVIT_SPLIT_TRAIN, 3, err);
}

SCENARIO(svit_dataset_slice, NEEDS_DATASET, 0)
{
    return svit_dataset_slice(&w->made.dataset, w->has.dataset, 2, 5, err);
}

SCENARIO(svit_dataset_select, NEEDS_DATASET, 0)
{
    static const size_t indices[] = {5, 1, 5};
    return svit_dataset_select(&w->made.dataset, w->has.dataset, indices, 3, err);
}

SCENARIO(svit_dataset_match_classes, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES)
{
    static const char *const names[] = {"b", "c", "a"};
    return svit_dataset_match_classes(&w->made.dataset, w->has.dataset, names, 3, err);
}

SCENARIO(svit_dataset_split, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES)
{
    svit_dataset *splits[3] = {NULL, NULL, NULL};
    SVIT_TRY(svit_dataset_split(splits, w->has.dataset, 0.4, 0.4, 1, err));
    svit_dataset_free(splits[SVIT_SPLIT_VALIDATION]);
    svit_dataset_free(splits[SVIT_SPLIT_TEST]);
    w->made.dataset = splits[SVIT_SPLIT_TRAIN];
    return SVIT_OK;
}

SCENARIO(svit_dataset_concatenate, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES)
{
    svit_dataset *other = NULL;
    static const char *const names[] = {"d", "c", "b", "a"};
    SVIT_TRY(svit_dataset_match_classes(&other, w->has.dataset, names, 4, err));
    svit_dataset *const parents[] = {w->has.dataset, other, w->has.dataset};
    const svit_status status = svit_dataset_concatenate(&w->made.dataset, parents, 3, err);
    svit_dataset_free(other);
    return status;
}

SCENARIO(svit_dataset_path, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES | KEEPS)
{
    return svit_dataset_path(w->has.dataset, 1, OUT(char, 256), 256, OUT(size_t, 1), err);
}

SCENARIO(svit_dataset_sample, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES)
{
    return svit_dataset_sample(w->has.dataset, 1, OUT(uint8_t, PIXELS), OUT(int32_t, 1), err);
}

VARIANT(svit_dataset_sample, shards, NEEDS_SHARDS | NEEDS_DATASET, HAS_IMAGES | KEEPS, NULL)
{
    return svit_dataset_sample(w->has.dataset, 1, OUT(uint8_t, PIXELS), OUT(int32_t, 1), err);
}

SCENARIO(svit_dataset_sample_f32, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES)
{
    return svit_dataset_sample_f32(w->has.dataset, 1, OUT(float, PIXELS), OUT(int32_t, 1), err);
}

SCENARIO(svit_dataset_label, NEEDS_DATASET, PURE)
{
    return svit_dataset_label(w->has.dataset, 1, OUT(int32_t, 1), err);
}

static void use_targets(world *w)
{
    svit_dataset_free(w->has.dataset);
    WORKS(svit_dataset_memory_targets(&w->has.dataset, w->has.context, world_bytes, world_targets,
                                      COUNT, SIDE, SIDE, 3, CLASSES, err));
}

VARIANT(svit_dataset_targets, , NEEDS_DATASET, PURE, use_targets)
{
    return svit_dataset_targets(w->has.dataset, 1, OUT(float, CLASSES), err);
}

SCENARIO(svit_dataset_verify, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES | NO_DIGEST)
{
    return svit_dataset_verify(w->has.dataset, NULL, NULL, OUT(size_t, 1), err);
}

SCENARIO(svit_dataset_fingerprint, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES)
{
    return svit_dataset_fingerprint(w->has.dataset, OUT(uint64_t, 1), err);
}

SCENARIO(svit_dataset_statistics, NEEDS_FILES | NEEDS_DATASET, HAS_IMAGES)
{
    return svit_dataset_statistics(w->has.dataset, 1.0 / 255, OUT(double, 3), OUT(double, 3), err);
}

static svit_loader_config loader_config(void)
{
    svit_loader_config config;
    svit_loader_config_init(&config, sizeof config);
    config.batch = BATCH;
    config.shuffle = config.augment = 1;
    config.prefetch = 0;
    return config;
}

static svit_pipeline_config mixing(void)
{
    svit_pipeline_config config = world_pipeline();
    config.augment_count = 2;
    config.augment[0] = (svit_augment_step){
        .kind = SVIT_AUGMENT_RESIZED_CROP, .scale = {0.2, 1}, .ratio = {0.5, 2}};
    config.augment[1] =
        (svit_augment_step){.kind = SVIT_AUGMENT_MIXUP, .alpha = 1, .probability = 1};
    return config;
}

SCENARIO(svit_loader_create, NEEDS_DATASET, 0)
{
    const svit_pipeline_config pipeline = mixing();
    svit_loader_config config = loader_config();
    config.sampling = SVIT_SAMPLING_BALANCED;
    return svit_loader_create(&w->made.loader, w->has.dataset, &pipeline, &config, err);
}

VARIANT(svit_loader_create, shards, NEEDS_SHARDS | NEEDS_DATASET, HAS_IMAGES | KEEPS, NULL)
{
    const svit_pipeline_config pipeline = mixing();
    svit_loader_config config = loader_config();
    config.shuffle_window = 2;
    return svit_loader_create(&w->made.loader, w->has.dataset, &pipeline, &config, err);
}

VARIANT(svit_loader_create, prefetch, NEEDS_DATASET, HAS_THREADS, NULL)
{
    const svit_pipeline_config pipeline = world_pipeline();
    svit_loader_config config = loader_config();
    config.prefetch = 2;
    return svit_loader_create(&w->made.loader, w->has.dataset, &pipeline, &config, err);
}

SCENARIO(svit_loader_next, NEEDS_LOADER, PURE)
{
    return svit_loader_next(w->has.loader, OUT(float, BATCH *PIXELS), OUT(int32_t, BATCH),
                            OUT(size_t, 1), err);
}

VARIANT(svit_loader_next, files, NEEDS_FILES | NEEDS_LOADER, HAS_IMAGES | FILLS, NULL)
{
    return svit_loader_next(w->has.loader, OUT(float, BATCH *PIXELS), OUT(int32_t, BATCH),
                            OUT(size_t, 1), err);
}

SCENARIO(svit_loader_next_targets, NEEDS_FILES | NEEDS_LOADER, HAS_IMAGES | FILLS)
{
    return svit_loader_next_targets(w->has.loader, OUT(float, BATCH *PIXELS),
                                    OUT(float, BATCH *CLASSES), OUT(size_t, 1), err);
}

SCENARIO(svit_loader_seek, NEEDS_LOADER, PURE)
{
    return svit_loader_seek(w->has.loader, 1, 1, err);
}

GETTER(svit_loader_free, NEEDS_NOTHING, (NULL))
GETTER(svit_loader_height, NEEDS_LOADER, (w->has.loader))
GETTER(svit_loader_width, NEEDS_LOADER, (w->has.loader))
GETTER(svit_loader_batches, NEEDS_LOADER, (w->has.loader))
GETTER(svit_loader_has_targets, NEEDS_LOADER, (w->has.loader))
GETTER(svit_dataset_free, NEEDS_NOTHING, (NULL))
GETTER(svit_dataset_count, NEEDS_DATASET, (w->has.dataset))
GETTER(svit_dataset_height, NEEDS_DATASET, (w->has.dataset))
GETTER(svit_dataset_width, NEEDS_DATASET, (w->has.dataset))
GETTER(svit_dataset_channels, NEEDS_DATASET, (w->has.dataset))
GETTER(svit_dataset_is_f32, NEEDS_DATASET, (w->has.dataset))
GETTER(svit_dataset_has_targets, NEEDS_DATASET, (w->has.dataset))
GETTER(svit_dataset_classes, NEEDS_DATASET, (w->has.dataset))
GETTER(svit_dataset_class_name, NEEDS_DATASET, (w->has.dataset, 0))
