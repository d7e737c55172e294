/* What the image processors of transformers do with images, by preprocessor_config.json or
 * processor_config.json. */
#include "models/open/description.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const sv_colours UNCHANGED = {{0, 0, 0}, {1, 1, 1}},
                        HALVES = {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};

/* What an image processor of transformers does where its file says nothing. */
typedef struct processor {
    const char *name, *models; /* the model types whose processor it is */
    const sv_colours *otherwise;
    double size; /* of the resized image: both sides, or, `by_edge`, the shorter one */
    double crop; /* the side of the centre, if one is cut; 0: only crop_size has it */
    bool by_edge;
    bool square; /* a size of one number is both sides, not the shorter one */
    bool bicubic;
    bool crops;  /* whether do_center_crop is true */
    bool floats; /* it resizes floats, which are not clamped; the others resize bytes */
} processor;

static const processor PROCESSORS[] = {
    {"ViT", " vit vit_mae vit_msn ijepa ", &HALVES, 224, .square = true},
    {"DeiT", " deit ", &HALVES, 256, 224, .square = true, .bicubic = true, .crops = true},
    {"Beit", "", &HALVES, 224, 224, .square = true, .bicubic = true},
    {"CLIP", " clip altclip metaclip_2 ", &sv_colours_openai, 224, 224, true, .bicubic = true,
     .crops = true},
    {"ChineseCLIP", " chinese_clip ", &sv_colours_openai, 224, 224, true, .bicubic = true,
     .crops = true},
    {"Bit", " dinov2 dinov2_with_registers ", &sv_colours_openai, 224, 224, true, .bicubic = true,
     .crops = true},
    {"Siglip", " siglip ", &HALVES, 224, .bicubic = true},
    {"DINOv3ViT", " dinov3_vit ", &sv_colours_imagenet, 224, .square = true, .floats = true},
};

/* Whether a class is NAMEImageProcessor, in any of its versions, or NAMEFeatureExtractor. */
static bool is_class(const char *class, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(class, name, length) == 0 &&
           (strncmp(class + length, "ImageProcessor", 14) == 0 ||
            strcmp(class + length, "FeatureExtractor") == 0);
}

/* The class that a file names; NULL: it names none. */
static const char *class_name(const sv_json_value *root)
{
    const char *name = sv_json_text(sv_json_get(root, "image_processor_type"));
    return name ? name : sv_json_text(sv_json_get(root, "feature_extractor_type"));
}

/* The processor that a file names, or that of the model's type; NULL: it is none of the table. */
static const processor *find_processor(const sv_json_value *root, const sv_json_value *config)
{
    const char *class = class_name(root);
    const char *model = sv_json_text(sv_json_get(config, "model_type"));
    char word[32];
    snprintf(word, sizeof word, " %.28s ", model ? model : "");
    for (size_t i = 0; i < sizeof PROCESSORS / sizeof *PROCESSORS; i++)
        if (class ? is_class(class, PROCESSORS[i].name)
                  : strstr(PROCESSORS[i].models, word) != NULL)
            return &PROCESSORS[i];
    return NULL;
}

/* How many members of an object are given. */
static size_t count_given(const sv_json_value *object)
{
    const sv_json_value *member = object + 1;
    size_t count = 0;
    for (size_t i = 0; i < object->count; i++, member = member->after)
        count += member->kind != SV_JSON_NULL;
    return count;
}

/* Sets two sides from a number, a list of two, or an object of height and width. Further members,
 * which change what these two mean, make it neither. */
static bool read_box(const sv_json_value *size, double *height, double *width)
{
    if (sv_json_number(size, height)) {
        *width = *height;
        return true;
    }
    if (sv_json_is(size, SV_JSON_ARRAY))
        return size->count == 2 && sv_json_number(size + 1, height) &&
               sv_json_number(size[1].after, width);
    return sv_json_number(sv_open_given(size, "height"), height) &&
           sv_json_number(sv_open_given(size, "width"), width) && count_given(size) == 2;
}

/* Sets both sides from an object of shortest_edge alone, since longest_edge bounds the other. */
static bool read_edge(const sv_json_value *size, double *height, double *width)
{
    if (!sv_json_number(sv_open_given(size, "shortest_edge"), height) || count_given(size) != 1)
        return false;
    *width = *height;
    return true;
}

