/* Trains a small ShiftViT with an explicit loop, on synthetic images or on CIFAR-10, and saves it:
 *     train_minimal MODEL.safetensors [CIFAR10_FOLDER] */
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 5, BATCH = 64, PIXELS = 48 * 48, CLASSES = 10, IMAGES = 4000 };
static svit_error err = {.struct_size = sizeof err};

/* Every call returns a status. On failure, `err` says what was wrong. */
static void check(svit_status status)
{
    if (status != SVIT_OK) {
        fprintf(stderr, "train_minimal: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
}

/* One pass over the data. Returns the mean loss. */
static float train_epoch(svit_loader *loader, svit_session *session, svit_optimizer *optimizer)
{
    static float images[BATCH * PIXELS * 3], logits[BATCH * CLASSES], dlogits[BATCH * CLASSES];
    static int32_t labels[BATCH];
    float loss, loss_sum = 0, seen = 0;
    for (size_t n;; seen += (float)n) {
        check(svit_loader_next(loader, images, labels, &n, &err));
        if (n == 0) /* the end of the epoch */
            return loss_sum / seen;
        check(svit_forward(session, images, n, logits, &err));
        check(svit_cross_entropy(logits, labels, n, CLASSES, 0, &loss, dlogits, &err));
        check(svit_backward(session, dlogits, n, &err)); /* adds to the gradients */
        check(svit_step(optimizer, session, &err));      /* updates weights, zeroes gradients */
        loss_sum += loss * (float)n;
    }
}

int main(int argc, char **argv)
{
    svit_context *context; /* worker threads, and the kernels for this CPU */
    check(svit_context_create(&context, NULL, &err));
    svit_dataset *data; /* images of 32 x 32 pixels with labels 0 to 9 */
    check(argc > 2 ? svit_dataset_cifar10(&data, context, argv[2], SVIT_SPLIT_TRAIN, &err)
                   : svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, IMAGES, &err));
    svit_model_config config; /* the default ShiftViT, made smaller: 2 stages of 2 blocks */
    check(svit_model_config_from_json(&config, sizeof config, "{\"dim\": 48, \"blocks\": [2, 2]}",
                                      &err));
    svit_model *model; /* weights, class names, and how an image becomes the model's input */
    check(svit_model_create(&model, context, &config, 1, &err));
    const char *names[CLASSES];
    for (size_t label = 0; label < CLASSES; label++)
        names[label] = svit_dataset_class_name(data, label);
    check(svit_model_set_classes(model, names, CLASSES, &err));
    svit_pipeline_config pipeline; /* 32 to 52 pixels, a random crop of 48, a random mirror */
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    check(svit_model_set_pipeline(model, &pipeline, &err));
    svit_loader_config batches;
    svit_loader_config_init(&batches, sizeof batches);
    batches.batch = BATCH;
    batches.shuffle = batches.augment = 1;
    svit_loader *loader; /* prepares batches ahead, on a separate thread */
    check(svit_loader_create(&loader, data, &pipeline, &batches, &err));
    svit_session_config plan;
    svit_session_config_init(&plan, sizeof plan);
    plan.mode = SVIT_MODE_TRAIN;
    plan.max_batch = BATCH;
    svit_session *session; /* activations and gradients; all memory is allocated here */
    check(svit_session_create(&session, model, &plan, &err));
    svit_optimizer *optimizer; /* by default AdamW with a learning rate of 1e-3 */
    check(svit_optimizer_create(&optimizer, model, NULL, &err));
    for (int epoch = 1; epoch <= EPOCHS; epoch++)
        printf("epoch %d: loss %.4f\n", epoch, (double)train_epoch(loader, session, optimizer));
    check(svit_model_save(model, argc > 1 ? argv[1] : "model.safetensors", &err));
    svit_optimizer_free(optimizer); /* handles may be freed in any order */
    svit_session_free(session);
    svit_loader_free(loader);
    svit_model_free(model);
    svit_dataset_free(data);
    svit_context_free(context);
}
