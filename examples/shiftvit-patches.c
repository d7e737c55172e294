/* Draws the patches that a ViT sees of an image, and with --spt those of an SL-ViT; or what
 * augmentation makes of images. */
#include "outputs/output_check.h"
#include "pictures/augment_grid.h"
#include "pictures/patch_grid.h"
#include "program/json_line.h"
#include "program/shown.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct patches_options {
    struct program program;
    const char *images[AUGMENT_IMAGES], *out;
    size_t count;        /* of images */
    const char *augment; /* steps as JSON; NULL: patches are drawn */
    size_t size, patch;
    int spt;
} patches_options;

enum {
    KEY_IMAGE = 'i',
    KEY_OUT = 'o',
    KEY_SIZE = 'z',
    KEY_PATCH = 'p',
    KEY_SPT = 0x300,
    KEY_AUGMENT
};

static const struct option_line option_list[] = {
    {"image", KEY_IMAGE, "FILE", 0,
     "The image, JPEG, PNG or WebP (needed); with --augment up to 8 times"},
    {"size", KEY_SIZE, "N", 0, "Resize it to N x N pixels, 2 to 1024 (default 72)"},
    {"patch", KEY_PATCH, "N", 0, "Cut it into patches of N x N pixels, 1 to 256 (default 6)"},
    {"spt", KEY_SPT, NULL, 0, "Cut the four shifted copies as well"},
    {"augment", KEY_AUGMENT, "STEPS", 0,
     "Draw each image and 8 augmented versions of it in place of patches. STEPS is a list as the "
     "setting augment has it, for example '[{\"name\": \"crop\"}, {\"name\": "
     "\"randaugment\", \"m\": 12}]'"},
    {"out", KEY_OUT, "FILE.png", 0, "Draw to this file (needed)"},
    {NULL, 0, NULL, 0, NULL},
};

static const struct option_rule rules[] = {
    {"patch", {NULL}, "augment"},
    {"spt", {NULL}, "augment"},
    {NULL, {NULL}, NULL},
};

static void check_options(const patches_options *self, const struct option_state *state)
{
    if (self->count == 0)
        option_error(state, "--image FILE is needed");
    if (!self->out)
        option_error(state, "--out FILE.png is needed");
    if (self->count > 1 && !self->augment)
        option_error(state, "--image: one is drawn; several need --augment");
    option_check_rules(state, rules);
    if (!self->augment && self->size % self->patch != 0)
        option_error(state, "--patch: %zu does not divide --size, %zu", self->patch, self->size);
}

static int parse_option(int key, char *text, struct option_state *state)
{
    patches_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->program;
        return 0;
    case KEY_IMAGE:
        if (self->count == AUGMENT_IMAGES)
            option_error(state, "--image: at most %d are drawn", AUGMENT_IMAGES);
        self->images[self->count++] = text;
        return 0;
    case KEY_AUGMENT:
        self->augment = text;
        return 0;
    case KEY_OUT:
        self->out = option_png(state, "--out", text);
        return 0;
    case KEY_SIZE:
        self->size = option_unsigned(state, "--size", text, 2, 1024);
        return 0;
    case KEY_PATCH:
        self->patch = option_unsigned(state, "--patch", text, 1, 256);
        return 0;
    case KEY_SPT:
        self->spt = 1;
        return 0;
    case OPTION_END:
        check_options(self, state);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {{&program_table, "Common options:"}, {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    NULL,
    "Draws the patches that an image is cut into, or what augmentation makes of images."
    "\vWithout --spt these are the patches of ViT. With it there are five grids, as SL-ViT sees "
    "them: the image, and its copies shifted diagonally by half a patch.",
    children,
    NULL};

/* Converts the image to floats in `whole` and resizes it to size x size in `resized`. */
static svit_status resize(patches_options *self, const svit_image *image, float *whole,
                          float *resized)
{
    size_t height = svit_image_height(image);
    size_t width = svit_image_width(image);
    const uint8_t *rgb = svit_image_pixels(image);
    for (size_t i = 0; i < height * width * 3; i++)
        whole[i] = rgb[i];
    return svit_resize_bilinear_f32(whole, height, width, 3, resized, self->size, self->size,
                                    &self->program.err);
}

static void report(const patches_options *self, const patch_set *set)
{
    size_t patches = set->side * set->side;
    size_t values = set->patch * set->patch * set->copies * 3;
    if (!self->program.json) {
        char shown[SHOWN_CAPACITY];
        printf("%zu patches of %zu values: %s\n", patches, values, shown_text(shown, self->out));
        return;
    }
    json_t *object = json_pack("{s:o, s:I, s:I}", "out", json_line_text(self->out), "patches",
                               (json_int_t)patches, "values", (json_int_t)values);
    json_line_print(object, JSON_LINE_DIGITS);
}

static svit_status cut_and_draw(patches_options *self, const svit_image *image, float *whole,
                                float *resized, float *patches)
{
    TRY(resize(self, image, whole, resized));
    TRY(svit_patches_f32(resized, self->size, self->size, 3, self->patch, self->spt, SVIT_SPT_KERAS,
                         patches, &self->program.err));
    patch_set set = {patches, self->size / self->patch, self->patch, self->spt ? PATCH_COPIES : 1};
    TRY(patch_grid_draw(&self->program, &set, self->out));
    report(self, &set);
    return SVIT_OK;
}

static svit_status check_out(patches_options *self)
{
    for (size_t i = 0; i < self->count; i++)
        TRY(output_check(&self->program, "--out", self->out, "--image", self->images[i]));
    return output_check_picture(&self->program, "--out", self->out);
}

/* Draws the versions of the images. */
static svit_status show_augmented(patches_options *self)
{
    size_t sides[2];
    TRY(check_out(self));
    TRY(program_open(&self->program));
    TRY(augment_grid_draw(&self->program, self->images, self->count, self->size, self->augment,
                          self->out, sides));
    if (!self->program.json) {
        char shown[SHOWN_CAPACITY];
        printf("%zu images in %d versions each: %s\n", self->count, AUGMENT_VERSIONS,
               shown_text(shown, self->out));
        return SVIT_OK;
    }
    json_t *object = json_pack("{s:o, s:I, s:I, s:I}", "out", json_line_text(self->out), "images",
                               (json_int_t)self->count, "height", (json_int_t)sides[0], "width",
                               (json_int_t)sides[1]);
    json_line_print(object, JSON_LINE_DIGITS);
    return SVIT_OK;
}

static svit_status show(patches_options *self, svit_image **image)
{
    struct program *program = &self->program;
    TRY(check_out(self));
    TRY(program_open(program));
    TRY(svit_image_read(image, program->context, self->images[0], 3, &program->err));
    size_t pixels = self->size * self->size;
    float *whole = calloc(svit_image_height(*image) * svit_image_width(*image), 3 * sizeof *whole);
    float *resized = calloc(pixels, 3 * sizeof *resized);
    float *patches = calloc(pixels, 3 * PATCH_COPIES * sizeof *patches);
    svit_status status = whole && resized && patches
                             ? cut_and_draw(self, *image, whole, resized, patches)
                             : program_fail(program, SVIT_E_MEMORY, "no memory for the patches");
    free(patches);
    free(resized);
    free(whole);
    return status;
}

int main(int argc, char **argv)
{
    patches_options options = {.program = PROGRAM_INIT, .size = 72, .patch = 6};
    svit_image *image = NULL;
    program_parse(&parser, argc, argv, &options);
    svit_status status = options.augment ? show_augmented(&options) : show(&options, &image);
    svit_image_free(image);
    return program_exit(&options.program, status);
}