/* Whether a number of a file is one of pixels. */
static bool is_side(double pixels)
{
    return pixels >= 1 && pixels <= 8192 && pixels == floor(pixels);
}

/* Sets *flag to true or false, as a member says, which transformers takes for false if it is null.
 * Returns false if it says neither. */
static bool read_flag(sv_description *out, const sv_json_value *root, const char *key, bool *flag)
{
    const sv_json_value *member = sv_json_get(root, key);
    if (!member)
        return true;
    *flag = sv_json_is(member, SV_JSON_TRUE);
    return *flag || sv_json_is(member, SV_JSON_FALSE) || sv_json_is(member, SV_JSON_NULL) ||
           sv_no_pipeline(out, "%s is neither true nor false", key);
}

/* Resampling is 2 (bilinear) or 3 (bicubic) in Pillow's count. */
static bool describe_filter(sv_description *out, const sv_json_value *root, const processor *class)
{
    const sv_json_value *filter = sv_open_given(root, "resample");
    double resample = class && class->bicubic ? 3 : 2;
    if (!class && !filter)
        return sv_no_pipeline(out, "it states neither its image processor nor resample");
    if (filter && !sv_json_number(filter, &resample))
        return sv_no_pipeline(out, "resample is no number; 2, bilinear, and 3, bicubic, are known");
    if (resample != 2 && resample != 3)
        return sv_no_pipeline(out, "resample is neither 2, bilinear, nor 3, bicubic");
    out->bicubic = resample == 3;
    return !(out->bicubic && class && class->floats) ||
           sv_no_pipeline(out,
                          "resample is 3, with which %sImageProcessor makes floats beyond those of "
                          "bytes; 2, bilinear, is known",
                          class->name);
}

static bool describe_size(sv_description *out, const sv_json_value *root, const processor *class)
{
    const sv_json_value *size = sv_json_get(root, "size");
    if (class && !size) {
        out->source_height = out->source_width = class->size;
        out->squash = !class->by_edge;
        return true;
    }
    bool square = class ? class->square : !sv_open_given(root, "crop_size");
    double side;
    if (!read_flag(out, root, "default_to_square", &square))
        return false;
    const bool is_edge = read_edge(size, &out->source_height, &out->source_width);
    if (!is_edge && !read_box(size, &out->source_height, &out->source_width))
        return sv_no_pipeline(
            out, "size has neither shortest_edge nor height and width, and these alone");
    if (!is_side(out->source_height) || !is_side(out->source_width))
        return sv_no_pipeline(out, "size is not of 1 to 8192 whole pixels");
    out->squash = sv_json_number(size, &side) ? square : !is_edge;
    return true;
}

/* The centre that transformers cuts after the resize. A file whose processor is not known cuts
 * where it has a crop_size. */
static bool describe_crop(sv_description *out, const sv_json_value *root, const processor *class)
{
    const sv_json_value *size = sv_open_given(root, "crop_size");
    bool crops = class ? class->crops : size != NULL;
    if (!read_flag(out, root, "do_center_crop", &crops))
        return false;
    if (!crops)
        return true;
    out->floors = true;
    out->crop_height = out->crop_width = class ? class->crop : 0;
    if (size && !read_box(size, &out->crop_height, &out->crop_width))
        return sv_no_pipeline(
            out, "crop_size is neither a number nor height and width, and these alone");
    if (!is_side(out->crop_height) || !is_side(out->crop_width))
        return sv_no_pipeline(out,
                              "the centre is cut, but crop_size is not 1 to 8192 whole pixels");
    return (out->crop_height <= out->source_height && out->crop_width <= out->source_width) ||
           sv_no_pipeline(out, "crop_size is larger than size, so that images get a border");
}

