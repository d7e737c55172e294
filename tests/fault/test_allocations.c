/* Makes the n-th allocation of a context fail, for every n until a call needs fewer. Each time the
 * call returns a status, leaks nothing, and changes nothing that the caller can see. */
#include "ledger.h"
#include "suite.h"
#include "tar_make.h"

#include <shiftvit/shiftvit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 10, COUNT = 24, SIDE = 8, BATCH = 4 };

static const char *const MODELS[] = {
    "{\"input_height\":12,\"input_width\":12,\"dim\":12,\"blocks\":[1,1]}",
    "{\"input_height\":12,\"input_width\":12,\"dim\":16,\"num_div\":4,\"blocks\":[1,1]}",
    "{\"input_height\":12,\"input_width\":12,\"dim\":12,\"blocks\":[1,1],\"mixer\":\"depthwise\","
    "\"stem\":\"conv\"}",
    "{\"architecture\":\"vit\",\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"input_height\":12,"
    "\"input_width\":12,\"patch_size\":4,\"dim\":12,\"depth\":1,\"heads\":2,\"head_dim\":6,"
    "\"mlp_dim\":16,\"head_units\":[16],\"num_classes\":10,\"drop_path\":0.1}",
    "{\"architecture\":\"mixer\",\"input_height\":12,\"input_width\":12,\"patch_size\":4,"
    "\"dim\":12,\"depth\":1,\"token_mlp_dim\":5,\"mlp_dim\":16,\"num_classes\":10}",
    "{\"architecture\":\"vit\",\"pool\":\"class_token\",\"layer_scale\":true,\"input_height\":12,"
    "\"input_width\":12,\"patch_size\":4,\"dim\":12,\"depth\":1,\"heads\":2,\"head_dim\":6,"
    "\"mlp_dim\":16,\"mlp_last_gelu\":false,\"head_units\":[],\"num_classes\":10}",
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, PLAIN_VIT = MODEL_COUNT - 1 };

static char folder[64];
static uint8_t rgb[COUNT * SIDE * SIDE * 3];
static int32_t labels[COUNT];

static svit_pipeline_config pipeline(void)
{
    svit_pipeline_config config;
    svit_pipeline_config_init(&config, sizeof config);
    config.source_height = config.source_width = SIDE;
    config.resize_height = config.resize_width = 14;
    config.output_height = config.output_width = 12;
    config.augment_count = 2;
    config.augment[0] = (svit_augment_step){
        .kind = SVIT_AUGMENT_RESIZED_CROP, .scale = {0.2, 1}, .ratio = {0.5, 2}};
    config.augment[1] =
        (svit_augment_step){.kind = SVIT_AUGMENT_MIXUP, .alpha = 1, .probability = 1};
    return config;
}

typedef struct scene {
    const char *json;
    svit_context *context;
    svit_model *model, *loaded, *mapped, *quantised, *remembered, *renamed;
    svit_session *session;
    svit_optimizer *optimizer;
    svit_checkpoint *checkpoint;
    svit_dataset *dataset, *list, *targets, *floats, *shards[2];
    svit_loader *loader, *sharded;
    svit_predictor *predictor, *of_memory;
    svit_trainer *trainer;
} scene;

static svit_status make_model(scene *s, const svit_context_config *config)
{
    svit_model_config small;
    svit_status status = svit_model_config_from_json(&small, sizeof small, s->json, NULL);
    if (status == SVIT_OK)
        status = svit_context_create(&s->context, config, NULL);
    if (status == SVIT_OK)
        status = svit_model_create(&s->model, s->context, &small, 1, NULL);
    return status;
}

