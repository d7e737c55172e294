/* The pipeline of a checkpoint: what preprocessor_config.json of transformers, pretrained_cfg of
 * timm or preprocess_cfg of OpenCLIP say of resizing, cropping and colours. */
#include "data/augmentation/pipeline_config.h"
#include "models/open/open_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { COLOURS = 3 };

/* Mean and deviation of the three colours. */
typedef struct colours {
    double mean[COLOURS], deviation[COLOURS];
} colours;

static const colours UNCHANGED = {{0, 0, 0}, {1, 1, 1}},
                     HALVES = {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
                     IMAGENET = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
                     OPENAI = {{0.48145466, 0.4578275, 0.40821073},
                               {0.26862954, 0.26130258, 0.27577711}};

/* What a description says. */
typedef struct description {
    const char *file;
    double source_height, source_width; /* after the resize */
    double crop_height, crop_width;     /* of the centre that is cut; 0: what the model takes */
    bool squash, bicubic;
    double scale;
    const sv_json_value *mean, *deviation; /* NULL: those of `otherwise` */
    const colours *otherwise;
    bool has_colours; /* scale, mean and deviation are known, also where the sizes are not */
    char why[160];    /* that there is no pipeline: "resample is not 2 or 3"; "": there is one */
} description;

/* What an image processor of transformers does where its file says nothing. `square`: a size of one
 * number is both sides, not the shorter one. `crop`: the side of the centre that it cuts; 0: it
 * cuts none, whatever crop_size says. `models`: the model types whose processor it is. */
typedef struct processor {
    const char *name, *models;
    bool square, bicubic;
    double crop;
    const colours *otherwise;
} processor;

static const processor PROCESSORS[] = {
    {"ViT", " vit vit_mae vit_msn ijepa ", true, false, 0, &HALVES},
    {"DeiT", " deit ", true, true, 224, &HALVES},
    {"Beit", " beit ", true, true, 0, &HALVES},
    {"CLIP", " clip ", false, true, 224, &OPENAI},
    {"Bit", " dinov2 dinov2_with_registers ", false, true, 224, &OPENAI},
    {"Siglip", " siglip ", false, true, 0, &HALVES},
    {"DINOv3ViT", " dinov3_vit ", true, false, 0, &IMAGENET},
};

/* Whether a class is NAMEImageProcessor, in any of its versions, or NAMEFeatureExtractor. */
static bool is_class(const char *class, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(class, name, length) == 0 &&
           (strncmp(class + length, "ImageProcessor", 14) == 0 ||
            strcmp(class + length, "FeatureExtractor") == 0);
}

/* The processor that a file names, or that of the model's type; NULL: it is none of the table. */
static const processor *find_processor(const sv_json_value *root, const sv_json_value *config)
{
    const char *class = sv_json_text(sv_json_get(root, "image_processor_type"));
    const char *model = sv_json_text(sv_json_get(config, "model_type"));
    char word[32];
    if (!class)
        class = sv_json_text(sv_json_get(root, "feature_extractor_type"));
    snprintf(word, sizeof word, " %.28s ", model ? model : "");
    for (size_t i = 0; i < sizeof PROCESSORS / sizeof *PROCESSORS; i++)
        if (class ? is_class(class, PROCESSORS[i].name)
                  : strstr(PROCESSORS[i].models, word) != NULL)
            return &PROCESSORS[i];
    return NULL;
}

/* A member of an object; NULL if it is not there, or null, which the tools take for the same. */
static const sv_json_value *given(const sv_json_value *object, const char *key)
{
    const sv_json_value *member = sv_json_get(object, key);
    return sv_json_is(member, SV_JSON_NULL) ? NULL : member;
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

/* Sets two sides from a number, or from an object of height and width. Further members, which
 * change what these two mean, make it neither. */
static bool read_box(const sv_json_value *size, double *height, double *width)
{
    if (sv_json_number(size, height)) {
        *width = *height;
        return true;
    }
    return sv_json_number(given(size, "height"), height) &&
           sv_json_number(given(size, "width"), width) && count_given(size) == 2;
}

/* Sets both sides from an object of shortest_edge alone, since longest_edge bounds the other. */
static bool read_edge(const sv_json_value *size, double *height, double *width)
{
    if (!sv_json_number(given(size, "shortest_edge"), height) || count_given(size) != 1)
        return false;
    *width = *height;
    return true;
}

/* Whether a number of a file is one of pixels. */
static bool is_side(double pixels)
{
    return pixels >= 1 && pixels <= 8192 && pixels == floor(pixels);
}

/* Says why a description makes no pipeline. Returns false. */
static bool refuse(description *out, const char *format, ...) SV_PRINTF(2, 3);

static bool refuse(description *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->why, sizeof out->why, format, arguments);
    va_end(arguments);
    return false;
}

/* Reads a number, or the first of a list of them. Returns how many there are, and adds them to
 * *sum; 0: it is neither. */
static size_t read_numbers(double out[SVIT_MAX_CHANNELS], double *sum, const sv_json_value *value)
{
    const bool is_list = value->kind == SV_JSON_ARRAY;
    const sv_json_value *element = is_list ? value + 1 : value;
    const size_t count = is_list ? value->count : 1;
    for (size_t i = 0; i < count; i++, element = element->after) {
        double number;
        if (!sv_json_number(element, &number))
            return 0;
        *sum += number;
        if (i < SVIT_MAX_CHANNELS)
            out[i] = number;
    }
    return count;
}

/* Sets *flag to true or false, as a member says. Returns false if it says neither. */
static bool read_flag(description *out, const sv_json_value *root, const char *key, bool *flag)
{
    const sv_json_value *member = given(root, key);
    if (!member)
        return true;
    *flag = sv_json_is(member, SV_JSON_TRUE);
    return *flag || sv_json_is(member, SV_JSON_FALSE) ||
           refuse(out, "%s is neither true nor false", key);
}

/* Sets *word to a member that is a text. Returns false if it is something else. */
static bool read_word(description *out, const sv_json_value *root, const char *key,
                      const char **word)
{
    const sv_json_value *member = given(root, key);
    if (!member)
        return true;
    *word = sv_json_text(member);
    return *word || refuse(out, "%s is no text", key);
}

/* out[channels] = the numbers that are stated, or `otherwise`. One number is that of all channels;
 * of those of three colours, other channels have the mean, as in timm, and so has the one number of
 * many channels. */
static bool read_channels(description *from, double out[SVIT_MAX_CHANNELS],
                          const sv_json_value *stated, uint32_t channels,
                          const double otherwise[COLOURS])
{
    double number[SVIT_MAX_CHANNELS], sum = 0;
    for (size_t i = 0; !stated && i < COLOURS; i++) {
        number[i] = otherwise[i];
        sum += number[i];
    }
    const size_t count = stated ? read_numbers(number, &sum, stated) : COLOURS;
    if (count == 0 || (count != 1 && count != COLOURS && count != channels))
        return refuse(from, "mean or deviation is neither a number nor a list of one for each "
                            "channel");
    const uint32_t means = sv_pipeline_means(channels);
    for (uint32_t c = 0; c < means; c++)
        out[c] = count == means ? number[c] : sum / (double)count;
    return true;
}

/* The resize of transformers: resampling is 2 (bilinear) or 3 (bicubic) in Pillow's count. */
static bool describe_resize(description *out, const sv_json_value *root, const processor *class)
{
    const sv_json_value *filter = given(root, "resample"), *size = given(root, "size");
    double resample = class ? (class->bicubic ? 3 : 2) : 0;
    if (filter && !sv_json_number(filter, &resample))
        return refuse(out, "resample is no number; 2, bilinear, and 3, bicubic, are known");
    if (resample != 2 && resample != 3)
        return refuse(out, "resample is neither 2, bilinear, nor 3, bicubic");
    bool square = class ? class->square : !given(root, "crop_size");
    if (!read_flag(out, root, "default_to_square", &square))
        return false;
    const bool is_edge = read_edge(size, &out->source_height, &out->source_width);
    if (!is_edge && !read_box(size, &out->source_height, &out->source_width))
        return refuse(out, "size has neither shortest_edge nor height and width, and these alone");
    if (!is_side(out->source_height) || !is_side(out->source_width))
        return refuse(out, "size is not of 1 to 8192 whole pixels");
    out->bicubic = resample == 3;
    out->squash = sv_json_is(size, SV_JSON_OBJECT) ? !is_edge : square;
    return true;
}

/* The centre that transformers cuts after the resize. A file whose processor is not known cuts
 * where it has a crop_size. */
static bool describe_crop(description *out, const sv_json_value *root, const processor *class)
{
    const sv_json_value *size = given(root, "crop_size");
    bool crops = class ? class->crop > 0 : size != NULL;
    if (!read_flag(out, root, "do_center_crop", &crops))
        return false;
    if (!crops)
        return true;
    out->crop_height = out->crop_width = class ? class->crop : 0;
    if (size && !read_box(size, &out->crop_height, &out->crop_width))
        return refuse(out, "crop_size is neither a number nor height and width, and these alone");
    if (!is_side(out->crop_height) || !is_side(out->crop_width))
        return refuse(out, "the centre is cut, but crop_size is not 1 to 8192 whole pixels");
    return (out->crop_height <= out->source_height && out->crop_width <= out->source_width) ||
           refuse(out, "crop_size is larger than size, so that images get a border");
}

/* Whether no member asks for what no pipeline does. */
static bool check_steps(description *out, const sv_json_value *root, bool of_colours)
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
            return refuse(out, "%s is %s", steps[i].key, asked ? "true" : "false");
    }
    return true;
}

