/* Makes what scenarios need: folders with files, arrays, and handles of tiny models and data. */
#include "failing_files.h"
#include "failing_malloc.h"
#include "scenario.h"

#ifdef SV_HAVE_JPEG
#include "jpeg_make.h"
#endif
#include "tar_make.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

void (*world_change_model)(svit_model *model);

float world_images[COUNT * PIXELS], world_logits[COUNT * CLASSES], world_targets[COUNT * CLASSES];
uint8_t world_bytes[COUNT * PIXELS];
int32_t world_labels[COUNT];
const char *const world_names[CLASSES] = {"a", "b", "c\xc3\xa9"};
const char world_old[] = "the old file";
char world_assets[64], world_folder[64];
world_data world_model_file, world_png, world_jpeg, world_tar;

static const char *const JSON[MODELS] = {
    "{\"input_height\":8,\"input_width\":8,\"num_classes\":3,\"patch_size\":2,\"dim\":12,"
    "\"blocks\":[1,1],\"mlp_ratio\":1.8333333333333333}", /* times 12 it is 22 to nearest alone */
    "{\"input_height\":8,\"input_width\":8,\"num_classes\":3,\"patch_size\":2,\"dim\":16,"
    "\"num_div\":4,\"blocks\":[1,1],\"stem\":\"whitened\"}",
    "{\"input_height\":8,\"input_width\":8,\"num_classes\":3,\"patch_size\":2,\"dim\":12,"
    "\"blocks\":[1,1],\"mixer\":\"depthwise\",\"stem\":\"conv\"}",
    "{\"architecture\":\"vit\",\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"input_height\":8,"
    "\"input_width\":8,\"patch_size\":4,\"dim\":12,\"depth\":1,\"heads\":2,\"head_dim\":6,"
    "\"mlp_dim\":16,\"head_units\":[16],\"num_classes\":3,\"drop_path\":0.1}",
    "{\"architecture\":\"mixer\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,"
    "\"dim\":12,\"depth\":1,\"token_mlp_dim\":5,\"mlp_dim\":16,\"num_classes\":3}",
    "{\"architecture\":\"vit\",\"pool\":\"class_token\",\"layer_scale\":true,\"input_height\":8,"
    "\"input_width\":8,\"patch_size\":4,\"dim\":12,\"depth\":1,\"heads\":2,\"head_dim\":6,"
    "\"mlp_dim\":16,\"mlp_last_gelu\":false,\"head_units\":[],\"num_classes\":3}",
};

void world_use(world *w, int model_of)
{
    w->model_of = model_of;
    WORKS(svit_model_config_from_json(&w->config, sizeof w->config, JSON[model_of], err));
}

static const char *path_in(const char *folder, const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *world_asset(const char *name)
{
    return path_in(world_assets, name);
}

const char *world_path(const char *name)
{
    return path_in(world_folder, name);
}

svit_pipeline_config world_pipeline(void)
{
    svit_pipeline_config config;
    svit_pipeline_config_init(&config, sizeof config);
    config.source_height = config.source_width = SIDE;
    config.resize_height = config.resize_width = SIDE + 2;
    config.output_height = config.output_width = SIDE;
    config.scale = 1.0 / 255;
    return config;
}

svit_session_config world_session(void)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = BATCH;
    config.mode = SVIT_MODE_TRAIN;
    config.memory = SVIT_MEMORY_RECOMPUTE_STAGES;
    config.input_gradient = 1;
    return config;
}

svit_optimizer_config world_optimizer(void)
{
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.ema = SVIT_EMA_KERAS;
    config.ema_momentum = 0.5;
    return config;
}

svit_trainer_config world_trainer(void)
{
    svit_trainer_config config;
    svit_trainer_config_init(&config, sizeof config);
    config.epochs = 2;
    config.batch = 8;
    config.folder = world_folder;
    config.prefetch = 0;
    config.keep = SVIT_KEEP_BEST;
    config.description = "{}";
    config.tensorboard = 1;
    return config;
}

/* The context's allocator: the faults of the process are for other allocations. */
static void *allocate(void *book, size_t bytes, size_t alignment)
{
    failing_malloc_pass(1);
    void *memory = ledger_allocate(book, bytes, alignment);
    failing_malloc_pass(0);
    return memory;
}

svit_context_config world_context(world *w)
{
    svit_context_config config;
    svit_context_config_init(&config, sizeof config);
    config.threads = 1;
    config.allocate = allocate;
    config.release = ledger_release;
    config.allocator_user = &w->book;
    return config;
}

