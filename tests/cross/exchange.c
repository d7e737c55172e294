/* Writes one file of each kind that the library has, and reads those of another machine.
 *
 *   exchange write FOLDER           writes the files
 *   exchange read FOLDER MINE       reads the files of another machine and compares them with MINE, in which this one
 *                                   has written its own
 *   exchange check FOLDER           writes the files, compares their bytes with the recorded sums, and reads them
 *
 * FOLDER is made if it does not exist. Files of fixed numbers have the same bytes on every machine. Those of a training begin with
 * the same weights and differ by rounding. */
#include <shiftvit/shiftvit.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SIDE = 8, CLASSES = 3, IMAGES = 12, SAMPLES = 5, CHANNELS = 7, PATH = 512 };

static svit_error error = {.struct_size = sizeof error};
static svit_error *const err = &error;

#define WORKS(call)                                                                                \
    do {                                                                                           \
        if ((call) != SVIT_OK) {                                                                   \
            fprintf(stderr, "%s: %s\n", #call, error.message);                                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

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

/* The files that have the same bytes on every machine, with the FNV-1a of 64 bits of these bytes. model.onnx has none:
 * it names the version of the library. */
typedef struct fixed_file {
    const char *name;
    int32_t dtype; /* of a model, else -1 */
    uint64_t sum;
} fixed_file;

static const fixed_file FIXED[] = {
    {"f32.safetensors", SVIT_DTYPE_F32, 0x01fb35655756338a},
    {"f16.safetensors", SVIT_DTYPE_F16, 0x82e50337b152dcce},
    {"bf16.safetensors", SVIT_DTYPE_BF16, 0xaafd693293f72142},
    {"i8.safetensors", SVIT_DTYPE_I8, 0xc655034bad0f60a4},
    {"start.safetensors", -1, 0xcaea68057768c54b},
    {"model.onnx", -1, 0},
    {"features.safetensors", -1, 0xedb4a9be4ebfd9b0},
};
enum { FIXED_COUNT = sizeof FIXED / sizeof *FIXED };

/* A number in -1/8..1/8 with 24 bits, which depends on the name and the index alone. */
static float number(const char *name, size_t index)
{
    uint64_t z = 0xCBF29CE484222325u;
    for (; *name; name++)
        z = (z ^ (unsigned char)*name) * 0x100000001B3u;
    z += index * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return (float)((int32_t)(z >> 40) - (1 << 23)) * 0x1p-26f;
}

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
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        int64_t shape[8];
        size_t rank, elements = 1;
        WORKS(svit_model_parameter_shape(model, name, shape, &rank, err));
        for (size_t k = 0; k < rank; k++)
            elements *= (size_t)shape[k];
        float *values = malloc(elements * sizeof *values);
        for (size_t k = 0; values && k < elements; k++)
            values[k] = number(name, k);
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
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
        check_same_bytes(FIXED[i].name, folder, mine);
        if (FIXED[i].dtype >= 0)
            compare_files(context, FIXED[i].name, folder, mine, 0);
    }
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path_in(folder, "start.safetensors"), err));
    svit_checkpoint_free(checkpoint);
    compare_features(context, folder);
    compare_files(context, "trained.safetensors", folder, mine, ROUNDING);
    resume(context, folder);
    svit_context_free(context);
}

static int check(const char *folder)
{
    int wrong = 0;
    write_all(folder);
    for (size_t i = 0; i < FIXED_COUNT; i++) {
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
