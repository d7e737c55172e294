/* Uses one function of a library that may leave it out, and prints what comes of it: reduced
 * WHAT [FILE]. Failed calls print their status and message. */
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6, BATCH = 32, IMAGES = 256, PIXELS = 48 * 48, CLASSES = 10, SIDE = 8 };

static svit_error err = {.struct_size = sizeof err};
static svit_context *context;

static void check(svit_status status)
{
    if (status == SVIT_OK)
        return;
    printf("%d: %s\n", (int)status, err.message);
    exit(EXIT_SUCCESS);
}

static svit_model *small_model(void)
{
    svit_model_config config;
    svit_model *model;
    check(svit_model_config_from_json(&config, sizeof config, "{\"dim\": 48, \"blocks\": [2, 2]}",
                                      &err));
    check(svit_model_create(&model, context, &config, 1, &err));
    return model;
}

/* Prints the losses and saves the weights. Both have the same bits in every build with the same
 * kernels. */
static void train(const char *path)
{
    static float images[BATCH * PIXELS * 3], logits[BATCH * CLASSES], dlogits[BATCH * CLASSES];
    static int32_t labels[BATCH];
    svit_dataset *data;
    svit_pipeline_config pipeline;
    svit_loader_config batches;
    svit_loader *loader;
    svit_session_config plan;
    svit_session *session;
    svit_optimizer *optimizer;
    svit_model *model = small_model();
    check(svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, IMAGES, &err));
    check(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    check(svit_loader_config_init(&batches, sizeof batches));
    batches.batch = BATCH;
    batches.shuffle = batches.augment = 1;
    check(svit_loader_create(&loader, data, &pipeline, &batches, &err));
    check(svit_session_config_init(&plan, sizeof plan));
    plan.mode = SVIT_MODE_TRAIN;
    plan.max_batch = BATCH;
    check(svit_session_create(&session, model, &plan, &err));
    check(svit_optimizer_create(&optimizer, model, NULL, &err));
    for (int step = 0; step < STEPS; step++) {
        size_t n;
        float loss;
        check(svit_loader_next(loader, images, labels, &n, &err));
        check(svit_forward(session, images, n, logits, &err));
        check(svit_cross_entropy(logits, labels, n, CLASSES, 0, &loss, dlogits, &err));
        check(svit_backward(session, dlogits, n, &err));
        check(svit_step(optimizer, session, &err));
        printf("loss %a\n", (double)loss);
    }
    check(svit_model_save(model, path, &err));
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_loader_free(loader);
    svit_dataset_free(data);
    svit_model_free(model);
}

static void read_image(const char *path)
{
    svit_image *image;
    check(svit_image_read(&image, context, path, 3, &err));
    printf("%zu x %zu\n", svit_image_width(image), svit_image_height(image));
    svit_image_free(image);
}

static void write_png(const char *path)
{
    static const uint8_t rgb[SIDE * SIDE * 3];
    check(svit_image_write_png(context, path, rgb, SIDE, SIDE, &err));
    puts("written");
}

static void infer(int32_t compute)
{
    svit_session_config plan;
    svit_session *session;
    svit_model *model = small_model();
    check(svit_session_config_init(&plan, sizeof plan));
    plan.compute = compute;
    check(svit_session_create(&session, model, &plan, &err));
    puts("created");
    svit_session_free(session);
    svit_model_free(model);
}

static void export_onnx(const char *path)
{
    svit_model *model = small_model();
    check(svit_model_export_onnx(model, path, NULL, &err));
    puts("exported");
    svit_model_free(model);
}

static void save_for_timm(const char *path)
{
    svit_model *model = small_model();
    check(svit_model_save_mapped(model, path, "timm", &err));
    puts("saved");
    svit_model_free(model);
}

static void create_cblas(void)
{
    svit_context *with_cblas;
    svit_context_config config;
    check(svit_context_config_init(&config, sizeof config));
    config.gemm = "cblas";
    check(svit_context_create(&with_cblas, &config, &err));
    puts("created");
    svit_context_free(with_cblas);
}

static void describe(void)
{
    char text[8192];
    check(svit_context_describe(context, text, sizeof text, NULL, &err));
    puts(text);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "";
    check(svit_context_create(&context, NULL, &err));
    if (strcmp(what, "train") == 0)
        train(file);
    else if (strcmp(what, "read") == 0)
        read_image(file);
    else if (strcmp(what, "write") == 0)
        write_png(file);
    else if (strcmp(what, "bf16") == 0)
        infer(SVIT_COMPUTE_BF16);
    else if (strcmp(what, "int8") == 0)
        infer(SVIT_COMPUTE_INT8);
    else if (strcmp(what, "cblas") == 0)
        create_cblas();
    else if (strcmp(what, "onnx") == 0)
        export_onnx(file);
    else if (strcmp(what, "timm") == 0)
        save_for_timm(file);
    else if (strcmp(what, "describe") == 0)
        describe();
    else
        return EXIT_FAILURE;
    svit_context_free(context);
    return EXIT_SUCCESS;
}
