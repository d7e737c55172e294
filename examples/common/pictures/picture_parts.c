/* Parts of pictures: images, and heat maps over them. */
#include "pictures/picture_parts.h"

#include "data/image_cut.h"

#include <math.h>

/* Returns an image as a cairo surface. Its status tells if there was no memory. */
static cairo_surface_t *image_surface(const svit_image *image)
{
    size_t height = svit_image_height(image);
    size_t width = svit_image_width(image);
    const uint8_t *rgb = svit_image_pixels(image);
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        return surface;
    cairo_surface_flush(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (size_t y = 0; y < height; y++) {
        uint32_t *row = (uint32_t *)(void *)(data + y * stride);
        for (size_t x = 0; x < width; x++, rgb += 3)
            row[x] = (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

/* Returns a colour for a value in 0..1: from dark blue through violet and orange to light yellow,
 * 60 % opaque. */
static uint32_t heat_colour(float value)
{
    static const float stops[5][3] = {
        {0, 0, 40}, {87, 16, 110}, {188, 55, 84}, {249, 142, 9}, {252, 255, 164}};
    static const float opacity = 0.6f;
    int stop = value >= 1 ? 3 : (int)(4 * value);
    float part = 4 * value - (float)stop;
    uint32_t colour = (uint32_t)(255 * opacity + 0.5f);
    for (int i = 0; i < 3; i++) {
        float mixed = stops[stop][i] + part * (stops[stop + 1][i] - stops[stop][i]);
        colour = colour << 8 | (uint32_t)(mixed * opacity); /* cairo multiplies colours by alpha */
    }
    return colour;
}

/* Returns values[rows, columns] as a cairo surface with one pixel for each. */
static cairo_surface_t *heat_surface(const float *values, size_t rows, size_t columns)
{
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)columns, (int)rows);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        return surface;
    cairo_surface_flush(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (size_t i = 0; i < rows * columns; i++) {
        uint32_t *row = (uint32_t *)(void *)(data + i / columns * stride);
        row[i % columns] = heat_colour(values[i]);
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

image_frame picture_frame(const svit_image *image, double left, double top, double side)
{
    double height = (double)svit_image_height(image);
    double width = (double)svit_image_width(image);
    double scale = side / fmax(height, width);
    image_frame frame = {left, top, width * scale, height * scale};
    frame.left += (side - frame.width) / 2;
    frame.top += (side - frame.height) / 2;
    return frame;
}

/* The part of a side that `cells` whole patches cover, from its beginning. Cells that are something
 * else, such as merged patches, cover all of it. */
static double covered(const svit_model_config *model, size_t side, size_t cells)
{
    return side / model->patch_size == cells ? (double)(cells * model->patch_size) / (double)side
                                             : 1;
}

/* Returns the part of the image's frame that the model sees: all of it, or the centre that the
 * source step crops, as far as patches read it. */
static image_frame seen_frame(const image_frame *whole, const svit_image *image,
                              const svit_pipeline_config *pipeline, const svit_model_config *model,
                              size_t rows, size_t columns)
{
    double part[2];
    size_t height = 0, width = 0;
    svit_pipeline_evaluation_size(pipeline, &height, &width, NULL);
    image_cut_part(part, svit_image_height(image), svit_image_width(image), pipeline);
    return (image_frame){whole->left + whole->width * (1 - part[1]) / 2,
                         whole->top + whole->height * (1 - part[0]) / 2,
                         whole->width * part[1] * covered(model, width, columns),
                         whole->height * part[0] * covered(model, height, rows)};
}

/* Scales a surface to a frame, draws it and frees it. */
static void draw_surface(cairo_t *canvas, cairo_surface_t *surface, const image_frame *frame,
                         cairo_filter_t filter)
{
    cairo_save(canvas);
    cairo_translate(canvas, frame->left, frame->top);
    cairo_rectangle(canvas, 0, 0, frame->width, frame->height);
    cairo_clip(canvas);
    cairo_scale(canvas, frame->width / cairo_image_surface_get_width(surface),
                frame->height / cairo_image_surface_get_height(surface));
    cairo_set_source_surface(canvas, surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(canvas), filter);
    cairo_pattern_set_extend(cairo_get_source(canvas), CAIRO_EXTEND_PAD);
    cairo_paint(canvas);
    cairo_restore(canvas);
    cairo_surface_destroy(surface);
}

void picture_image(cairo_t *canvas, const svit_image *image, const image_frame *frame)
{
    int small = frame->width >= 2 * (double)svit_image_width(image);
    draw_surface(canvas, image_surface(image), frame,
                 small ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
}

void picture_heat(cairo_t *canvas, const float *values, size_t rows, size_t columns,
                  const svit_image *image, const image_frame *frame,
                  const svit_pipeline_config *pipeline, const svit_model_config *model)
{
    const image_frame seen = seen_frame(frame, image, pipeline, model, rows, columns);
    draw_surface(canvas, heat_surface(values, rows, columns), &seen, CAIRO_FILTER_BILINEAR);
}