/* The factor of the bytes, and the colours where these are normalised. */
static bool describe_colours(description *out, const sv_json_value *root, const processor *class)
{
    const sv_json_value *factor = given(root, "rescale_factor");
    bool rescales = true, normalises = true;
    if (!read_flag(out, root, "do_rescale", &rescales) ||
        !read_flag(out, root, "do_normalize", &normalises))
        return false;
    if (!rescales)
        out->scale = 1;
    else if (factor && !sv_json_number(factor, &out->scale))
        return refuse(out, "rescale_factor is no number");
    out->has_colours = true;
    if (!normalises)
        return true;
    out->mean = given(root, "image_mean");
    out->deviation = given(root, "image_std");
    if (class)
        out->otherwise = class->otherwise;
    out->has_colours = class || (out->mean && out->deviation);
    return out->has_colours ||
           refuse(out, "it states neither its image processor nor image_mean and image_std");
}

/* transformers. A processor that is named and not known here may read the same members
 * otherwise. */
static bool describe_huggingface(description *out, const sv_json_value *root,
                                 const sv_json_value *config)
{
    const processor *class = find_processor(root, config);
    *out = (description){
        .file = "preprocessor_config.json", .scale = 1.0 / 255, .otherwise = &UNCHANGED};
    if (!sv_json_is(root, SV_JSON_OBJECT))
        return refuse(out, "image_processor is no object");
    if (!class &&
        (sv_json_get(root, "image_processor_type") || sv_json_get(root, "feature_extractor_type")))
        return refuse(out, "the image processor that it names is not known");
    const bool has_colours = check_steps(out, root, true) && describe_colours(out, root, class);
    return check_steps(out, root, false) && describe_resize(out, root, class) &&
           describe_crop(out, root, class) && has_colours;
}

