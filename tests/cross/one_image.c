/* Classifies images on one thread, by the library or by the plain model, so that instructions.py
 * can count what one takes.
 *
 * usage: one_image PRESET float32|bfloat16|int8|plain IMAGES */
#include "plain_model.h"
#include "works.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run_plain(const svit_model_config *config, long images)
{
    plain_model *model = plain_model_create(config, 1);
    for (long i = 0; i < images; i++)
        plain_model_forward(model);
    plain_model_free(model);
}

static void run_library(const svit_model_config *config, int32_t compute, long images)
{
    svit_context_config one_thread;
    svit_session_config inference;
    svit_context *context;
    svit_model *model;
    svit_session *session;
    WORKS(svit_context_config_init(&one_thread, sizeof one_thread));
    WORKS(svit_session_config_init(&inference, sizeof inference));
    one_thread.threads = 1;
    inference.mode = SVIT_MODE_INFER;
    inference.max_batch = 1;
    inference.compute = compute;
    WORKS(svit_context_create(&context, &one_thread, err));
    WORKS(svit_model_create(&model, context, config, 1, err));
    WORKS(svit_session_create(&session, model, &inference, err));
    const size_t pixels = (size_t)config->input_height * config->input_width * config->in_channels;
    float *image = calloc(pixels, sizeof *image),
          *logits = calloc(config->num_classes, sizeof *logits);
    if (!image || !logits)
        exit(1);
    for (size_t i = 0; i < pixels; i++)
        image[i] = (float)(i % 251) / 251;
    for (long i = 0; i < images; i++)
        WORKS(svit_forward(session, image, 1, logits, err));
    free(image);
    free(logits);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}

int main(int argc, char **argv)
{
    static const char *const COMPUTES[] = {"float32", "bfloat16", "int8", "plain"};
    enum { PLAIN = 3, COUNT };
    svit_model_config config;
    int32_t compute = 0;
    while (argc == 4 && compute < COUNT && strcmp(argv[2], COMPUTES[compute]) != 0)
        compute++;
    if (argc != 4 || compute == COUNT) {
        fprintf(stderr, "usage: one_image PRESET float32|bfloat16|int8|plain IMAGES\n");
        return 2;
    }
    WORKS(svit_model_config_preset(&config, sizeof config, argv[1], err));
    if (compute == PLAIN)
        run_plain(&config, atol(argv[3]));
    else
        run_library(&config, compute, atol(argv[3]));
    return 0;
}
