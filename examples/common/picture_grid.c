/* Draws up to nine images in a grid with their predicted classes, and attention maps beside
 * them. */
#include "picture_grid.h"

#include "canvas.h"

#include <math.h>

enum { SIDE = 220, GAP = 20, TITLE = 36, COLUMNS = 3, PAIR_GAP = 6 };

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

/* Returns the attention map as a cairo surface with one pixel for each patch. */
static cairo_surface_t *heat_surface(const attention_map *map)
{
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)map->columns, (int)map->rows);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        return surface;
    cairo_surface_flush(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (size_t i = 0; i < map->rows * map->columns; i++) {
        uint32_t *row = (uint32_t *)(void *)(data + i / map->columns * stride);
        row[i % map->columns] = heat_colour(map->values[i]);
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

/* The rectangle of an image on the canvas. */
typedef struct image_frame {
    double left, top, width, height;
} image_frame;

/* Returns the largest rectangle for the image that fits the square cell. */
static image_frame frame_of(const svit_image *image, double left, double top)
{
    double height = (double)svit_image_height(image);
    double width = (double)svit_image_width(image);
    double scale = SIDE / fmax(height, width);
    image_frame frame = {left, top, width * scale, height * scale};
    frame.left += (SIDE - frame.width) / 2;
    frame.top += (SIDE - frame.height) / 2;
    return frame;
}

/* Returns the part of the image's frame that the model sees: all of it, or the centre that the
 * source step crops. */
static image_frame seen_frame(const image_frame *whole, const svit_image *image,
                              const svit_pipeline_config *pipeline)
{
    if (pipeline->source_filter == SVIT_SOURCE_NEAREST)
        return *whole;
    double height = (double)svit_image_height(image);
    double width = (double)svit_image_width(image);
    double scale = fmax(pipeline->source_height / height, pipeline->source_width / width);
    double down = pipeline->source_height / (scale * height);
    double across = pipeline->source_width / (scale * width);
    return (image_frame){whole->left + whole->width * (1 - across) / 2,
                         whole->top + whole->height * (1 - down) / 2, whole->width * across,
                         whole->height * down};
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

/* Draws the whole image. The pixels of a small one are sharp squares. */
static void draw_image(cairo_t *canvas, const svit_image *image, const image_frame *frame)
{
    int small = frame->width >= 2 * (double)svit_image_width(image);
    draw_surface(canvas, image_surface(image), frame,
                 small ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
}

/* Draws the image under its attention map. */
static svit_status draw_attention(struct program *self, cairo_t *canvas, attention_map *map,
                                  const svit_image *image, const char *path, double left,
                                  double top)
{
    image_frame frame = frame_of(image, left, top);
    TRY(attention_map_run(map, self, path));
    draw_image(canvas, image, &frame);
    frame = seen_frame(&frame, image, &map->pipeline);
    draw_surface(canvas, heat_surface(map), &frame, CAIRO_FILTER_BILINEAR);
    return SVIT_OK;
}

static double cell_width(const attention_map *map)
{
    return map ? 2 * SIDE + PAIR_GAP : SIDE;
}

static svit_status draw_cell(struct program *self, cairo_t *canvas, const grid_cell *cell,
                             attention_map *map, double left, double top)
{
    svit_image *image = NULL;
    svit_status status = SVIT_OK;
    double width = cell_width(map);
    TRY(svit_image_read(&image, self->context, cell->path, 3, &self->err));
    image_frame frame = frame_of(image, left, top + TITLE);
    canvas_text_within(canvas, cell->title, left + width / 2, top + TITLE - 12, 18, CANVAS_CENTRE,
                       width);
    draw_image(canvas, image, &frame);
    if (map)
        status = draw_attention(self, canvas, map, image, cell->path, left + SIDE + PAIR_GAP,
                                top + TITLE);
    svit_image_free(image);
    return status;
}

svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              attention_map *map, const char *path)
{
    size_t columns = count < COLUMNS ? count : COLUMNS;
    size_t rows = (count + COLUMNS - 1) / COLUMNS;
    int step = (int)cell_width(map) + GAP;
    cairo_t *canvas =
        canvas_create(GAP + (int)columns * step, GAP / 2 + (int)rows * (SIDE + TITLE + GAP / 2));
    for (size_t i = 0; i < count; i++) {
        double left = GAP + (double)(i % COLUMNS) * step;
        double top = GAP / 4.0 + (double)(i / COLUMNS) * (SIDE + TITLE + GAP / 2.0);
        svit_status status = draw_cell(self, canvas, &cells[i], map, left, top);
        if (status != SVIT_OK) {
            cairo_destroy(canvas);
            return status;
        }
    }
    return canvas_write(self, canvas, path);
}