/* timm: the image is resized to the input's size divided by crop_pct. */
static bool describe_timm(description *out, const sv_json_value *root,
                          const svit_model_config *model)
{
    const char *mode = "center", *interpolation = "bicubic";
    const sv_json_value *crop = given(root, "crop_pct");
    double part = 0.875;
    *out = (description){.file = "config.json: pretrained_cfg",
                         .scale = 1.0 / 255,
                         .mean = given(root, "mean"),
                         .deviation = given(root, "std"),
                         .otherwise = &IMAGENET};
    if (!sv_json_is(root, SV_JSON_OBJECT))
        return refuse(out, "it is no object");
    out->has_colours = true;
    if (!read_word(out, root, "crop_mode", &mode) ||
        !read_word(out, root, "interpolation", &interpolation))
        return false;
    if (crop && !sv_json_number(crop, &part))
        return refuse(out, "crop_pct is no number");
    if (!(part > 0 && part <= 1))
        return refuse(out, "crop_pct is not above 0 and at most 1");
    if (strcmp(mode, "border") == 0)
        return refuse(out, "crop_mode is 'border'");
    out->bicubic = strcmp(interpolation, "bicubic") == 0;
    out->squash = strcmp(mode, "squash") == 0;
    out->source_height = floor(model->input_height / part);
    out->source_width = floor(model->input_width / part);
    return out->bicubic || strcmp(interpolation, "bilinear") == 0 ||
           refuse(out, "interpolation is neither 'bicubic' nor 'bilinear'");
}

