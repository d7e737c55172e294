/* In place of what draws with cairo, in a build that lacks it. */
#include "data/png_bytes.h"
#include "pictures/confusion_picture.h"
#include "pictures/picture_grid.h"
#include "pictures/plot.h"

static svit_status fail(struct program *self, const char *path)
{
    return program_fail(self, SVIT_E_UNSUPPORTED,
                        "cannot draw '%s': this program was built without cairo", path);
}

svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              size_t columns, attention_map *map, const char *path)
{
    (void)cells;
    (void)count;
    (void)columns;
    (void)map;
    return fail(self, path);
}

svit_status confusion_picture_check(struct program *self, size_t classes)
{
    (void)classes;
    return fail(self, "a confusion matrix");
}

svit_status confusion_picture_draw(struct program *self, const uint64_t *matrix,
                                   const class_list *classes, const char *path)
{
    (void)matrix;
    (void)classes;
    return fail(self, path);
}

/* Every training draws its curves. It is no failure that they are missing. */
svit_status plot_draw(struct program *self, const plot_panel *panels, size_t count,
                      const char *path)
{
    static int told;
    (void)panels;
    (void)count;
    if (!told++ && !self->quiet)
        fprintf(stderr, "%s: '%s' is not drawn: this program was built without cairo\n",
                option_program_name, path);
    return SVIT_OK;
}

svit_status canvas_encode(png_bytes *out, struct program *self, const uint8_t *rgb, size_t height,
                          size_t width)
{
    (void)out;
    (void)rgb;
    (void)height;
    (void)width;
    return fail(self, "an image");
}
