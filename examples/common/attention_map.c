/* The attention map of an image: how much each patch is attended to in the last layer. */
#include "attention_map.h"

#include <stdlib.h>

static svit_status create_session(attention_map *self, struct program *program, size_t height,
                                  size_t width)
{
    svit_session_config session;
    TRY(svit_session_config_init(&session, sizeof session));
    session.max_batch = 1;
    session.input_height = (uint32_t)height;
    session.input_width = (uint32_t)width;
    TRY(svit_session_create(&self->session, self->model, &session, &program->err));
    return svit_session_attention_size(self->session, &self->heads, &self->tokens, &program->err);
}

static svit_status create_arrays(attention_map *self, struct program *program, size_t pixels,
                                 size_t classes)
{
    self->input = calloc(pixels, 3 * sizeof *self->input);
    self->logits = calloc(classes, sizeof *self->logits);
    self->attention = calloc(self->heads * self->tokens, self->tokens * sizeof *self->attention);
    self->values = calloc(self->rows * self->columns, sizeof *self->values);
    if (!self->input || !self->logits || !self->attention || !self->values)
        return program_fail(program, SVIT_E_MEMORY, "no memory for the attention of %zu tokens",
                            self->tokens);
    return SVIT_OK;
}

svit_status attention_map_open(attention_map *self, struct program *program, const char *model)
{
    size_t height;
    size_t width;
    svit_model_config config;
    svit_error *err = &program->err;
    TRY(svit_model_load(&self->model, program->context, model, err));
    TRY(svit_model_get_config(self->model, &config, sizeof config, err));
    if (config.architecture != SVIT_ARCHITECTURE_VIT)
        return program_fail(program, SVIT_E_ARGUMENT,
                            "--attention: '%s' has no attention; a ViT has", model);
    TRY(svit_model_get_pipeline(self->model, &self->pipeline, sizeof self->pipeline, err));
    TRY(svit_pipeline_evaluation_size(&self->pipeline, &height, &width, err));
    TRY(create_session(self, program, height, width));
    self->rows = height / config.patch_size;
    self->columns = width / config.patch_size;
    self->class_token = config.pool == SVIT_POOL_CLASS_TOKEN;
    return create_arrays(self, program, height * width, config.num_classes);
}

void attention_map_close(attention_map *self)
{
    free(self->values);
    free(self->attention);
    free(self->logits);
    free(self->input);
    svit_session_free(self->session);
    svit_model_free(self->model);
}

/* Sums the attention to each patch over heads and queries. A mean would be the same after
 * `rescale`. */
static void sum_attention(attention_map *self)
{
    size_t patches = self->rows * self->columns;
    size_t first = self->class_token ? 1 : 0;
    size_t queries = self->class_token ? 1 : self->tokens;
    for (size_t i = 0; i < patches; i++)
        self->values[i] = 0;
    for (size_t head = 0; head < self->heads; head++)
        for (size_t query = 0; query < queries; query++) {
            const float *row =
                self->attention + (head * self->tokens + query) * self->tokens + first;
            for (size_t i = 0; i < patches; i++)
                self->values[i] += row[i];
        }
}

/* Rescales values linearly to 0..1; equal values become 0. */
static void rescale(float *values, size_t count)
{
    float least = values[0];
    float most = values[0];
    for (size_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = most > least ? (values[i] - least) / (most - least) : 0;
}

svit_status attention_map_run(attention_map *self, struct program *program, const svit_image *image)
{
    TRY(svit_pipeline_apply_evaluation(program->context, &self->pipeline, svit_image_pixels(image),
                                       1, svit_image_height(image), svit_image_width(image),
                                       self->input, &program->err));
    TRY(svit_forward_attention(self->session, self->input, 1, self->logits, self->attention,
                               self->heads * self->tokens * self->tokens, &program->err));
    sum_attention(self);
    rescale(self->values, self->rows * self->columns);
    return SVIT_OK;
}