static svit_status make_step(scene *s)
{
    static float images[BATCH * 12 * 12 * 3], logits[BATCH * CLASSES];
    svit_session_config session;
    svit_session_config_init(&session, sizeof session);
    session.max_batch = BATCH;
    session.mode = SVIT_MODE_TRAIN;
    session.memory = SVIT_MEMORY_RECOMPUTE_STAGES;
    svit_status status = svit_session_create(&s->session, s->model, &session, NULL);
    if (status == SVIT_OK)
        status = svit_optimizer_create(&s->optimizer, s->model, NULL, NULL);
    if (status == SVIT_OK)
        status = svit_forward(s->session, images, BATCH, logits, NULL);
    if (status == SVIT_OK)
        status = svit_backward(s->session, logits, BATCH, NULL);
    return status == SVIT_OK ? svit_step(s->optimizer, s->session, NULL) : status;
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Saves the model to memory and makes a model and a predictor of the bytes. */
static svit_status make_memory(scene *s)
{
    static char bytes[1 << 16];
    size_t needed = 0;
    svit_status status = svit_model_save_memory(s->model, bytes, sizeof bytes, &needed, NULL);
    if (status == SVIT_OK)
        status = svit_model_load_memory(&s->remembered, s->context, bytes, needed, NULL);
    return status == SVIT_OK ? svit_predictor_create_from_memory(&s->of_memory, s->context, bytes,
                                                                 needed, NULL, NULL)
                             : status;
}

static svit_status make_files(scene *s)
{
    char path[128];
    const char *key = "note", *value = "kept";
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    svit_pipeline_config config = pipeline();
    svit_status status = svit_model_set_pipeline(s->model, &config, NULL);
    if (status == SVIT_OK)
        status =
            svit_checkpoint_save(path, s->model, s->optimizer, s->session, &key, &value, 1, NULL);
    if (status == SVIT_OK)
        status = svit_checkpoint_open(&s->checkpoint, s->context, path, NULL);
    if (status == SVIT_OK)
        status = svit_checkpoint_restore(s->checkpoint, s->model, s->optimizer, s->session, NULL);
    if (status == SVIT_OK)
        status = svit_model_load(&s->loaded, s->context, path, NULL);
    if (status == SVIT_OK)
        status = svit_model_map(&s->mapped, s->context, path, NULL);
    if (status == SVIT_OK)
        status = svit_model_save_as(s->model, in_folder("b.safetensors"), SVIT_DTYPE_I8, NULL);
    if (status == SVIT_OK)
        status = svit_model_load(&s->quantised, s->context, in_folder("b.safetensors"), NULL);
    const svit_onnx_options onnx = {sizeof onnx, SVIT_ONNX_LOGITS, 1};
    if (status == SVIT_OK)
        status = svit_model_export_onnx(s->model, in_folder("c.onnx"), &onnx, NULL);
    if (status == SVIT_OK)
        status = svit_predictor_create(&s->predictor, s->context, path, NULL, NULL);
    static const float image[SIDE * SIDE * 3];
    float probabilities[CLASSES];
    if (status == SVIT_OK)
        status = svit_predict_f32(s->predictor, image, 1, SIDE, SIDE, probabilities, NULL);
    return status == SVIT_OK
               ? svit_predict_u8(s->predictor, rgb, 1, SIDE, SIDE, probabilities, NULL)
               : status;
}

/* Files of timm, which has names for the plain ViT alone: positions of another input are
 * interpolated. */
static svit_status make_renamed(scene *s)
{
    static const char map[] =
        "{\"head.fc1\":\"head\",\"blocks.*.attn.qkv\":[\"blocks.*.attn.qkv\"],"
        "\"norm.bias\":null}";
    svit_model_config config;
    char text[256];
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = 256};
    if (s->json != MODELS[PLAIN_VIT])
        return SVIT_OK;
    svit_status status = svit_model_save_mapped(s->model, in_folder("b.safetensors"), "timm", NULL);
    if (status == SVIT_OK)
        status = svit_model_get_config(s->model, &config, sizeof config, NULL);
    config.input_width = 8;
    if (status == SVIT_OK)
        status = svit_model_load_mapped(&s->renamed, s->context, &config,
                                        in_folder("b.safetensors"), "timm", NULL);
    return status == SVIT_OK ? svit_model_load_into(s->loaded, in_folder("b.safetensors"), map,
                                                    SVIT_LOAD_IGNORE_EXTRA, &report, NULL)
                             : status;
}