/* Whether no member asks for what no pipeline does. The known classes have no steps of colours. */
static bool check_steps(sv_description *out, const sv_json_value *root, bool of_colours)
{
    static const struct {
        const char *key;
        bool done;       /* what pipelines do, and the processors where nothing is said */
        bool of_colours; /* and not of sizes */
    } steps[] = {{"do_resize", true, false},
                 {"do_pad", false, false},
                 {"do_flip_channel_order", false, true},
                 {"rescale_offset", false, true},
                 {"use_square_size", false, false}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        bool asked = steps[i].done;
        if (steps[i].of_colours != of_colours)
            continue;
        if (!read_flag(out, root, steps[i].key, &asked))
            return false;
        if (asked != steps[i].done)
            return sv_no_pipeline(out, "%s is %s", steps[i].key, asked ? "true" : "false");
    }
    return true;
}

/* The factor of the bytes, and the colours where these are normalised. */
static bool describe_colours(sv_description *out, const sv_json_value *root, const processor *class)
{
    const sv_json_value *factor = sv_open_given(root, "rescale_factor");
    bool rescales = true, normalises = true;
    if (!read_flag(out, root, "do_rescale", &rescales) ||
        !read_flag(out, root, "do_normalize", &normalises))
        return false;
    if (!rescales)
        out->scale = 1;
    else if (factor && !sv_json_number(factor, &out->scale))
        return sv_no_pipeline(out, "rescale_factor is no number");
    out->has_colours = true;
    if (!normalises)
        return true;
    out->mean = sv_open_given(root, "image_mean");
    out->deviation = sv_open_given(root, "image_std");
    if (class)
        out->otherwise = class->otherwise;
    out->has_colours = class || (out->mean && out->deviation);
    return out->has_colours ||
           sv_no_pipeline(out,
                          "it states neither its image processor nor image_mean and image_std");
}

/* Whether models of this type compute images of any size, each with positions of its own grid. */
static bool takes_any_size(const sv_json_value *config)
{
    static const char *const types[] = {"dinov2", "dinov2_with_registers", "dinov3_vit"};
    const char *type = sv_json_text(sv_json_get(config, "model_type"));
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

/* Whether all images of the model have one size. transformers gives whole images to the types that
 * take any size; of those that take one size alone the centre is what is left. */
static bool check_whole(sv_description *out, const sv_json_value *config)
{
    const bool keeps_ratio = !out->squash && out->crop_height == 0;
    return !(keeps_ratio && takes_any_size(config)) ||
           sv_no_pipeline(out, "images keep their ratio and no centre is cut, so that the model "
                               "takes each in another size");
}

/* A processor that is named and not known here may read the same members otherwise. */
static bool describe(sv_description *out, const sv_json_value *root, const sv_json_value *config)
{
    const processor *class = find_processor(root, config);
    if (!sv_json_is(root, SV_JSON_OBJECT))
        return sv_no_pipeline(out, "image_processor is no object");
    if (!class && class_name(root))
        return sv_no_pipeline(out, "the image processor '%.60s' is not known", class_name(root));
    const bool has_colours =
        (class || check_steps(out, root, true)) && describe_colours(out, root, class);
    return check_steps(out, root, false) && describe_filter(out, root, class) &&
           describe_size(out, root, class) && describe_crop(out, root, class) &&
           check_whole(out, config) && has_colours;
}

/* The processor that a file describes; NULL: there is none. processor_config.json has it in a
 * member beside those of a tokenizer and others. */
static const sv_json_value *processor_in(const sv_side_file *side, bool is_nested)
{
    const sv_json_value *root = side->json ? sv_json_root(side->json) : NULL;
    return is_nested ? sv_open_given(root, "image_processor") : root;
}

bool sv_describe_processor(sv_description *out, const sv_open *open, bool of_adapter)
{
    const sv_side_file *outer =
        &open->side[of_adapter ? SV_SIDE_ADAPTER_PROCESSOR : SV_SIDE_PROCESSOR];
    const sv_side_file *own =
        &open->side[of_adapter ? SV_SIDE_ADAPTER_PREPROCESSOR : SV_SIDE_PREPROCESSOR];
    /* transformers 5 takes the nested one where it finds both. */
    const sv_json_value *nested = processor_in(outer, true);
    const sv_json_value *root = nested ? nested : processor_in(own, false);
    *out = (sv_description){
        .file = nested ? outer->name : own->name, .scale = 1.0 / 255, .otherwise = &UNCHANGED};
    if (root)
        (void)describe(out, root, open->config);
    return root != NULL;
}