/* Whether timm and OpenCLIP take their ResizeKeepRatio: for what is no square. */
static bool keeps_ratio(const description *from)
{
    return !from->squash && from->source_height != from->source_width;
}

static bool describe_openclip(description *out, const sv_json_value *root,
                              const svit_model_config *model)
{
    const char *mode = "shortest", *interpolation = "bicubic", *colours_of = "RGB";
    *out = (description){.file = "open_clip_config.json: preprocess_cfg",
                         .scale = 1.0 / 255,
                         .source_height = model->input_height,
                         .source_width = model->input_width,
                         .mean = given(root, "mean"),
                         .deviation = given(root, "std"),
                         .otherwise = &OPENAI};
    if (!sv_json_is(root, SV_JSON_OBJECT))
        return refuse(out, "it is no object");
    out->has_colours = read_word(out, root, "mode", &colours_of) &&
                       (strcmp(colours_of, "RGB") == 0 || refuse(out, "mode is not 'RGB'"));
    if (!out->has_colours)
        return false;
    if (!read_word(out, root, "resize_mode", &mode) ||
        !read_word(out, root, "interpolation", &interpolation))
        return false;
    out->bicubic = strcmp(interpolation, "bilinear") != 0;
    out->squash = strcmp(mode, "squash") == 0;
    /* "random" is bicubic where nothing is trained. */
    if (out->bicubic && strcmp(interpolation, "bicubic") != 0 &&
        strcmp(interpolation, "random") != 0)
        return refuse(out, "interpolation is neither 'bicubic' nor 'bilinear'");
    if (!out->squash && strcmp(mode, "shortest") != 0)
        return refuse(out, "resize_mode is neither 'shortest' nor 'squash'");
    /* Its ResizeKeepRatio is always bicubic. */
    out->bicubic = out->bicubic || keeps_ratio(out);
    return true;
}

/* Whether the model's input can be cut from the resized images. */
static bool fits_input(description *from, const svit_model_config *model)
{
    return (from->source_height >= model->input_height && from->source_height <= 8192 &&
            from->source_width >= model->input_width && from->source_width <= 8192) ||
           refuse(from, "images are resized to %g x %g pixels, but the model's input is %u x %u",
                  from->source_height, from->source_width, model->input_height, model->input_width);
}

/* Whether the pipeline is one that this library has. */
static bool check_pipeline(const sv_open *open, description *from)
{
    svit_pipeline_config checked;
    svit_error why = {.struct_size = sizeof why};
    return sv_config_read(&sv_pipeline_config_type, &checked, &open->pipeline, &why) == SVIT_OK ||
           refuse(from, "%s", why.message);
}

/* Takes the colours, beside the sizes that a pipeline has by default. */
static void take_colours(sv_open *open, description *from, const svit_model_config *model)
{
    svit_pipeline_config *pipeline = &open->pipeline;
    double deviation[SVIT_MAX_CHANNELS];
    sv_config_defaults(&sv_pipeline_config_type, pipeline);
    pipeline->struct_size = sizeof *pipeline;
    pipeline->channels = model->in_channels;
    pipeline->scale = from->scale;
    if (!read_channels(from, pipeline->mean, from->mean, model->in_channels,
                       from->otherwise->mean) ||
        !read_channels(from, deviation, from->deviation, model->in_channels,
                       from->otherwise->deviation))
        return;
    /* A negative deviation keeps its sign, so that it is refused. */
    for (uint32_t c = 0; c < sv_pipeline_means(model->in_channels); c++)
        pipeline->variance[c] = deviation[c] * fabs(deviation[c]);
    open->has_colours = check_pipeline(open, from);
}