static svit_status make_data(scene *s)
{
    static float images[BATCH * 12 * 12 * 3], targets[BATCH * CLASSES];
    double precision[CLASSES], variance[1];
    uint64_t fingerprint;
    size_t n;
    svit_pipeline_config config = pipeline();
    svit_loader_config loader;
    svit_loader_config_init(&loader, sizeof loader);
    loader.batch = BATCH;
    loader.shuffle = loader.augment = 1;
    loader.sampling = SVIT_SAMPLING_BALANCED;
    loader.prefetch = 0; /* the counts are not for several threads */
    svit_status status = svit_dataset_memory(&s->dataset, s->context, rgb, labels, COUNT, SIDE,
                                             SIDE, 3, CLASSES, NULL);
    if (status == SVIT_OK)
        status = svit_loader_create(&s->loader, s->dataset, &config, &loader, NULL);
    if (status == SVIT_OK)
        status = svit_loader_next_targets(s->loader, images, targets, &n, NULL);
    if (status == SVIT_OK)
        status = svit_dataset_list(&s->list, s->context, in_folder("list.csv"), &config, NULL);
    if (status == SVIT_OK)
        status = svit_dataset_memory_targets(&s->targets, s->context, rgb, images, COUNT / 2, SIDE,
                                             SIDE, 3, 2, NULL);
    if (status == SVIT_OK)
        status = svit_dataset_fingerprint(s->targets, &fingerprint, NULL);
    if (status == SVIT_OK)
        status = svit_dataset_memory_f32(&s->floats, s->context, images, NULL, targets, BATCH, 12,
                                         12, 1, CLASSES, NULL);
    if (status == SVIT_OK)
        status = svit_dataset_statistics(s->floats, 1, precision, variance, NULL);
    if (status == SVIT_OK)
        status = svit_dataset_fingerprint(s->floats, &fingerprint, NULL);
    return status == SVIT_OK ? svit_average_precision(s->context, images, targets, BATCH, CLASSES,
                                                      precision, NULL)
                             : status;
}

/* Shards whose index is made, and then read. */
static svit_status make_shards(scene *s)
{
    svit_pipeline_config config = pipeline();
    svit_loader_config loader;
    svit_loader_config_init(&loader, sizeof loader);
    loader.shuffle = 1;
    loader.shuffle_window = 2;
    loader.prefetch = 0;
    unlink(in_folder("s-0.tar.index"));
    svit_status status = SVIT_OK;
    for (int i = 0; i < 2 && status == SVIT_OK; i++)
        status = svit_dataset_shards(&s->shards[i], s->context,
                                     in_folder(i ? "s-*.tar" : "s-{0..0}.tar"), &config, NULL);
    if (status == SVIT_E_UNSUPPORTED) /* the build has no decoders */
        return SVIT_OK;
    if (status == SVIT_OK)
        status = svit_loader_create(&s->sharded, s->shards[1], &config, &loader, NULL);
    return status;
}

static svit_status make_trainer(scene *s)
{
    svit_pipeline_config config = pipeline();
    svit_trainer_config trainer;
    svit_trainer_config_init(&trainer, sizeof trainer);
    trainer.epochs = 1;
    trainer.batch = 8;
    trainer.folder = folder;
    trainer.prefetch = 0;
    trainer.existing = SVIT_EXISTING_OVERWRITE; /* the run of the attempt before */
    trainer.description = "{}";
    trainer.tensorboard = 1;
    trainer.tta = SVIT_TTA_FLIP_SHIFT;
    trainer.class_weight_count = CLASSES;
    for (int i = 0; i < CLASSES; i++)
        trainer.class_weights[i] = 1 + i;
    svit_status status = svit_trainer_create(&s->trainer, s->context, s->model, s->dataset,
                                             s->dataset, &trainer, NULL, &config, NULL);
    return status == SVIT_OK ? svit_trainer_run(s->trainer, NULL, NULL, NULL) : status;
}