static void remove_tree(const char *folder)
{
    DIR *list = opendir(folder);
    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list));) {
        char path[512];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (unlink(path) != 0)
            remove_tree(path);
    }
    closedir(list);
    rmdir(folder);
}

static void fill_arrays(void)
{
    for (size_t i = 0; i < COUNT * PIXELS; i++) {
        world_bytes[i] = (uint8_t)(i * 37 % 251);
        world_images[i] = (float)world_bytes[i] / 255;
    }
    for (size_t i = 0; i < COUNT; i++) {
        world_labels[i] = (int32_t)(i % CLASSES);
        world_targets[i * CLASSES + i % CLASSES] = 1;
    }
    for (size_t i = 0; i < COUNT * CLASSES; i++)
        world_logits[i] = (float)((int)(i * 7 % 11) - 5) / 4;
}

static void read_asset(world_data *out, const char *name)
{
    out->data = fit_read(world_asset(name), &out->bytes);
}

/* Images in the classes a and b, a list of them, an archive of them, and one alone. */
static void write_images(svit_context *context)
{
    tar_archive tar = {0};
    static const char list[] = "path,label\npictures/a/1.png,x\npictures/b/2.png,y\n";
    static const char *const paths[] = {"pictures/a/1.png", "pictures/b/2.png", "image.png"};
    fit_write(world_asset("list.csv"), list, strlen(list));
    ck_assert_int_eq(mkdir(world_asset("pictures"), 0700), 0);
    ck_assert_int_eq(mkdir(world_asset("pictures/a"), 0700), 0);
    ck_assert_int_eq(mkdir(world_asset("pictures/b"), 0700), 0);
    ck_assert_int_eq(symlink("../a", world_asset("pictures/b/link")), 0);
#ifdef SV_HAVE_PNG
    for (size_t i = 0; i < 3; i++)
        WORKS(svit_image_write_png(context, world_asset(paths[i]), world_bytes + i * PIXELS, SIDE,
                                   SIDE, err));
    read_asset(&world_png, "image.png");
    tar_sample(&tar, "1", 20, 0);
    tar_sample(&tar, "2", 90, 1);
#else
    (void)context;
    for (size_t i = 0; i < 3; i++)
        fit_write(world_asset(paths[i]), "no image", 8);
#endif
#ifdef SV_HAVE_JPEG
    const jpeg_file jpeg =
        jpeg_make(world_bytes, SIDE, SIDE, (jpeg_options){.channels = 3, .quality = 90});
    world_jpeg = (world_data){jpeg.data, jpeg.bytes};
#endif
    tar_end(&tar);
    world_tar = (world_data){tar.data, tar.bytes};
}

