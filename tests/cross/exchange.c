/* Writes one file of each kind that the library has, and reads those of another machine.
 *
 *   exchange write FOLDER           writes the files
 *   exchange read FOLDER MINE       reads the files of another machine and compares them with MINE,
 *                                   in which this one has written its own
 *   exchange check FOLDER           writes the files, compares their bytes with the recorded sums,
 *                                   and reads them
 *
 * FOLDER is made if it does not exist. Files of fixed numbers have the same bytes on every machine,
 * and int8 sessions the same logits on all that fuse a multiplication with an addition. Files of a
 * training begin with the same weights and differ by rounding. */
#include "logits.h"
#include "works.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 8, CLASSES = 3, IMAGES = 12, SAMPLES = 5, CHANNELS = 7, PATH = 512 };

static void require(int holds, const char *what, const char *path)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", path, what);
        exit(1);
    }
}

static const char *path_in(const char *folder, const char *name)
{
    static char paths[4][PATH];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH, "%s/%s", folder, name);
    return path;
}

/* The files that have the same bytes on every machine, with the FNV-1a of 64 bits of these bytes.
 * model.onnx has none: it names the version of the library. */
typedef struct fixed_file {
    const char *name;
    int32_t dtype; /* of a model, else -1 */
    uint64_t sum;
    int is_of_shards;
} fixed_file;

/* Whether this build reads images, and so shards. */
#if defined(SV_HAVE_PNG)
static const int HAS_SHARDS = 1;
#else
static const int HAS_SHARDS = 0;
#endif

/* The index has the time of its shard, of which this test sets whole seconds alone on Windows. */
#ifdef _WIN32
#define INDEX_SUM 0
#else
#define INDEX_SUM 0x0943768407d00d59
#endif

static const fixed_file FIXED[] = {
    {"f32.safetensors", SVIT_DTYPE_F32, 0x01fb35655756338a, 0},
    {"f16.safetensors", SVIT_DTYPE_F16, 0x82e50337b152dcce, 0},
    {"bf16.safetensors", SVIT_DTYPE_BF16, 0xaafd693293f72142, 0},
    {"i8.safetensors", SVIT_DTYPE_I8, 0xc655034bad0f60a4, 0},
    {"start.safetensors", -1, 0xc3ef9c4ee10ac649, 0},
    {"model.onnx", -1, 0, 0},
    {"features.safetensors", -1, 0xedb4a9be4ebfd9b0, 0},
    {"shard.tar", -1, 0xb43a02cdf8fa8d34, 0},
    {"shard.tar.index", -1, INDEX_SUM, 1},
};
enum { FIXED_COUNT = sizeof FIXED / sizeof *FIXED };

static svit_context *context_make(void)
{
    svit_context_config config;
    svit_context *context = NULL;
    svit_context_config_init(&config, sizeof config);
    config.threads = 1;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

/* A model whose weights are fixed numbers. */
static svit_model *model_make(svit_context *context)
{
    static const char *const names[CLASSES] = {"eins", "zwei", "drei"};
    svit_model_config config;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    svit_model_config_init(&config, sizeof config);
    config.input_height = config.input_width = SIDE;
    config.num_classes = CLASSES;
    config.patch_size = 2;
    config.dim = 8;
    config.stages = 2;
    config.blocks[0] = config.blocks[1] = 1;
    config.blocks[2] = config.blocks[3] = 0;
    config.num_div = 4;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    fill_parameters(model, 1, 0);
    WORKS(svit_model_set_classes(model, names, CLASSES, err));
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    return model;
}

static svit_features *features_make(svit_context *context)
{
    static const int32_t labels[SAMPLES] = {0, 2, -1, 1, 2};
    float values[SAMPLES * CHANNELS];
    svit_features *features = NULL;
    for (size_t i = 0; i < SAMPLES * CHANNELS; i++)
        values[i] = number("features", i);
    WORKS(svit_features_create(&features, context, values, labels, SAMPLES, CHANNELS, CLASSES, NULL,
                               err));
    return features;
}

static svit_dataset *images_make(svit_context *context)
{
    static uint8_t images[IMAGES * SIDE * SIDE * 3];
    static int32_t labels[IMAGES];
    svit_dataset *images_set = NULL;
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)(128 + 1000 * number("image", i));
    for (int32_t i = 0; i < IMAGES; i++)
        labels[i] = i % CLASSES;
    WORKS(svit_dataset_memory(&images_set, context, images, labels, IMAGES, SIDE, SIDE, 3, CLASSES,
                              err));
    return images_set;
}

