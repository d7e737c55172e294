/* A training loop of one's own on synthetic images: a loss, micro-batches, clipping, an average of
 * the weights, learning rates by group and checkpoints; then the gradient of images, and a
 * classifier that is trained on features computed once:
 *     own_loop CHECKPOINT.safetensors EPOCHS
 * Called again with more epochs, it continues where the checkpoint was written. */
#include <math.h>
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 32, MICRO = 16, PIXELS = 48 * 48 * 3, CLASSES = 10, IMAGES = 2000, DIM = 96 };
static svit_error err = {.struct_size = sizeof err};
static float images[BATCH * PIXELS], gradient[BATCH * PIXELS], features[IMAGES * DIM];
static float logits[IMAGES * CLASSES], dlogits[IMAGES * CLASSES];
static int32_t labels[IMAGES];

static void check(svit_status status)
{
    if (status != SVIT_OK) {
        fprintf(stderr, "own_loop: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
}

/* The hinge loss of n images of a batch of `divisor`, and its gradient in dlogits: each class that
 * is not at least 1 below the label's adds the rest. */
static float hinge(const int32_t *label, size_t n, size_t divisor)
{
    float sum = 0, each = 1 / (float)divisor;
    for (size_t i = 0; i < n; i++) {
        const float *z = logits + i * CLASSES;
        float *dz = dlogits + i * CLASSES;
        dz[label[i]] = 0;
        for (int32_t k = 0; k < CLASSES; k++) {
            float margin = 1 + z[k] - z[label[i]];
            if (k == label[i])
                continue;
            dz[k] = margin > 0 ? each : 0;
            dz[label[i]] -= dz[k];
            sum += margin > 0 ? margin * each : 0;
        }
    }
    return sum;
}

/* One update: the gradients of the micro-batches add up. */
static float train_step(svit_session *session, svit_optimizer *optimizer, size_t n)
{
    float loss = 0;
    for (size_t first = 0; first < n; first += MICRO) {
        size_t part = n - first < MICRO ? n - first : MICRO;
        check(svit_forward(session, images + first * PIXELS, part, logits, &err));
        loss += hinge(labels + first, part, n);
        check(svit_backward(session, dlogits, part, &err));
    }
    check(svit_step(optimizer, session, &err)); /* clips, updates, averages, zeroes gradients */
    return loss;
}

/* Trains from epoch `done` on and writes a checkpoint after each epoch. */
static void train(svit_session *session, svit_optimizer *optimizer, svit_model *model,
                  svit_loader *loader, const char *path, int done, int epochs)
{
    check(svit_loader_seek(loader, (uint64_t)done, 0, &err));
    while (done < epochs) {
        float sum = 0, seen = 0;
        for (size_t n;; seen += (float)n) {
            check(svit_loader_next(loader, images, labels, &n, &err));
            if (n == 0)
                break;
            sum += train_step(session, optimizer, n) * (float)n;
        }
        char number[16];
        snprintf(number, sizeof number, "%d", ++done);
        const char *keys[] = {"epoch"}, *values[] = {number};
        check(svit_checkpoint_save(path, model, optimizer, session, keys, values, 1, &err));
        printf("epoch %d: loss %.4f\n", done, (double)(sum / seen));
    }
}

/* Restores a checkpoint and returns its epoch; 0 if there is no file. One that is there and cannot
 * be read ends the program: a new run would replace it. */
static int resume(svit_context *context, const char *path, svit_model *model,
                  svit_optimizer *optimizer, svit_session *session)
{
    svit_checkpoint *checkpoint;
    if (access(path, F_OK) != 0)
        return 0;
    check(svit_checkpoint_open(&checkpoint, context, path, &err));
    check(svit_checkpoint_restore(checkpoint, model, optimizer, session, &err));
    const char *stored = svit_checkpoint_value(checkpoint, "epoch");
    if (!stored) {
        fprintf(stderr, "%s: the checkpoint is of another program\n", path);
        exit(1);
    }
    int epoch = atoi(stored);
    svit_checkpoint_free(checkpoint);
    return epoch;
}

/* Where a pixel matters most, and the loss of images that moved against their labels. */
static void attack(svit_session *session, size_t n)
{
    check(svit_forward(session, images, n, logits, &err));
    float before = hinge(labels, n, n);
    check(svit_backward_input(session, dlogits, n, gradient, &err));
    size_t most = 0;
    for (size_t i = 0; i < PIXELS; i++)
        most = fabsf(gradient[i]) > fabsf(gradient[most]) ? i : most;
    printf("image 0 depends most on row %zu, column %zu\n", most / 3 / 48, most / 3 % 48);
    for (size_t i = 0; i < n * PIXELS; i++) /* Goodfellow, Shlens, Szegedy 2014 */
        images[i] += 0.02f * (float)((gradient[i] > 0) - (gradient[i] < 0));
    check(svit_forward(session, images, n, logits, &err));
    printf("attack: loss %.4f to %.4f\n", (double)before, (double)hinge(labels, n, n));
}

/* Computes the features of all images, once. */
static void cache(svit_session *session, svit_loader *loader)
{
    for (size_t at = 0, n;; at += n) {
        check(svit_loader_next(loader, images, labels + at, &n, &err));
        if (n == 0)
            return;
        check(svit_forward_features(session, images, n, "features", features + at * DIM, n * DIM,
                                    &err));
    }
}

/* Trains the classifier on them. */
static void train_head(svit_session *session, svit_optimizer *optimizer)
{
    float loss, first = 0;
    for (int step = 0; step < 100; step++) {
        check(svit_forward(session, features, IMAGES, logits, &err));
        check(svit_cross_entropy(logits, labels, IMAGES, CLASSES, 0, &loss, dlogits, &err));
        first = step == 0 ? loss : first;
        check(svit_backward(session, dlogits, IMAGES, &err));
        check(svit_step(optimizer, session, &err));
    }
    printf("head: loss %.4f to %.4f\n", (double)first, (double)loss);
}

static svit_session *open_session(svit_model *model, const char *json)
{
    svit_session_config plan;
    svit_session *session;
    check(svit_session_config_from_json(&plan, sizeof plan, json, &err));
    check(svit_session_create(&session, model, &plan, &err));
    return session;
}

static svit_optimizer *open_optimizer(svit_model *model, const char *json)
{
    svit_optimizer_config rule;
    svit_optimizer *optimizer;
    check(svit_optimizer_config_from_json(&rule, sizeof rule, json, &err));
    check(svit_optimizer_create(&optimizer, model, &rule, &err));
    return optimizer;
}

static svit_loader *open_loader(svit_context *context, const char *json)
{
    svit_pipeline_config pipeline;
    svit_loader_config batches;
    svit_dataset *data;
    svit_loader *loader;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    check(svit_loader_config_from_json(&batches, sizeof batches, json, &err));
    check(svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, IMAGES, &err));
    check(svit_loader_create(&loader, data, &pipeline, &batches, &err));
    svit_dataset_free(data); /* the loader keeps it alive */
    return loader;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: own_loop CHECKPOINT EPOCHS\n");
        return 2;
    }
    svit_context *context;
    svit_model_config config;
    svit_model *model;
    size_t n;
    check(svit_context_create(&context, NULL, &err));
    check(svit_model_config_from_json(&config, sizeof config, "{\"dim\": 48, \"blocks\": [2, 2]}",
                                      &err));
    check(svit_model_create(&model, context, &config, 1, &err));
    svit_loader *loader =
        open_loader(context, "{\"batch\": 32, \"shuffle\": true, \"augment\": true}");
    svit_session *session = open_session(model, "{\"mode\": \"train\", \"max_batch\": 16}");
    svit_optimizer *optimizer = open_optimizer(
        model, "{\"learning_rate\": 0.0005, \"clip_norm\": 1, \"ema\": \"plain\", "
               "\"ema_momentum\": 0.9, \"groups\": ["
               "{\"pattern\": \"head*\", \"lr_scale\": 2}, {\"pattern\": \"*.bias\", "
               "\"weight_decay\": 0}]}");
    int done = resume(context, argv[1], model, optimizer, session);
    train(session, optimizer, model, loader, argv[1], done, atoi(argv[2]));
    check(svit_optimizer_swap_ema(optimizer, &err)); /* the model has the average from here on */

    check(svit_model_set_trainable(model, "*", 0, &err));
    svit_session *input =
        open_session(model, "{\"mode\": \"train\", \"max_batch\": 32, \"input_gradient\": true}");
    svit_loader *plain = open_loader(context, "{\"batch\": 32}");
    check(svit_loader_next(plain, images, labels, &n, &err));
    attack(input, n);

    check(svit_loader_seek(plain, 0, 0, &err));
    svit_session *below = open_session(model, "{\"max_batch\": 32, \"features\": true}");
    cache(below, plain);
    check(svit_model_set_trainable(model, "head*", 1, &err));
    svit_session *head = open_session(
        model, "{\"mode\": \"train\", \"max_batch\": 2000, \"input_layer\": \"features\"}");
    svit_optimizer *of_head = open_optimizer(model, "{\"learning_rate\": 0.01}");
    train_head(head, of_head);

    svit_optimizer_free(of_head);
    svit_session_free(head);
    svit_session_free(below);
    svit_session_free(input);
    svit_loader_free(plain);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_loader_free(loader);
    svit_model_free(model);
    svit_context_free(context);
}
