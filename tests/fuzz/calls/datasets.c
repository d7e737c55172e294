/* Operations of datasets, and of the images and lists that they read. */
#include "calls.h"

#include <string.h>

/* Datasets in memory refer to the pixels. */
static uint8_t pixels[9 * 8 * 8 * 3];

static void memory(void)
{
    CREATE(datasets, svit_dataset_free,
           svit_dataset_memory(OUT(datasets), fuzz_context(), pixels, calls_labels,
                               calls_choose(10), 8, 8, 3, calls_choose(5), ERR));
}

static void memory_targets(void)
{
    CREATE(datasets, svit_dataset_free,
           svit_dataset_memory_targets(OUT(datasets), fuzz_context(), pixels, calls_numbers,
                                       calls_choose(10), 8, 8, 3, calls_choose(5), ERR));
}

static void memory_f32(void)
{
    CREATE(datasets, svit_dataset_free,
           svit_dataset_memory_f32(OUT(datasets), fuzz_context(), calls_numbers,
                                   calls_choose(2) ? calls_labels : NULL,
                                   calls_choose(2) ? calls_numbers : NULL, calls_choose(10), 8, 8,
                                   1 + calls_choose(4), calls_choose(5), ERR));
}

static void synthetic(void)
{
    CREATE(datasets, svit_dataset_free,
           svit_dataset_synthetic(OUT(datasets), fuzz_context(), 1, (int32_t)calls_choose(3),
                                  calls_choose(10), ERR));
}

/* A caller's function, which stops now and then and writes a label that there may not be. */
static int32_t sample(size_t index, uint8_t *out, int32_t *label, void *user)
{
    (void)user;
    memset(out, (int)index, 8 * 8 * 3);
    *label = index == 5 ? 99 : (int32_t)(index % 3);
    return index == 7;
}

static void callback(void)
{
    CREATE(datasets, svit_dataset_free,
           svit_dataset_callback(OUT(datasets), fuzz_context(), sample, calls_choose(10), 8, 8, 3,
                                 3, NULL, ERR));
}

static svit_status custom_sample(void *user, size_t index, void *image, int32_t *label,
                                 svit_error *err)
{
    const int32_t stop = sample(index, image, label, user);
    return stop == 0 ? SVIT_OK : svit_error_set(err, SVIT_E_FORMAT, "a bad sample");
}

static svit_status custom_label(void *user, size_t index, int32_t *label, svit_error *err)
{
    uint8_t image[8 * 8 * 3];
    return custom_sample(user, index, image, label, err);
}

static svit_status custom_targets(void *user, size_t index, float *out, svit_error *err)
{
    (void)user;
    for (size_t k = 0; k < 3; k++)
        out[k] = calls_numbers[(index + k) % 8];
    return index == 6 ? svit_error_set(err, SVIT_E_IO, "no such row") : SVIT_OK;
}

static void custom(void)
{
    svit_custom_dataset functions;
    if (svit_custom_dataset_init(&functions, sizeof functions) != SVIT_OK)
        return;
    functions.count = calls_choose(10);
    functions.height = 8;
    functions.width = 8;
    functions.classes = 3;
    functions.sample = custom_sample;
    functions.label = calls_choose(2) ? custom_label : NULL;
    functions.targets = calls_choose(3) == 2 ? custom_targets : NULL;
    functions.any_thread = (int32_t)calls_choose(2);
    CREATE(datasets, svit_dataset_free,
           svit_dataset_custom(OUT(datasets), fuzz_context(), &functions, ERR));
}

static void folder(void)
{
    CREATE(datasets, svit_dataset_free,
           svit_dataset_folder(OUT(datasets), fuzz_context(), fuzz_path(""), 8, 8,
                               1 + calls_choose(3), (int32_t)calls_choose(6), ERR));
}

static void folder_pipeline(void)
{
    const svit_pipeline_config pipeline = small_pipeline();
    CREATE(
        datasets, svit_dataset_free,
        svit_dataset_folder_pipeline(OUT(datasets), fuzz_context(), fuzz_path(""), &pipeline, ERR));
}

static void list(void)
{
    const svit_pipeline_config pipeline = small_pipeline();
    CREATE(datasets, svit_dataset_free,
           svit_dataset_list(OUT(datasets), fuzz_context(), calls_file("list"), &pipeline, ERR));
}

/* Puts a view into a place whose handle may be its parent. */
static void keep(svit_status status, svit_dataset *const *view)
{
    if (!TRY(status))
        return;
    const unsigned place = calls_choose(HANDLES);
    svit_dataset_free(calls.datasets[place]);
    calls.datasets[place] = *view;
}

static void slice(void)
{
    svit_dataset *view = NULL;
    const size_t first = calls_choose(9), count = calls_choose(9);
    keep(svit_dataset_slice(&view, ANY(datasets), first, count, ERR), &view);
}