/* A trainer of three epochs with the checkpoints in `folder`/run. */
static svit_trainer *trainer_make(svit_context *context, svit_model *model, svit_dataset *images,
                                  const char *folder, int32_t existing)
{
    svit_trainer_config config;
    svit_pipeline_config pipeline;
    svit_trainer *trainer = NULL;
    svit_trainer_config_init(&config, sizeof config);
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    config.epochs = 3;
    config.batch = 4;
    config.prefetch = 0;
    config.seed = 3;
    config.tensorboard = 1;
    config.folder = folder;
    config.existing = existing;
    WORKS(svit_trainer_create(&trainer, context, model, images, images, &config, NULL, &pipeline,
                              err));
    return trainer;
}

/* An image of 8 x 8 pixels. */
static const uint8_t PNG[] = {137, 80,  78,  71,  13, 10,  26,  10,  0,   0,   0,   13,  73,  72,
                              68,  82,  0,   0,   0,  8,   0,   0,   0,   8,   1,   0,   0,   0,
                              0,   236, 116, 131, 38, 0,   0,   0,   24,  73,  68,  65,  84,  120,
                              218, 99,  8,   101, 88, 197, 192, 207, 240, 129, 193, 152, 225, 12,
                              67,  35,  67,  29,  0,  30,  36,  3,   253, 85,  53,  100, 103, 0,
                              0,   0,   0,   73,  69, 78,  68,  174, 66,  96,  130};
enum { TAR_BLOCK = 512, SHARD_BYTES = 10 * TAR_BLOCK };

/* Writes a member of a tar archive at `at`. Returns where the next one begins. */
static uint8_t *member_write(uint8_t *at, const char *name, const void *data, size_t bytes)
{
    unsigned sum = 8 * ' ';
    memcpy(at, name, strlen(name));
    memcpy(at + 100, "0000644\0000000000\0000000000", 23);
    snprintf((char *)at + 124, 25, "%011o%c%011o", (unsigned)bytes, 0, 0u);
    memcpy(at + 156, "0", 1);
    memcpy(at + 257, "ustar\00000", 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += at[i];
    snprintf((char *)at + 148, 8, "%06o", sum);
    at[155] = ' ';
    memcpy(at + TAR_BLOCK, data, bytes);
    return at + 2 * TAR_BLOCK;
}

/* The dataset of the shard, whose index is made if there is none. */
static svit_dataset *shard_open(svit_context *context, const char *path)
{
    svit_pipeline_config pipeline;
    svit_dataset *dataset = NULL;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_dataset_shards(&dataset, context, path, &pipeline, err));
    for (size_t i = 0; i < 2; i++) {
        uint8_t pixels[SIDE * SIDE * 3];
        int32_t label = -1;
        WORKS(svit_dataset_sample(dataset, i, pixels, &label, err));
        require(label == 2 * (int32_t)i && pixels[0] == 0 && pixels[3] == 255,
                "has other samples than those written", path);
    }
    return dataset;
}

/* A shard, last changed at a fixed time, which its index has. */
static void shard_write(svit_context *context, const char *folder)
{
    const char *path = path_in(folder, "shard.tar");
    static uint8_t shard[SHARD_BYTES];
    static const struct timespec times[2] = {{1000000000, 0}, {1000000000, 500}};
    uint8_t *at = member_write(shard, "a.png", PNG, sizeof PNG);
    at = member_write(at, "a.cls", "0", 1);
    at = member_write(at, "b.cls", "2", 1);
    member_write(at, "b.png", PNG, sizeof PNG);
    FILE *file = fopen(path, "wb");
    require(file && fwrite(shard, 1, sizeof shard, file) == sizeof shard && fclose(file) == 0 &&
                utimensat(AT_FDCWD, path, times, 0) == 0,
            "cannot be written", path);
    unlink(path_in(folder, "shard.tar.index"));
    if (HAS_SHARDS)
        svit_dataset_free(shard_open(context, path));
}

