/* Draws what steps of augmentation make of images. */
#include "pictures/augment_grid.h"

#include "pictures/canvas.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, SMALLEST = 96 }; /* pixels between pictures; of a picture's side at least */

typedef struct grid {
    size_t count, size; /* images, and pixels of a side */
    size_t zoom;        /* a pixel becomes zoom x zoom */
    uint8_t *originals; /* [count, size, size, 3] */
    int32_t *labels;    /* [count] */
    float *versions;    /* [count, size, size, 3] of one epoch, in 0..1 */
    float *targets;     /* [count, count] */
    uint8_t *picture;   /* [height, width, 3] */
    size_t height, width;
} grid;

static svit_status grid_allocate(grid *self, struct program *program)
{
    const size_t image = self->size * self->size * 3, cell = self->size * self->zoom + GAP;
    self->height = self->count * cell + GAP;
    self->width = (1 + AUGMENT_VERSIONS) * cell + GAP;
    self->originals = calloc(self->count, image);
    self->labels = calloc(self->count, sizeof *self->labels);
    self->versions = calloc(self->count, image * sizeof *self->versions);
    self->targets = calloc(self->count, self->count * sizeof *self->targets);
    self->picture = malloc(self->height * self->width * 3);
    if (!self->originals || !self->labels || !self->versions || !self->targets || !self->picture)
        return program_fail(program, SVIT_E_MEMORY, "no memory for the pictures");
    memset(self->picture, 255, self->height * self->width * 3);
    for (size_t i = 0; i < self->count; i++)
        self->labels[i] = (int32_t)i;
    return SVIT_OK;
}

static void grid_free(grid *self)
{
    free(self->originals);
    free(self->labels);
    free(self->versions);
    free(self->targets);
    free(self->picture);
}

/* Sets one pixel of the picture in a row and column of pictures. */
static void paint(grid *self, size_t row, size_t column, size_t y, size_t x, const uint8_t rgb[3])
{
    const size_t cell = self->size * self->zoom + GAP;
    const size_t top = GAP + row * cell + y * self->zoom,
                 left = GAP + column * cell + x * self->zoom;
    for (size_t i = 0; i < self->zoom; i++)
        for (size_t j = 0; j < self->zoom; j++)
            memcpy(self->picture + ((top + i) * self->width + left + j) * 3, rgb, 3);
}

static uint8_t byte_of(float value)
{
    return value <= 0 ? 0 : value >= 1 ? 255 : (uint8_t)(value * 255 + 0.5f);
}

static void paint_originals(grid *self)
{
    const size_t pixels = self->size * self->size;
    for (size_t i = 0; i < self->count * pixels; i++)
        paint(self, i / pixels, 0, i % pixels / self->size, i % self->size,
              self->originals + 3 * i);
}

static void paint_versions(grid *self, size_t column)
{
    const size_t pixels = self->size * self->size;
    for (size_t i = 0; i < self->count * pixels; i++) {
        const float *value = self->versions + 3 * i;
        const uint8_t rgb[3] = {byte_of(value[0]), byte_of(value[1]), byte_of(value[2])};
        paint(self, i / pixels, column, i % pixels / self->size, i % self->size, rgb);
    }
}

/* An epoch with "repeat" reads fewer images, and these several times: each version is of all. */
static void drop_repeats(svit_pipeline_config *pipeline)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pipeline->augment_count; i++)
        if (pipeline->augment[i].kind != SVIT_AUGMENT_REPEAT)
            pipeline->augment[kept++] = pipeline->augment[i];
    pipeline->augment_count = kept;
}

/* A pipeline that does nothing but the steps. */
static svit_status make_pipeline(svit_pipeline_config *out, struct program *program, size_t size,
                                 const char *steps)
{
    char *text = NULL;
    json_t *list = json_loads(steps, JSON_REJECT_DUPLICATES, NULL);
    const int is_list = json_is_array(list);
    json_decref(list);
    if (!is_list)
        return program_fail(program, SVIT_E_ARGUMENT,
                            "--augment: '%s' is no JSON list of steps, such as "
                            "[{\"name\": \"crop\", \"padding\": 4}]",
                            steps);
    if (asprintf(&text,
                 "{\"source_height\":%zu,\"source_width\":%zu,\"resize_height\":%zu,"
                 "\"resize_width\":%zu,\"output_height\":%zu,\"output_width\":%zu,"
                 "\"source_filter\":\"shorter-side\",\"flip_probability\":0,\"augment\":%s}",
                 size, size, size, size, size, size, steps) < 0)
        return program_fail(program, SVIT_E_MEMORY, "no memory for the steps");
    svit_status status = svit_pipeline_config_from_json(out, sizeof *out, text, &program->err);
    free(text);
    return status;
}

static svit_status read_images(grid *self, struct program *program, const char *const *paths,
                               const svit_pipeline_config *pipeline)
{
    for (size_t i = 0; i < self->count; i++) {
        svit_image *image = NULL;
        TRY(svit_image_read(&image, program->context, paths[i], 3, &program->err));
        svit_status status = svit_pipeline_apply_source(
            program->context, pipeline, svit_image_pixels(image), svit_image_height(image),
            svit_image_width(image), self->originals + i * self->size * self->size * 3,
            &program->err);
        svit_image_free(image);
        TRY(status);
    }
    return SVIT_OK;
}

/* Draws the versions of each epoch in a column. */
static svit_status draw_epochs(grid *self, struct program *program, svit_loader *loader)
{
    for (size_t epoch = 0; epoch < AUGMENT_VERSIONS; epoch++) {
        size_t n;
        TRY(svit_loader_seek(loader, epoch, 0, &program->err));
        TRY(svit_loader_next_targets(loader, self->versions, self->targets, &n, &program->err));
        paint_versions(self, 1 + epoch);
    }
    return SVIT_OK;
}

static svit_status draw_versions(grid *self, struct program *program,
                                 const svit_pipeline_config *pipeline)
{
    svit_dataset *data = NULL;
    svit_loader *loader = NULL;
    svit_loader_config config;
    TRY(svit_loader_config_init(&config, sizeof config));
    config.batch = (uint32_t)self->count;
    config.augment = 1;
    config.prefetch = 0;
    config.seed = program->seed;
    TRY(svit_dataset_memory(&data, program->context, self->originals, self->labels, self->count,
                            self->size, self->size, 3, self->count, &program->err));
    svit_status status = svit_loader_create(&loader, data, pipeline, &config, &program->err);
    if (status == SVIT_OK)
        status = draw_epochs(self, program, loader);
    svit_loader_free(loader);
    svit_dataset_free(data);
    return status;
}

static svit_status fill(grid *self, struct program *program, const char *const *images,
                        const char *steps)
{
    svit_pipeline_config pipeline;
    TRY(make_pipeline(&pipeline, program, self->size, steps));
    drop_repeats(&pipeline);
    TRY(grid_allocate(self, program));
    TRY(read_images(self, program, images, &pipeline));
    paint_originals(self);
    return draw_versions(self, program, &pipeline);
}

svit_status augment_grid_draw(struct program *self, const char *const *images, size_t count,
                              size_t size, const char *steps, const char *out, size_t sides[2])
{
    grid cells = {
        .count = count, .size = size, .zoom = size >= SMALLEST ? 1 : (SMALLEST + size - 1) / size};
    svit_status status = fill(&cells, self, images, steps);
    if (status == SVIT_OK)
        status = canvas_write_pixels(self, cells.picture, cells.height, cells.width, out);
    sides[0] = cells.height;
    sides[1] = cells.width;
    grid_free(&cells);
    return status;
}
