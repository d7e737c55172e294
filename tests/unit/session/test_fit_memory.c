/* Makes any allocation of models, sessions, optimisers and trainers fail: every call then returns
 * an error and leaks nothing. */
#include "fit.h"

/* An allocator that counts the blocks that are not released, and refuses every request after the
 * first `left`. */
typedef struct heap {
    long long bytes, left;
} heap;

static void *heap_allocate(void *user, size_t bytes, size_t alignment)
{
    heap *h = user;
    if (h->left-- <= 0)
        return NULL;
    h->bytes += (long long)bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void heap_release(void *user, void *memory, size_t bytes)
{
    heap *h = user;
    if (!memory)
        return;
    h->bytes -= (long long)bytes;
    free(memory);
}

static fit_folder folder;
static uint8_t images[6 * 8 * 8 * 3];
static const int32_t labels[6] = {0, 1, 2, 0, 1, 2};

/* Does what a program does with the handles of this test, and frees all of them. */
typedef struct handles {
    svit_context *context;
    svit_model *model, *loaded;
    svit_dataset *data;
    svit_trainer *trainer;
    svit_predictor *predictor;
} handles;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        svit_status try_status = (call);                                                           \
        if (try_status != SVIT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

static svit_status scenario(handles *h, heap *memory)
{
    svit_context_config context;
    svit_context_config_init(&context, sizeof context);
    context.threads = 1;
    context.allocate = heap_allocate;
    context.release = heap_release;
    context.allocator_user = memory;
    TRY(svit_context_create(&h->context, &context, NULL));

    svit_model_config model = fit_model_config(3);
    TRY(svit_model_create(&h->model, h->context, &model, 1, NULL));
    static const char *const names[] = {"a", "b", "c"};
    TRY(svit_model_set_classes(h->model, names, 3, NULL));
    TRY(svit_dataset_memory(&h->data, h->context, images, labels, 6, 8, 8, 3, 3, NULL));

    svit_trainer_config trainer;
    svit_trainer_config_init(&trainer, sizeof trainer);
    trainer.epochs = 1;
    trainer.batch = 4;
    trainer.prefetch = 0;
    trainer.keep = SVIT_KEEP_BEST;
    trainer.folder = folder.path;
    svit_pipeline_config pipeline;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.source_height = pipeline.source_width = 8;
    pipeline.resize_height = pipeline.resize_width = 8;
    pipeline.output_height = pipeline.output_width = 8;
    trainer.existing = SVIT_EXISTING_OVERWRITE; /* the run of the attempt before */
    TRY(svit_trainer_create(&h->trainer, h->context, h->model, h->data, h->data, &trainer, NULL,
                            &pipeline, NULL));
    TRY(svit_trainer_run(h->trainer, NULL, NULL, NULL));
    svit_trainer_free(h->trainer);
    h->trainer = NULL;
    trainer.existing = SVIT_EXISTING_RESUME;
    TRY(svit_trainer_create(&h->trainer, h->context, h->model, h->data, h->data, &trainer, NULL,
                            &pipeline, NULL));
    TRY(svit_trainer_resume(h->trainer, NULL));

    const char *path = fit_path(&folder, "model.safetensors");
    TRY(svit_model_save(h->model, path, NULL));
    TRY(svit_model_load(&h->loaded, h->context, path, NULL));
    TRY(svit_predictor_create_from_model(&h->predictor, h->loaded, NULL, NULL));
    float probabilities[3];
    return svit_predict_u8(h->predictor, images, 1, 8, 8, probabilities, NULL);
}

START_TEST(test_any_failed_allocation_is_an_error_and_nothing_leaks)
{
    folder = fit_folder_make();
    for (long long allowed = 0;; allowed++) {
        heap memory = {.left = allowed};
        handles h = {0};
        svit_status status = scenario(&h, &memory);
        svit_predictor_free(h.predictor);
        svit_trainer_free(h.trainer);
        svit_dataset_free(h.data);
        svit_model_free(h.loaded);
        svit_model_free(h.model);
        svit_context_free(h.context);
        ck_assert_msg(memory.bytes == 0, "%lld bytes are out after allocation %lld", memory.bytes,
                      allowed);
        ck_assert_msg(status == SVIT_OK || status == SVIT_E_MEMORY,
                      "status %d after allocation %lld", (int)status, allowed);
        if (status == SVIT_OK)
            break;
        ck_assert_int_lt(allowed, 100000);
    }
    fit_folder_remove(&folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("fit_memory");
    TCase *c = tcase_create("fit_memory");
    tcase_add_test(c, test_any_failed_allocation_is_an_error_and_nothing_leaks);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