static void write_all(const char *folder)
{
    svit_context *context = context_make();
    svit_model *model = model_make(context);
    svit_features *features = features_make(context);
    svit_dataset *images = images_make(context);
    for (size_t i = 0; i < FIXED_COUNT; i++)
        if (FIXED[i].dtype >= 0)
            WORKS(svit_model_save_as(model, path_in(folder, FIXED[i].name), FIXED[i].dtype, err));
    static const char *const keys[] = {"key"}, *const values[] = {"value"};
    WORKS(svit_checkpoint_save(path_in(folder, "start.safetensors"), model, NULL, NULL, keys,
                               values, 1, err));
    WORKS(svit_model_export_onnx(model, path_in(folder, "model.onnx"), NULL, err));
    WORKS(svit_features_save(features, path_in(folder, "features.safetensors"), err));
    shard_write(context, folder);
    logits_write(path_in(folder, "int8.logits"));
    svit_trainer *trainer =
        trainer_make(context, model, images, path_in(folder, "run"), SVIT_EXISTING_OVERWRITE);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    WORKS(svit_model_save(model, path_in(folder, "trained.safetensors"), err));
    svit_dataset_free(images);
    svit_features_free(features);
    svit_model_free(model);
    svit_context_free(context);
}

/* The whole file; the caller frees it. */
static unsigned char *file_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    require(file != NULL, "cannot be opened", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*bytes + 1);
    require(data && fread(data, 1, *bytes, file) == *bytes, "cannot be read", path);
    fclose(file);
    return data;
}

static uint64_t file_sum(const char *path)
{
    size_t bytes;
    unsigned char *data = file_read(path, &bytes);
    uint64_t sum = 0xCBF29CE484222325u;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * 0x100000001B3u;
    free(data);
    return sum;
}

static void check_same_bytes(const char *name, const char *folder, const char *mine)
{
    size_t bytes, wanted;
    unsigned char *theirs = file_read(path_in(folder, name), &bytes);
    unsigned char *ours = file_read(path_in(mine, name), &wanted);
    require(bytes == wanted && memcmp(theirs, ours, bytes) == 0, "has other bytes than here",
            path_in(folder, name));
    free(theirs);
    free(ours);
}

/* Adds to *largest the largest difference of a weight of two models, and the largest weight. */
static void compare_weights(const svit_model *a, const svit_model *b, double *difference,
                            double *largest)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(a, i)) != NULL; i++) {
        int64_t shape[8];
        size_t rank, elements = 1;
        WORKS(svit_model_parameter_shape(a, name, shape, &rank, err));
        for (size_t k = 0; k < rank; k++)
            elements *= (size_t)shape[k];
        float *x = malloc(2 * elements * sizeof *x), *y = x + elements;
        require(x != NULL, "no memory", name);
        WORKS(svit_model_get_parameter(a, name, x, elements, err));
        WORKS(svit_model_get_parameter(b, name, y, elements, err));
        for (size_t k = 0; k < elements; k++) {
            *difference = fmax(*difference, fabs((double)x[k] - y[k]));
            *largest = fmax(*largest, fabs((double)y[k]));
        }
        free(x);
    }
}

static void compare_files(svit_context *context, const char *name, const char *folder,
                          const char *mine, double most)
{
    svit_model *theirs = NULL, *mapped = NULL, *ours = NULL;
    double difference = 0, largest = 0;
    WORKS(svit_model_load(&theirs, context, path_in(folder, name), err));
    WORKS(svit_model_map(&mapped, context, path_in(folder, name), err));
    WORKS(svit_model_load(&ours, context, path_in(mine, name), err));
    compare_weights(mapped, theirs, &difference, &largest);
    require(difference == 0, "differs between mapping and loading", path_in(folder, name));
    compare_weights(theirs, ours, &difference, &largest);
    if (most > 0)
        printf("%s: weights differ by at most %.3g; the largest is %.3g\n", name, difference,
               largest);
    require(difference <= most, "has other weights than here", path_in(folder, name));
    svit_model_free(theirs);
    svit_model_free(mapped);
    svit_model_free(ours);
}

