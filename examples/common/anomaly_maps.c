/* Draws images under a map of how far their patches are from what a memory knows. */
#include "anomaly_maps.h"

#include "canvas.h"
#include "path_text.h"
#include "picture_parts.h"

#include <stdlib.h>
#include <string.h>

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

static svit_status draw(struct program *self, const char *path, const char *picture,
                        const float *values, size_t rows, size_t columns,
                        const svit_pipeline_config *pipeline)
{
    svit_image *image = NULL;
    TRY(svit_image_read(&image, self->context, path, 3, &self->err));
    const image_frame whole = picture_frame(image, 0, 0, SIDE);
    const image_frame frame = {0, 0, whole.width, whole.height};
    cairo_t *canvas = canvas_create((int)(frame.width + 0.5), (int)(frame.height + 0.5));
    picture_image(canvas, image, &frame);
    picture_heat(canvas, values, rows, columns, image, &frame, pipeline);
    svit_image_free(image);
    return canvas_write(self, canvas, picture);
}

svit_status anomaly_maps_draw(struct program *self, const char *folder, const svit_dataset *images,
                              const svit_features *patches, const float *distances,
                              const svit_pipeline_config *pipeline)
{
    char path[PATH_CAPACITY], picture[PATH_CAPACITY];
    int32_t tokens;
    size_t rows, columns;
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
            status = draw(self, path, picture, values, rows, columns, pipeline);
    }
    free(values);
    return status;
}