static int32_t filter_of(const description *from)
{
    if (from->squash)
        return from->bicubic ? SVIT_SOURCE_SQUASH_BICUBIC : SVIT_SOURCE_SQUASH;
    if (keeps_ratio(from))
        return from->bicubic ? SVIT_SOURCE_KEEP_RATIO_BICUBIC : SVIT_SOURCE_KEEP_RATIO;
    return from->bicubic ? SVIT_SOURCE_BICUBIC : SVIT_SOURCE_SHORTER_SIDE;
}

/* Sets the sizes: the resize, and the centre of the model's input size. */
static void take_sizes(sv_open *open, description *from, const svit_model_config *model)
{
    svit_pipeline_config *pipeline = &open->pipeline;
    pipeline->source_height = pipeline->resize_height = (uint32_t)from->source_height;
    pipeline->source_width = pipeline->resize_width = (uint32_t)from->source_width;
    pipeline->output_height = model->input_height;
    pipeline->output_width = model->input_width;
    pipeline->evaluation = SVIT_EVALUATE_CROP;
    pipeline->source_filter = filter_of(from);
    open->has_pipeline = check_pipeline(open, from);
}

/* The object of a file beside the weights, NULL if it is not there. */
static const sv_json_value *root_of(const sv_open *open, size_t which)
{
    const sv_json *json = open->side[which].json;
    return json ? sv_json_root(json) : NULL;
}

/* The description of transformers; NULL: there is none. */
static const sv_json_value *huggingface_of(const sv_open *open)
{
    const sv_json_value *own = root_of(open, SV_SIDE_PREPROCESSOR);
    return own ? own : given(root_of(open, SV_SIDE_PROCESSOR), "image_processor");
}

void sv_open_take_crop(sv_open *open)
{
    static const char why[] = ", cropped by the preprocessor";
    const sv_json_value *root = huggingface_of(open);
    description from;
    if (!root || !describe_huggingface(&from, root, root_of(open, SV_SIDE_CONFIG)))
        return;
    if (from.crop_height == 0 && !from.squash)
        return;
    const double height = from.crop_height > 0 ? from.crop_height : from.source_height;
    const double width = from.crop_width > 0 ? from.crop_width : from.source_width;
    if (sv_facts_value(&open->facts, "input_height", height) != height ||
        sv_facts_value(&open->facts, "input_width", width) != width) {
        sv_facts_correct(&open->facts, "input_height", height, why);
        sv_facts_correct(&open->facts, "input_width", width, why);
    }
}

const sv_json_value *sv_open_timm_pretrained(const sv_json_value *root)
{
    const sv_json_value *apart = given(root, "pretrained_cfg");
    const bool is_among = sv_json_get(root, "architecture") && sv_json_get(root, "input_size");
    return apart ? apart : is_among ? root : NULL;
}

void sv_open_preprocessing(sv_open *open, const svit_model_config *model)
{
    const sv_json_value *config = root_of(open, SV_SIDE_CONFIG);
    const sv_json_value *timm = sv_open_timm_pretrained(config);
    const sv_json_value *preprocess = given(root_of(open, SV_SIDE_OPENCLIP), "preprocess_cfg");
    const sv_json_value *preprocessor = huggingface_of(open);
    description from = {.why = ""};
    if (preprocess)
        describe_openclip(&from, preprocess, model);
    else if (timm)
        describe_timm(&from, timm, model);
    else if (preprocessor)
        describe_huggingface(&from, preprocessor, config);
    else
        return;
    if (from.has_colours)
        take_colours(open, &from, model);
    if (!from.why[0] && fits_input(&from, model))
        take_sizes(open, &from, model);
    if (from.why[0])
        sv_context_warn(open->context, "%s: %s: the model has no preprocessing%s", from.file,
                        from.why,
                        open->has_colours ? " but its mean and deviation, for fine-tuning" : "");
}
