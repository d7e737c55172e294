/* The attention map of an image: how much each patch is attended to in the last layer. */
#include "pictures/attention_map.h"

#include "settings/config_option.h"

#include <stdlib.h>

static svit_status create_session(attention_map *self, struct program *program, size_t height,
                                  size_t width)
{
    svit_session_config session;
    TRY(svit_session_config_init(&session, sizeof session));
    session.max_batch = 1;
    session.input_height = (uint32_t)height;
    session.input_width = (uint32_t)width;
    return svit_session_create(&self->session, self->model, &session, &program->err);
}

/* Reads the numbers of heads and tokens. Fails unless the model has attention and a token for each
 * patch. */
static svit_status read_size(attention_map *self, struct program *program,
                             const svit_model_config *config, const char *model)
{
    char architecture[ARCHITECTURE_NAME];
    TRY(config_architecture(architecture, program, config));
    svit_status status =
        svit_session_attention_size(self->session, &self->heads, &self->tokens, &program->err);
    if (status == SVIT_E_UNSUPPORTED)
        return program_fail(program, SVIT_E_ARGUMENT,
                            "--attention: '%s' has no attention; its architecture is %s", model,
                            architecture);
    TRY(status);
    size_t patches = self->rows * self->columns;
    if (self->tokens < patches)
        return program_fail(
            program, SVIT_E_UNSUPPORTED,
            "--attention: '%s', of architecture %s, has %zu tokens for %zu patches; "
            "a token for each patch is needed",
            model, architecture, self->tokens, patches);
    return SVIT_OK;
}

static svit_status create_arrays(attention_map *self, struct program *program, size_t pixels,
                                 size_t classes)
{
    self->input = calloc(pixels, self->pipeline.channels * sizeof *self->input);
    self->logits = calloc(classes, sizeof *self->logits);
    self->attention = calloc(self->heads * self->tokens, self->tokens * sizeof *self->attention);
    self->values = calloc(self->rows * self->columns, sizeof *self->values);
    if (!self->input || !self->logits || !self->attention || !self->values)
        return program_fail(program, SVIT_E_MEMORY, "no memory for the attention of %zu tokens",
                            self->tokens);
    return SVIT_OK;
}

svit_status attention_map_open(attention_map *self, struct program *program, svit_model *model,
                               const char *name)
{
    size_t height;
    size_t width;
    svit_model_config *config = &self->config;
    svit_error *err = &program->err;
    self->model = model;
    TRY(svit_model_get_config(self->model, config, sizeof *config, err));
    TRY(svit_model_get_pipeline(self->model, &self->pipeline, sizeof self->pipeline, err));
    TRY(svit_pipeline_evaluation_size(&self->pipeline, &height, &width, err));
    TRY(create_session(self, program, height, width));
    self->rows = height / config->patch_size;
    self->columns = width / config->patch_size;
    self->class_query =
        config->pool == SVIT_POOL_CLASS_TOKEN || config->pool == SVIT_POOL_CLASS_MEAN;
    TRY(read_size(self, program, config, name));
    return create_arrays(self, program, height * width, config->num_classes);
}

void attention_map_close(attention_map *self)
{
    free(self->values);
    free(self->attention);
    free(self->logits);
    free(self->input);
    svit_session_free(self->session);
}

/* Sums the attention to each patch over heads and queries. A mean would be the same after
 * `rescale`. The patches are the last tokens, and a class token is the first. */
static void sum_attention(attention_map *self)
{
    size_t patches = self->rows * self->columns;
    size_t first = self->tokens - patches;
    size_t begin = self->class_query ? 0 : first;
    size_t end = self->class_query ? 1 : self->tokens;
    for (size_t i = 0; i < patches; i++)
        self->values[i] = 0;
    for (size_t head = 0; head < self->heads; head++)
        for (size_t query = begin; query < end; query++) {
            const float *row =
                self->attention + (head * self->tokens + query) * self->tokens + first;
            for (size_t i = 0; i < patches; i++)
                self->values[i] += row[i];
        }
}

/* Rescales values linearly to 0..1; equal values become 0. */
static void rescale(float *values, size_t count)
{
    float min = values[0];
    float max = values[0];
    for (size_t i = 1; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = max > min ? (values[i] - min) / (max - min) : 0;
}

/* Reads an image with the channels of the model and preprocesses it. */
static svit_status read_input(attention_map *self, struct program *program, const char *path)
{
    svit_image *image = NULL;
    TRY(svit_image_read(&image, program->context, path, self->pipeline.channels, &program->err));
    svit_status status = svit_pipeline_apply_evaluation(
        program->context, &self->pipeline, svit_image_pixels(image), 1, svit_image_height(image),
        svit_image_width(image), self->input, &program->err);
    svit_image_free(image);
    return status;
}

svit_status attention_map_run(attention_map *self, struct program *program, const char *path)
{
    TRY(read_input(self, program, path));
    TRY(svit_forward_attention(self->session, self->input, 1, self->logits, self->attention,
                               self->heads * self->tokens * self->tokens, &program->err));
    sum_attention(self);
    rescale(self->values, self->rows * self->columns);
    return SVIT_OK;
}
