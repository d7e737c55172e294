/* Draws images under a map of how far their patches are from what a memory knows. */
#include "pictures/anomaly_maps.h"

#include "outputs/output_check.h"
#include "pictures/canvas.h"
#include "pictures/picture_parts.h"
#include "program/path_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 440 };

/* Writes the path of the picture of the image file `image` to path[PATH_CAPACITY]. */
static svit_status picture_path(struct program *self, char *path, const char *folder,
                                const char *image)
{
    char name[PATH_CAPACITY];
    const char *slash = strrchr(image, '/');
    const char *base = slash ? slash + 1 : image, *dot = strrchr(base, '.');
    const size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    if (length + sizeof ".png" > sizeof name)
        return program_fail(self, SVIT_E_ARGUMENT, "--maps: the name '%.40s...' is too long", base);
    memcpy(name, base, length);
    memcpy(name + length, ".png", sizeof ".png");
    return path_join(self, path, folder, name);
}

/* An image and its picture. */
typedef struct map_paths {
    char *image, *picture;
    char *replaced; /* the whole path of the file that the picture replaces; NULL: none */
} map_paths;

static int by_picture(const void *a, const void *b)
{
    return strcmp(((const map_paths *)a)->picture, ((const map_paths *)b)->picture);
}

static int by_image(const void *a, const void *b)
{
    return strcmp(((const map_paths *)a)->image, ((const map_paths *)b)->image);
}

/* Paths of images are whole ones but for links, which realpath follows. */
static svit_status fill_paths(map_paths *out, struct program *self, const char *folder,
                              const svit_dataset *images, size_t index)
{
    char path[PATH_CAPACITY], picture[PATH_CAPACITY];
    TRY(svit_dataset_path(images, index, path, sizeof path, NULL, &self->err));
    TRY(picture_path(self, picture, folder, path));
    out->image = realpath(path, NULL);
    out->picture = strdup(picture);
    out->replaced = realpath(picture, NULL);
    if (!out->image)
        out->image = strdup(path);
    return out->image && out->picture ? SVIT_OK
                                      : program_fail(self, SVIT_E_MEMORY, "no memory for a path");
}

static svit_status check_paths(struct program *self, map_paths *paths, size_t count)
{
    qsort(paths, count, sizeof *paths, by_picture);
    for (size_t i = 1; i < count; i++)
        if (strcmp(paths[i - 1].picture, paths[i].picture) == 0)
            return program_fail(self, SVIT_E_ARGUMENT,
                                "--maps: '%s' and '%s' would both be drawn to '%s'; another name "
                                "is needed",
                                paths[i - 1].image, paths[i].image, paths[i].picture);
    qsort(paths, count, sizeof *paths, by_image);
    for (size_t i = 0; i < count; i++) {
        const map_paths sought = {.image = paths[i].replaced};
        if (sought.image && bsearch(&sought, paths, count, sizeof *paths, by_image))
            return program_fail(self, SVIT_E_ARGUMENT,
                                "--maps: '%s' is an image that is scored, which would be lost; "
                                "another folder is needed",
                                paths[i].picture);
        TRY(output_check_drawn(self, "--maps", paths[i].picture, "another folder is needed"));
    }
    return SVIT_OK;
}

svit_status anomaly_maps_check_place(struct program *self, const char *folder)
{
    char part[PATH_CAPACITY];
    if (snprintf(part, sizeof part, "%s", folder) >= (int)sizeof part)
        return program_fail(self, SVIT_E_ARGUMENT, "--maps: the path '%.80s...' is too long",
                            folder);
    if (part[0] == '\0')
        return program_fail(self, SVIT_E_ARGUMENT, "--maps: '' is no name of a folder");
    while (!path_exists(part)) {
        char *slash = strrchr(part, '/');
        if (slash && slash != part)
            *slash = '\0';
        else
            strcpy(part, slash ? "/" : ".");
    }
    if (!path_is_folder(part))
        return program_fail(self, SVIT_E_IO, "--maps: '%s' is no folder; a folder is needed", part);
    return access(part, W_OK) == 0
               ? SVIT_OK
               : program_fail(self, SVIT_E_IO, "--maps: cannot write to '%s': %s", part,
                              strerror(errno));
}

svit_status anomaly_maps_check(struct program *self, const char *folder, const svit_dataset *images)
{
    const size_t count = svit_dataset_count(images);
    map_paths *paths = calloc(count, sizeof *paths);
    svit_status status =
        paths ? SVIT_OK : program_fail(self, SVIT_E_MEMORY, "no memory for %zu paths", count);
    for (size_t i = 0; status == SVIT_OK && i < count; i++)
        status = fill_paths(&paths[i], self, folder, images, i);
    if (status == SVIT_OK)
        status = check_paths(self, paths, count);
    for (size_t i = 0; paths && i < count; i++) {
        free(paths[i].image);
        free(paths[i].picture);
        free(paths[i].replaced);
    }
    free(paths);
    return status;
}

static svit_status draw(struct program *self, const char *path, const char *picture,
                        const float *values, size_t rows, size_t columns,
                        const svit_pipeline_config *pipeline, const svit_model_config *model)
{
    svit_image *image = NULL;
    TRY(svit_image_read(&image, self->context, path, 3, &self->err));
    const image_frame whole = picture_frame(image, 0, 0, SIDE);
    const image_frame frame = {0, 0, whole.width, whole.height};
    cairo_t *canvas = canvas_create((int)(frame.width + 0.5), (int)(frame.height + 0.5));
    picture_image(canvas, image, &frame);
    picture_heat(canvas, values, rows, columns, image, &frame, pipeline, model);
    svit_image_free(image);
    return canvas_write(self, canvas, picture);
}

svit_status anomaly_maps_draw(struct program *self, const char *folder, const svit_dataset *images,
                              const svit_features *patches, const float *distances,
                              const svit_model *model, const svit_pipeline_config *pipeline)
{
    char path[PATH_CAPACITY], picture[PATH_CAPACITY];
    int32_t tokens;
    size_t rows, columns;
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    TRY(svit_features_grid(patches, &tokens, &rows, &columns, &self->err));
    TRY(path_make_folder(self, folder));
    float *values = calloc(rows * columns, sizeof *values);
    float smallest = distances[0], largest = distances[0];
    for (size_t i = 1; i < svit_features_count(patches); i++) {
        smallest = distances[i] < smallest ? distances[i] : smallest;
        largest = distances[i] > largest ? distances[i] : largest;
    }
    if (!values)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu patches", rows * columns);
    svit_status status = SVIT_OK;
    for (size_t i = 0; status == SVIT_OK && i < svit_dataset_count(images); i++) {
        for (size_t j = 0; j < rows * columns; j++)
            values[j] = largest > smallest
                            ? (distances[i * rows * columns + j] - smallest) / (largest - smallest)
                            : 0;
        status = svit_dataset_path(images, i, path, sizeof path, NULL, &self->err);
        if (status == SVIT_OK)
            status = picture_path(self, picture, folder, path);
        if (status == SVIT_OK)
            status = draw(self, path, picture, values, rows, columns, pipeline, &config);
    }
    free(values);
    return status;
}