static void select_samples(void)
{
    svit_dataset *view = NULL;
    const size_t indices[] = {calls_choose(9), calls_choose(9), calls_choose(12)};
    keep(svit_dataset_select(&view, ANY(datasets), indices, calls_choose(4), ERR), &view);
}

static void match_classes(void)
{
    static const char *const names[] = {"c", "a", "b", "d"};
    svit_dataset *view = NULL;
    keep(svit_dataset_match_classes(&view, ANY(datasets), names, calls_choose(5), ERR), &view);
}

static void concatenate(void)
{
    svit_dataset *chain = NULL;
    svit_dataset *const parents[] = {ANY(datasets), ANY(datasets), ANY(datasets)};
    keep(svit_dataset_concatenate(&chain, parents, calls_choose(4), ERR), &chain);
}

static void split(void)
{
    static const double fractions[] = {0, 0.3, 0.5, 1};
    svit_dataset *splits[3] = {NULL, NULL, NULL};
    const double validation = fractions[calls_choose(4)], test = fractions[calls_choose(4)];
    if (!TRY(svit_dataset_split(splits, ANY(datasets), validation, test, calls_choose(9), ERR)))
        return;
    keep(SVIT_OK, &splits[SVIT_SPLIT_TRAIN]);
    svit_dataset_free(splits[SVIT_SPLIT_VALIDATION]);
    svit_dataset_free(splits[SVIT_SPLIT_TEST]);
}

static void sample_u8(void)
{
    int32_t label;
    TRY(svit_dataset_sample(ANY(datasets), calls_choose(12), (uint8_t *)calls_results, &label,
                            ERR));
}

static void label(void)
{
    int32_t value;
    const svit_dataset *dataset = ANY(datasets);
    if (TRY(svit_dataset_label(dataset, calls_choose(12), &value, ERR)))
        FUZZ_CHECK(svit_dataset_has_targets(dataset)
                       ? value == -1
                       : value >= 0 && (size_t)value < svit_dataset_classes(dataset));
}

static void fingerprint(void)
{
    uint64_t value;
    TRY(svit_dataset_fingerprint(ANY(datasets), &value, ERR));
}

static void sample_f32(void)
{
    int32_t label;
    TRY(svit_dataset_sample_f32(ANY(datasets), calls_choose(12), calls_results, &label, ERR));
}

static void targets(void)
{
    TRY(svit_dataset_targets(ANY(datasets), calls_choose(12), calls_results, ERR));
}

static void path(void)
{
    char buffer[256];
    size_t needed;
    TRY(svit_dataset_path(ANY(datasets), calls_choose(12), buffer, calls_choose(3) ? 256 : 3,
                          &needed, ERR));
}

static void verify(void)
{
    size_t bad = 0;
    const svit_dataset *dataset = ANY(datasets);
    if (TRY(svit_dataset_verify(dataset, NULL, NULL, &bad, ERR)))
        FUZZ_CHECK(bad <= svit_dataset_count(dataset));
}

static void statistics(void)
{
    double mean[SVIT_MAX_CHANNELS], variance[SVIT_MAX_CHANNELS];
    TRY(svit_dataset_statistics(ANY(datasets), calls_choose(3), mean, variance, ERR));
}

static void write_image(void)
{
    TRY(svit_image_write_png(fuzz_context(), calls_file(calls_choose(2) ? "a.png" : "b.png"),
                             pixels, calls_choose(9), calls_choose(9), ERR));
}

static void read_image(void)
{
    CREATE(images, svit_image_free,
           svit_image_read(OUT(images), fuzz_context(), calls_file("a.png"), calls_choose(6), ERR));
}

static void resize_image(void)
{
    const svit_image *image = ANY(images);
    TRY(svit_resize_nearest_u8(svit_image_pixels(image), svit_image_height(image),
                               svit_image_width(image), (uint8_t *)calls_results, calls_choose(20),
                               calls_choose(20), ERR));
}

static void write_list(void)
{
    static const char *const lists[] = {"path,label\n0-a.png,a\n1-a.png,b\n",
                                        "path,x,y\n0-a.png,1,2\n", "path\n0-b.png\n",
                                        "path,label\n", "label"};
    const char *text = lists[calls_choose(5)];
    TRY(svit_file_replace(calls_file("list"), text, strlen(text), ERR));
}

static const calls_operation operations[] = {
    memory,        memory_targets,  memory_f32, synthetic,    callback,
    folder,        folder_pipeline, list,       slice,        select_samples,
    match_classes, concatenate,     split,      sample_u8,    label,
    fingerprint,   sample_f32,      targets,    path,         verify,
    statistics,    write_image,     read_image, resize_image, write_list,
    custom};
const calls_table calls_of_datasets = CALLS_TABLE(operations);