static svit_status make_all(scene *s, const svit_context_config *config)
{
    svit_status status = make_model(s, config);
    if (status == SVIT_OK)
        status = make_step(s);
    if (status == SVIT_OK)
        status = make_files(s);
    if (status == SVIT_OK)
        status = make_memory(s);
    if (status == SVIT_OK)
        status = make_renamed(s);
    if (status == SVIT_OK)
        status = make_data(s);
    if (status == SVIT_OK)
        status = make_shards(s);
    return status == SVIT_OK ? make_trainer(s) : status;
}

static void free_all(scene *s)
{
    svit_trainer_free(s->trainer);
    svit_loader_free(s->loader);
    svit_loader_free(s->sharded);
    svit_dataset_free(s->shards[0]);
    svit_dataset_free(s->shards[1]);
    svit_dataset_free(s->floats);
    svit_dataset_free(s->targets);
    svit_dataset_free(s->list);
    svit_dataset_free(s->dataset);
    svit_predictor_free(s->of_memory);
    svit_predictor_free(s->predictor);
    svit_model_free(s->remembered);
    svit_model_free(s->renamed);
    svit_model_free(s->quantised);
    svit_model_free(s->mapped);
    svit_model_free(s->loaded);
    svit_checkpoint_free(s->checkpoint);
    svit_optimizer_free(s->optimizer);
    svit_session_free(s->session);
    svit_model_free(s->model);
    svit_context_free(s->context);
}

static void clear_folder(void)
{
    static const char *const NAMES[] = {"a.safetensors",
                                        "checkpoint.safetensors",
                                        "best.safetensors",
                                        "history.csv",
                                        "run.json",
                                        "b.safetensors",
                                        "c.onnx",
                                        "list.csv",
                                        "s-0.tar",
                                        "s-0.tar.index",
                                        "events.out.tfevents.shiftvit"};
    char path[128];
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);
        unlink(path);
    }
}

START_TEST(test_any_allocation_may_fail)
{
    /* Thousands of files are written to the end: in memory, where the machine has such a folder. */
    strcpy(folder, "/dev/shm/shiftvit-fault-XXXXXX");
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/shiftvit-fault-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
    }
    for (size_t i = 0; i < COUNT; i++)
        labels[i] = (int32_t)(i % CLASSES);
    size_t failures = 0;
    static const char list[] = "path,label\na.png,b\nc.png,d\n";
    ck_assert_int_eq(svit_file_replace(in_folder("list.csv"), list, strlen(list), NULL), SVIT_OK);
    tar_archive tar = {0};
    tar_text(&tar, "a.png", "no image");
    tar_text(&tar, "a.json", "{\"label\":\"one\"}");
    tar_text(&tar, "b.json", "{\"label\":\"two\"}");
    tar_text(&tar, "b.png", "no image");
    ck_assert_int_eq(svit_file_replace(in_folder("s-0.tar"), tar.data, tar.bytes, NULL), SVIT_OK);
    tar_free(&tar);
    for (size_t n = 1;; n++) {
        ledger book = {.fail_at = n, .for_ever = _i % 2};
        scene s = {.json = MODELS[_i / 2]};
        svit_context_config config;
        svit_context_config_init(&config, sizeof config);
        config.threads = 1;
        config.allocate = ledger_allocate;
        config.release = ledger_release;
        config.allocator_user = &book;
        svit_status status = make_all(&s, &config);
        free_all(&s);
        ck_assert_msg(book.live_blocks == 0 && book.live_bytes == 0,
                      "allocation %zu failed: %zu blocks, %zu bytes leaked", n, book.live_blocks,
                      book.live_bytes);
        if (status == SVIT_OK && book.calls < n)
            break;
        ck_assert_msg(status == SVIT_E_MEMORY, "allocation %zu failed: status %s", n,
                      svit_status_name(status));
        failures++;
    }
    ck_assert_uint_gt(failures, 60);
    clear_folder();
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

static Suite *fault_suite(void)
{
    Suite *suite = suite_create("failing allocations");
    TCase *all = tcase_create("allocator");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_any_allocation_may_fail, 0, 2 * MODEL_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(fault_suite)