static void compare_features(svit_context *context, const char *folder)
{
    svit_features *read = NULL, *made = features_make(context);
    const char *path = path_in(folder, "features.safetensors");
    WORKS(svit_features_load(&read, context, path, err));
    require(svit_features_count(read) == SAMPLES && svit_features_channels(read) == CHANNELS &&
                memcmp(svit_features_values(read), svit_features_values(made),
                       SAMPLES * CHANNELS * sizeof(float)) == 0 &&
                memcmp(svit_features_labels(read), svit_features_labels(made),
                       SAMPLES * sizeof(int32_t)) == 0,
            "has other features than here", path);
    svit_features_free(read);
    svit_features_free(made);
}

static int has(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The index that another machine has made is used as it is. */
static void check_shard(svit_context *context, const char *folder)
{
    static const struct timespec old[2] = {{1, 0}, {1, 0}};
    const char *index = path_in(folder, "shard.tar.index");
    struct stat found;
    if (!HAS_SHARDS || !has(index))
        return;
    require(utimensat(AT_FDCWD, index, old, 0) == 0, "has a time that cannot be set", index);
    svit_dataset_free(shard_open(context, path_in(folder, "shard.tar")));
    require(stat(index, &found) == 0 && found.st_mtime == 1, "was made anew", index);
}

/* Goes on with the other machine's run, which has ended. */
static void resume(svit_context *context, const char *folder)
{
    svit_model *model = model_make(context);
    svit_dataset *images = images_make(context);
    svit_trainer *trainer =
        trainer_make(context, model, images, path_in(folder, "run"), SVIT_EXISTING_RESUME);
    WORKS(svit_trainer_resume(trainer, err));
    require(svit_trainer_history_count(trainer) == 3, "has no history of 3 epochs", folder);
    svit_trainer_free(trainer);
    svit_dataset_free(images);
    svit_model_free(model);
}

/* Trained weights of two machines: three epochs of three steps. */
static const double ROUNDING = 1e-5;

static void read_all(const char *folder, const char *mine)
{
    svit_context *context = context_make();
    for (size_t i = 0; i < FIXED_COUNT; i++) {
        if (FIXED[i].is_of_shards && !(HAS_SHARDS && has(path_in(folder, FIXED[i].name))))
            continue;
        check_same_bytes(FIXED[i].name, folder, mine);
        if (FIXED[i].dtype >= 0)
            compare_files(context, FIXED[i].name, folder, mine, 0);
    }
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path_in(folder, "start.safetensors"), err));
    svit_checkpoint_free(checkpoint);
    compare_features(context, folder);
    check_shard(context, folder);
    logits_compare(path_in(folder, "int8.logits"), path_in(mine, "int8.logits"));
    compare_files(context, "trained.safetensors", folder, mine, ROUNDING);
    resume(context, folder);
    svit_context_free(context);
}

static int check(const char *folder)
{
    int wrong = 0;
    write_all(folder);
    for (size_t i = 0; i < FIXED_COUNT; i++) {
        if (FIXED[i].is_of_shards && !HAS_SHARDS)
            continue;
        const uint64_t sum = file_sum(path_in(folder, FIXED[i].name));
        if (FIXED[i].sum == 0 || sum == FIXED[i].sum)
            continue;
        fprintf(stderr, "%s: the bytes have the sum 0x%016" PRIx64 ", not 0x%016" PRIx64 "\n",
                FIXED[i].name, sum, FIXED[i].sum);
        wrong = 1;
    }
    read_all(folder, folder);
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        mkdir(argv[2], 0777);
    if (argc == 3 && strcmp(argv[1], "write") == 0) {
        write_all(argv[2]);
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "read") == 0) {
        read_all(argv[2], argv[3]);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return check(argv[2]);
    fprintf(stderr, "usage: exchange write FOLDER | read FOLDER MINE | check FOLDER\n");
    return 2;
}