/* CIFAR's binary files, of two images each. */
static void write_cifar(void)
{
    static uint8_t records[2 * 3074];
    memcpy(records + 2, world_bytes, 2000);
    static const char names[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    for (int i = 0; i < 6; i++) {
        char name[32];
        snprintf(name, sizeof name, i ? "data_batch_%d.bin" : "test_batch.bin", i);
        fit_write(world_asset(name), records, 2 * 3073);
    }
    fit_write(world_asset("train.bin"), records, 2 * 3074);
    fit_write(world_asset("test.bin"), records, 2 * 3074);
    fit_write(world_asset("batches.meta.txt"), names, strlen(names));
}

static void make_model(world *w)
{
    const svit_pipeline_config pipeline = world_pipeline();
    WORKS(svit_model_create(&w->has.model, w->has.context, &w->config, 1, err));
    if (world_change_model)
        world_change_model(w->has.model);
    WORKS(svit_model_set_classes(w->has.model, world_names, CLASSES, err));
    WORKS(svit_model_set_pipeline(w->has.model, &pipeline, err));
}

static void make_session(world *w, int needs)
{
    float logits[BATCH * CLASSES];
    const svit_session_config session = world_session();
    const svit_optimizer_config optimizer = world_optimizer();
    WORKS(svit_session_create(&w->has.session, w->has.model, &session, err));
    if (needs & (NEEDS_BACKWARD | NEEDS_OPTIMIZER) & ~NEEDS_SESSION) {
        WORKS(svit_forward(w->has.session, world_images, BATCH, logits, err));
        WORKS(svit_backward(w->has.session, world_logits, BATCH, err));
    }
    if (!(needs & NEEDS_OPTIMIZER & ~NEEDS_SESSION))
        return;
    WORKS(svit_optimizer_create(&w->has.optimizer, w->has.model, &optimizer, err));
    WORKS(svit_step(w->has.optimizer, w->has.session, err));
    WORKS(svit_forward(w->has.session, world_images, BATCH, logits, err));
    WORKS(svit_backward(w->has.session, world_logits, BATCH, err));
}

static void make_dataset(world *w, int needs)
{
    const svit_pipeline_config pipeline = world_pipeline();
    svit_loader_config loader;
    svit_loader_config_init(&loader, sizeof loader);
    loader.batch = BATCH;
    loader.shuffle = loader.augment = 1;
    loader.prefetch = 0;
    if (needs & NEEDS_SHARDS)
        WORKS(svit_dataset_shards(&w->has.dataset, w->has.context, world_path("s-{0..0}.tar"),
                                  &pipeline, err));
    else if (needs & NEEDS_FILES)
        WORKS(svit_dataset_folder_pipeline(&w->has.dataset, w->has.context, world_asset("pictures"),
                                           &pipeline, err));
    else
        WORKS(svit_dataset_memory(&w->has.dataset, w->has.context, world_bytes, world_labels, COUNT,
                                  SIDE, SIDE, 3, CLASSES, err));
    if (needs & NEEDS_LOADER & ~NEEDS_DATASET)
        WORKS(svit_loader_create(&w->has.loader, w->has.dataset, &pipeline, &loader, err));
}

static void make_trainer(world *w)
{
    const svit_trainer_config config = world_trainer();
    const svit_pipeline_config pipeline = world_pipeline();
    const svit_optimizer_config optimizer = world_optimizer();
    WORKS(svit_trainer_create(&w->has.trainer, w->has.context, w->has.model, w->has.dataset,
                              w->has.dataset, &config, &optimizer, &pipeline, err));
}

/* A run in the folder of outputs: that of the assets. */
static void copy_run(void)
{
    static const char *const names[] = {"checkpoint.safetensors", "best.safetensors", "history.csv",
                                        "run.json", "events.out.tfevents.shiftvit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char from[96];
        size_t bytes;
        snprintf(from, sizeof from, "run/%s", names[i]);
        char *data = fit_read(world_asset(from), &bytes);
        fit_write(world_path(names[i]), data, bytes);
        free(data);
    }
}

void world_write_shards(world *w)
{
    (void)w;
    const struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    const char *path = world_path("s-0.tar");
    fit_write(path, world_tar.data, world_tar.bytes);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

#define NEEDS(what) ((needs & (NEEDS_##what)) == (NEEDS_##what))

static void make_rest(world *w, int needs)
{
    if (NEEDS(CHECKPOINT))
        WORKS(svit_checkpoint_open(&w->has.checkpoint, w->has.context,
                                   world_asset("state.safetensors"), err));
    if (NEEDS(FEATURES))
        WORKS(svit_features_load(&w->has.features, w->has.context,
                                 world_asset("features.safetensors"), err));
    if (NEEDS(PREDICTOR))
        WORKS(svit_predictor_create(&w->has.predictor, w->has.context,
                                    world_asset("model.safetensors"), NULL, err));
    if (NEEDS(TRAINER))
        make_trainer(w);
    if (NEEDS(LOCK))
        WORKS(svit_folder_lock_create(&w->has.folder_lock, w->has.context, world_path("locked"),
                                      err));
}

void world_make_again(world *w, const scenario *of, int model_of)
{
    const int needs = of->needs;
    memset(w, 0, sizeof *w);
    files_stop_clock(1);
    world_use(w, model_of);
    if (NEEDS(CONTEXT)) {
        const svit_context_config config = world_context(w);
        WORKS(svit_context_create(&w->has.context, &config, err));
    }
    if (NEEDS(MODEL))
        make_model(w);
    if (NEEDS(SESSION))
        make_session(w, needs);
    if (NEEDS(DATASET))
        make_dataset(w, needs);
    make_rest(w, needs);
    if (of->prepare)
        of->prepare(w);
}

void world_make(world *w, const scenario *of, int model_of)
{
    const int needs = of->needs;
    remove_tree(world_folder);
    ck_assert_int_eq(mkdir(world_folder, 0700), 0);
    if (NEEDS(OLD_FILE))
        fit_write(TARGET, world_old, strlen(world_old));
    if (NEEDS(SHARDS))
        world_write_shards(w);
    if (NEEDS(RUN))
        copy_run();
    world_make_again(w, of, model_of);
}

/* Writes what all worlds read, by the scenarios' own handles. */
static void write_assets(void)
{
    static world w;
    static const scenario of = {.needs = NEEDS_OPTIMIZER}, plain = {.needs = NEEDS_MODEL};
    static const scenario trained = {.needs = NEEDS_TRAINER};
    static const char *const key = "note", *const value = "kept";
    svit_features *features = NULL;
    world_make(&w, &of, 0);
    WORKS(svit_model_save(w.has.model, world_asset("model.safetensors"), err));
    WORKS(svit_model_save_as(w.has.model, world_asset("int8.safetensors"), SVIT_DTYPE_I8, err));
    WORKS(svit_checkpoint_save(world_asset("state.safetensors"), w.has.model, w.has.optimizer,
                               w.has.session, &key, &value, 1, err));
    WORKS(svit_features_create(&features, w.has.context, world_images, world_labels, COUNT, 12,
                               CLASSES, world_names, err));
    WORKS(svit_features_save(features, world_asset("features.safetensors"), err));
    svit_features_free(features);
    write_images(w.has.context);
    world_free(&w);
    world_make(&w, &trained, 0);
    WORKS(svit_trainer_run(w.has.trainer, NULL, NULL, err));
    world_free(&w);
    ck_assert_int_eq(rename(world_folder, world_asset("run")), 0);
    world_make(&w, &plain, MODEL_PLAIN_VIT);
    WORKS(svit_model_save_mapped(w.has.model, world_asset("timm.safetensors"), "timm", err));
    world_free(&w);
    read_asset(&world_model_file, "model.safetensors");
    write_cifar();
}

/* In memory, where the machine has such a folder: thousands of files are flushed. */
void world_folders_make(void)
{
    strcpy(world_assets, "/dev/shm/shiftvit-fault-XXXXXX");
    if (!mkdtemp(world_assets)) {
        strcpy(world_assets, "/tmp/shiftvit-fault-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(world_assets));
    }
    snprintf(world_folder, sizeof world_folder, "%.40s-out", world_assets);
    fill_arrays();
    write_assets();
}

void world_folders_remove(void)
{
    remove_tree(world_folder);
    remove_tree(world_assets);
    free(world_model_file.data);
    free(world_png.data);
    free(world_jpeg.data);
    free(world_tar.data);
}

static char nothing; /* what a handle is that a call has not made */

#define POISON(noun) of->noun = (svit_##noun *)(void *)&nothing;
#define FREE(noun)                                                                                 \
    if ((void *)of->noun != (void *)&nothing)                                                      \
        svit_##noun##_free(of->noun);                                                              \
    of->noun = NULL;
#define COUNT_MADE(noun) count += (const void *)of->noun != (const void *)&nothing;

static void free_handles(handles *of)
{
    HANDLES(FREE)
}

void world_free(world *w)
{
    files_stop_clock(1);
    free_handles(&w->made);
    free_handles(&w->other);
    free_handles(&w->has);
    ck_assert_msg(w->book.live_blocks == 0 && w->book.live_bytes == 0,
                  "%zu blocks, %zu bytes of a context leaked", w->book.live_blocks,
                  w->book.live_bytes);
}

enum { UNWRITTEN = 0xA5 };

void world_begin(world *w)
{
    handles *of = &w->made;
    free_handles(of);
    HANDLES(POISON)
    memset(w->out, UNWRITTEN, sizeof w->out);
    w->out_used = w->value_arrays = 0;
}

int world_has_made(const void *handle)
{
    return handle != NULL && handle != (const void *)&nothing;
}

int world_is_touched(const world *w)
{
    const handles *of = &w->made;
    int count = 0;
    HANDLES(COUNT_MADE)
    for (size_t i = 0; i < w->out_used; i++)
        count += w->out[i] != UNWRITTEN;
    return count > 0;
}

void *world_out(world *w, size_t bytes, int values)
{
    uint8_t *at = w->out + w->out_used;
    if (values != OUT_OTHER && w->value_arrays < MOST_VALUES)
        w->values[w->value_arrays++] = (world_values){w->out_used, bytes, values == OUT_DOUBLE};
    w->out_used += (bytes + 15) / 16 * 16;
    if (w->out_used > sizeof w->out)
        abort(); /* Check's own macros would allocate */
    return at;
}

size_t world_count_not_finite(const world *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->value_arrays; i++) {
        const world_values *of = &w->values[i];
        const size_t size = of->is_double ? sizeof(double) : sizeof(float);
        for (size_t at = of->at; at < of->at + of->bytes; at += size) {
            float single = 0;
            double value;
            memcpy(of->is_double ? (void *)&value : (void *)&single, w->out + at, size);
            count += !isfinite(of->is_double ? value : (double)single);
        }
    }
    return count;
}
