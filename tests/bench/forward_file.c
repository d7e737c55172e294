/* Runs a model file on raw float32 images, for comparisons with other libraries:
 *
 *   forward_file MODEL INPUT OUT
 *
 * INPUT holds n images [height, width, channels]. Writes OUT/logits and, for the loss
 * 0.5 * sum(logits^2), OUT/NAME for the gradient of each parameter, all as raw float32. */
#include <shiftvit/shiftvit.h>

#include <stdio.h>
#include <stdlib.h>

static svit_error err = {sizeof err, 0, ""};

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, err.message);
    exit(1);
}

static void write_floats(const char *folder, const char *name, const float *values, size_t elements)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(values, sizeof *values, elements, file) != elements || fclose(file) != 0)
        fail(path);
}

static float *read_floats(const char *path, size_t *elements)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(path);
    *elements = (size_t)ftell(file) / sizeof(float);
    float *values = malloc(*elements * sizeof *values);
    rewind(file);
    if (!values || fread(values, sizeof *values, *elements, file) != *elements)
        fail(path);
    fclose(file);
    return values;
}

static void write_gradients(const svit_session *session, const svit_model *model,
                            const char *folder)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)); i++) {
        int64_t shape[8];
        size_t rank, elements = 1;
        if (svit_model_parameter_shape(model, name, shape, &rank, &err))
            fail(name);
        for (size_t r = 0; r < rank; r++)
            elements *= (size_t)shape[r];
        float *values = malloc(elements * sizeof *values);
        if (!values || svit_session_get_gradient(session, name, values, elements, &err))
            fail(name);
        write_floats(folder, name, values, elements);
        free(values);
    }
}

int main(int argc, char **argv)
{
    svit_context *context = NULL;
    svit_model *model = NULL;
    svit_session *session = NULL;
    svit_model_config config;
    svit_session_config options;
    size_t elements;
    if (argc != 4)
        return fprintf(stderr, "usage: forward_file MODEL INPUT OUT\n"), 2;
    if (svit_context_create(&context, NULL, &err) ||
        svit_model_load(&model, context, argv[1], &err) ||
        svit_model_get_config(model, &config, sizeof config, &err))
        fail(argv[1]);
    float *input = read_floats(argv[2], &elements);
    size_t n = elements / ((size_t)config.input_height * config.input_width * config.in_channels);
    float *logits = malloc(n * config.num_classes * sizeof *logits);
    svit_session_config_init(&options, sizeof options);
    options.mode = SVIT_MODE_TRAIN;
    options.max_batch = (uint32_t)n;
    if (!logits || svit_session_create(&session, model, &options, &err) ||
        svit_forward(session, input, n, logits, &err))
        fail("forward");
    write_floats(argv[3], "logits", logits, n * config.num_classes);
    if (svit_backward(session, logits, n, &err))
        fail("backward");
    write_gradients(session, model, argv[3]);
    free(logits);
    free(input);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
    return 0;
}
