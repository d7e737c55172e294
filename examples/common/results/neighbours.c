/* The images of a folder that are nearest to others, as a list and as a picture. */
#include "results/neighbours.h"

#include "data/bad_option.h"
#include "data/image_folder.h"
#include "outputs/output_check.h"
#include "pictures/picture_grid.h"
#include "program/json_line.h"
#include "program/path_text.h"
#include "program/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID_QUERIES = 8 };

/* Both folders, and what was found. */
typedef struct search {
    svit_dataset *images, *queries;
    svit_features *reference, *sought;
    size_t k, drawn;
    size_t *indices;   /* [queries, k] */
    float *similarity; /* [queries, k] */
    grid_cell *cells;  /* [GRID_QUERIES, 1 + count] */
} search;

static void search_close(search *self)
{
    free(self->cells);
    free(self->similarity);
    free(self->indices);
    svit_features_free(self->sought);
    svit_features_free(self->reference);
    svit_dataset_free(self->queries);
    svit_dataset_free(self->images);
}

static svit_status is_found(int *found, struct program *program, const svit_dataset *images,
                            const char *sought)
{
    char path[PATH_CAPACITY];
    *found = 0;
    for (size_t i = 0; i < svit_dataset_count(images) && !*found; i++) {
        TRY(svit_dataset_path(images, i, path, sizeof path, NULL, &program->err));
        *found = strcmp(path, sought) == 0;
    }
    return SVIT_OK;
}

/* Fails if no query has enough neighbours for a row of the picture: it is none of them itself. */
static svit_status check_grid(const search *self, struct program *program,
                              const neighbours_option *option)
{
    const size_t images = svit_dataset_count(self->images);
    size_t n = svit_dataset_count(self->queries);
    char path[PATH_CAPACITY];
    n = n < GRID_QUERIES ? n : GRID_QUERIES;
    int is_enough = images > option->count;
    for (size_t i = 0; images == option->count && !is_enough && i < n; i++) {
        int is_one;
        TRY(svit_dataset_path(self->queries, i, path, sizeof path, NULL, &program->err));
        TRY(is_found(&is_one, program, self->images, path));
        is_enough = !is_one;
    }
    return is_enough ? SVIT_OK
                     : program_fail(program, SVIT_E_ARGUMENT,
                                    "--grid: '%s' has fewer than %zu images besides the "
                                    "query; --count takes fewer",
                                    option->folder, option->count);
}

static svit_status find(search *self, struct program *program, svit_model *model,
                        const svit_pipeline_config *pipeline, const svit_features_config *features,
                        const neighbours_option *option, int32_t on_bad)
{
    svit_error *err = &program->err;
    TRY(image_folder_open(&self->images, program, option->folder, pipeline));
    TRY(image_folder_open(&self->queries, program, option->queries, pipeline));
    TRY(output_check_images(program, "--grid", option->grid, self->images));
    TRY(output_check_images(program, "--grid", option->grid, self->queries));
    TRY(bad_check_folder(&self->images, program, on_bad));
    TRY(bad_check_folder(&self->queries, program, on_bad));
    if (option->grid)
        TRY(check_grid(self, program, option));
    TRY(svit_features_compute(&self->reference, model, self->images, pipeline, features, err));
    TRY(svit_features_compute(&self->sought, model, self->queries, pipeline, features, err));
    const size_t n = svit_features_count(self->sought), all = svit_features_count(self->reference);
    self->k = option->count + 1 < all ? option->count + 1 : all; /* one may be the query itself */
    self->indices = calloc(n, self->k * sizeof *self->indices);
    self->similarity = calloc(n, self->k * sizeof *self->similarity);
    self->cells = calloc(GRID_QUERIES, (1 + option->count) * sizeof *self->cells);
    if (!self->indices || !self->similarity || !self->cells)
        return program_fail(program, SVIT_E_MEMORY, "no memory for the neighbours of %zu images",
                            n);
    return svit_features_nearest(self->reference, svit_features_values(self->sought), n, self->k,
                                 SVIT_METRIC_COSINE, self->indices, self->similarity, err);
}

static void fill_cell(grid_cell *cell, const char *path, const char *title)
{
    snprintf(cell->path, sizeof cell->path, "%s", path);
    snprintf(cell->title, sizeof cell->title, "%s", title);
}

static void print_one(const struct program *program, json_t *found, const char *path, float value)
{
    char shown[SHOWN_CAPACITY];
    if (program->json)
        json_array_append_new(found, json_pack("{s:o, s:f}", "image", json_line_text(path),
                                               "similarity", (double)value));
    else
        printf("  %8.4f  %s\n", (double)value, shown_text(shown, path));
}

/* Prints one query and fills its row of the picture. */
static svit_status print_query(search *self, struct program *program, size_t query,
                               const neighbours_option *option)
{
    char path[PATH_CAPACITY], other[PATH_CAPACITY], shown[SHOWN_CAPACITY], title[32];
    grid_cell *row = query < GRID_QUERIES ? self->cells + query * (1 + option->count) : NULL;
    size_t count = 0;
    TRY(svit_dataset_path(self->queries, query, path, sizeof path, NULL, &program->err));
    json_t *found = program->json ? json_array() : NULL;
    if (!program->json)
        printf("%s\n", shown_text(shown, path));
    if (row)
        fill_cell(row, path, "");
    svit_status status = SVIT_OK;
    for (size_t j = 0; status == SVIT_OK && j < self->k && count < option->count; j++) {
        const size_t at = query * self->k + j;
        status = svit_dataset_path(self->images, self->indices[at], other, sizeof other, NULL,
                                   &program->err);
        if (status != SVIT_OK || strcmp(path, other) == 0)
            continue;
        print_one(program, found, other, self->similarity[at]);
        snprintf(title, sizeof title, "%.4f", (double)self->similarity[at]);
        count++;
        if (row)
            fill_cell(row + count, other, title);
    }
    if (row && count == option->count)
        self->drawn = query + 1;
    if (program->json)
        json_line_print(json_pack("{s:o, s:o}", "image", json_line_text(path), "neighbours", found),
                        JSON_LINE_DIGITS);
    return status;
}

svit_status neighbours_print(struct program *self, svit_model *model,
                             const svit_pipeline_config *pipeline,
                             const svit_features_config *features, const neighbours_option *option,
                             int32_t on_bad)
{
    search found = {0};
    svit_status status = find(&found, self, model, pipeline, features, option, on_bad);
    for (size_t i = 0; status == SVIT_OK && i < svit_dataset_count(found.queries); i++)
        status = print_query(&found, self, i, option);
    if (status == SVIT_OK && option->grid)
        status = picture_grid_draw(self, found.cells, found.drawn * (1 + option->count),
                                   1 + option->count, NULL, option->grid);
    search_close(&found);
    return status;
}
