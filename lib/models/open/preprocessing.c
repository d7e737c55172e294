/* The pipeline of a checkpoint: what an image processor of transformers, pretrained_cfg of timm or
 * preprocess_cfg of OpenCLIP say of resizing, cropping and colours. */
#include "data/augmentation/pipeline_config.h"
#include "models/open/description.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const sv_colours sv_colours_imagenet = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
const sv_colours sv_colours_openai = {{0.48145466, 0.4578275, 0.40821073},
                                      {0.26862954, 0.26130258, 0.27577711}};

const sv_json_value *sv_open_given(const sv_json_value *object, const char *key)
{
    const sv_json_value *member = sv_json_get(object, key);
    return sv_json_is(member, SV_JSON_NULL) ? NULL : member;
}

bool sv_no_pipeline(sv_description *out, const char *format, ...)
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

/* Sets *word to a member that is a text. Returns false if it is something else. */
static bool read_word(sv_description *out, const sv_json_value *root, const char *key,
                      const char **word)
{
    const sv_json_value *member = sv_open_given(root, key);
    if (!member)
        return true;
    *word = sv_json_text(member);
    return *word || sv_no_pipeline(out, "%s is no text", key);
}

/* out[channels] = the numbers that are stated, or `otherwise`. One number is that of all channels;
 * of those of three colours, other channels have the mean, as in timm, and so has the one number of
 * many channels. */
static bool read_channels(sv_description *from, double out[SVIT_MAX_CHANNELS],
                          const sv_json_value *stated, uint32_t channels,
                          const double otherwise[SV_COLOURS])
{
    double number[SVIT_MAX_CHANNELS], sum = 0;
    for (size_t i = 0; !stated && i < SV_COLOURS; i++) {
        number[i] = otherwise[i];
        sum += number[i];
    }
    const size_t count = stated ? read_numbers(number, &sum, stated) : SV_COLOURS;
    if (count == 0 || (count != 1 && count != SV_COLOURS && count != channels))
        return sv_no_pipeline(from,
                              "mean or deviation is neither a number nor a list of one for each "
                              "channel");
    const uint32_t means = sv_pipeline_means(channels);
    for (uint32_t c = 0; c < means; c++)
        out[c] = count == means ? number[c] : sum / (double)count;
    return true;
}

/* timm: the image is resized to the input's size divided by crop_pct. */
static bool describe_timm(sv_description *out, const sv_json_value *root,
                          const svit_model_config *model)
{
    const char *mode = "center", *interpolation = "bicubic";
    const sv_json_value *crop = sv_open_given(root, "crop_pct");
    double part = 0.875;
    *out = (sv_description){.file = "config.json: pretrained_cfg",
                            .scale = 1.0 / 255,
                            .mean = sv_open_given(root, "mean"),
                            .deviation = sv_open_given(root, "std"),
                            .otherwise = &sv_colours_imagenet};
    if (!sv_json_is(root, SV_JSON_OBJECT))
        return sv_no_pipeline(out, "it is no object");
    out->has_colours = true;
    if (!read_word(out, root, "crop_mode", &mode) ||
        !read_word(out, root, "interpolation", &interpolation))
        return false;
    if (crop && !sv_json_number(crop, &part))
        return sv_no_pipeline(out, "crop_pct is no number");
    if (!(part > 0 && part <= 1))
        return sv_no_pipeline(out, "crop_pct is not above 0 and at most 1");
    if (strcmp(mode, "border") == 0)
        return sv_no_pipeline(out, "crop_mode is 'border'");
    out->bicubic = strcmp(interpolation, "bicubic") == 0;
    out->squash = strcmp(mode, "squash") == 0;
    out->source_height = floor(model->input_height / part);
    out->source_width = floor(model->input_width / part);
    return out->bicubic || strcmp(interpolation, "bilinear") == 0 ||
           sv_no_pipeline(out, "interpolation is neither 'bicubic' nor 'bilinear'");
}

/* Whether timm and OpenCLIP take their ResizeKeepRatio: for what is no square. */
static bool keeps_ratio(const sv_description *from)
{
    return !from->squash && from->source_height != from->source_width;
}

/* `root` is NULL where the file has no preprocess_cfg: OpenCLIP has its defaults then. */
static bool describe_openclip(sv_description *out, const sv_json_value *root,
                              const svit_model_config *model)
{
    const char *mode = "shortest", *interpolation = "bicubic", *colours_of = "RGB";
    *out = (sv_description){.file = "open_clip_config.json: preprocess_cfg",
                            .scale = 1.0 / 255,
                            .source_height = model->input_height,
                            .source_width = model->input_width,
                            .mean = sv_open_given(root, "mean"),
                            .deviation = sv_open_given(root, "std"),
                            .otherwise = &sv_colours_openai};
    if (root && !sv_json_is(root, SV_JSON_OBJECT))
        return sv_no_pipeline(out, "it is no object");
    out->has_colours = read_word(out, root, "mode", &colours_of) &&
                       (strcmp(colours_of, "RGB") == 0 || sv_no_pipeline(out, "mode is not 'RGB'"));
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
        return sv_no_pipeline(out, "interpolation is neither 'bicubic' nor 'bilinear'");
    if (!out->squash && strcmp(mode, "shortest") != 0)
        return sv_no_pipeline(out, "resize_mode is neither 'shortest' nor 'squash'");
    /* Its ResizeKeepRatio is always bicubic. */
    out->bicubic = out->bicubic || keeps_ratio(out);
    return true;
}

/* Whether the model's input can be cut from the resized images. */
static bool fits_input(sv_description *from, const svit_model_config *model)
{
    return (from->source_height >= model->input_height && from->source_height <= 8192 &&
            from->source_width >= model->input_width && from->source_width <= 8192) ||
           sv_no_pipeline(
               from, "images are resized to %g x %g pixels, but the model's input is %u x %u",
               from->source_height, from->source_width, model->input_height, model->input_width);
}

/* Whether the pipeline is one that this library has. */
static bool check_pipeline(const sv_open *open, sv_description *from)
{
    svit_pipeline_config checked;
    svit_error why = {.struct_size = sizeof why};
    return sv_config_read(&sv_pipeline_config_type, &checked, &open->pipeline, &why) == SVIT_OK ||
           sv_no_pipeline(from, "%s", why.message);
}

/* Takes the colours, beside the sizes that a pipeline has by default. */
static void take_colours(sv_open *open, sv_description *from, const svit_model_config *model)
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

static int32_t filter_of(const sv_description *from)
{
    if (from->squash)
        return from->bicubic ? SVIT_SOURCE_SQUASH_BICUBIC : SVIT_SOURCE_SQUASH;
    if (keeps_ratio(from))
        return from->bicubic ? SVIT_SOURCE_KEEP_RATIO_BICUBIC : SVIT_SOURCE_KEEP_RATIO;
    return from->bicubic ? SVIT_SOURCE_BICUBIC : SVIT_SOURCE_SHORTER_SIDE;
}

/* Sets the sizes: the resize, and the centre of the model's input size. */
static void take_sizes(sv_open *open, sv_description *from, const svit_model_config *model)
{
    svit_pipeline_config *pipeline = &open->pipeline;
    pipeline->source_height = pipeline->resize_height = (uint32_t)from->source_height;
    pipeline->source_width = pipeline->resize_width = (uint32_t)from->source_width;
    pipeline->output_height = model->input_height;
    pipeline->output_width = model->input_width;
    pipeline->evaluation = from->floors ? SVIT_EVALUATE_CROP_FLOOR : SVIT_EVALUATE_CROP;
    pipeline->source_filter = filter_of(from);
    open->has_pipeline = check_pipeline(open, from);
}

/* Lets a side of the input be what the preprocessor leaves of images. */
static void take_side(sv_facts *facts, const char *side, double pixels)
{
    const sv_fact *stated = sv_facts_find(facts, side);
    if (!stated)
        sv_facts_assume(facts, side, pixels, "the preprocessor");
    else if (stated->value != pixels)
        sv_facts_correct(facts, side, pixels, ", cropped by the preprocessor");
}

/* The image processor of an adapter, as the model was adapted, or that of the model. */
static bool describe_processor(sv_description *out, const sv_open *open)
{
    return sv_describe_processor(out, open, true) || sv_describe_processor(out, open, false);
}

void sv_open_take_crop(sv_open *open)
{
    sv_description from;
    if (!describe_processor(&from, open) || from.why[0])
        return;
    if (from.crop_height == 0 && !from.squash)
        return;
    take_side(&open->facts, "input_height",
              from.crop_height > 0 ? from.crop_height : from.source_height);
    take_side(&open->facts, "input_width",
              from.crop_width > 0 ? from.crop_width : from.source_width);
}

const sv_json_value *sv_open_timm_pretrained(const sv_json_value *root)
{
    const sv_json_value *apart = sv_open_given(root, "pretrained_cfg");
    const bool is_among = sv_json_get(root, "architecture") && sv_json_get(root, "input_size");
    return apart ? apart : is_among ? root : NULL;
}

/* Describes the preprocessing by an adapter's own files, by the configuration of the model, or by
 * the files that transformers has for it. Returns false if there is none of them. */
static bool describe(sv_description *out, const sv_open *open, const svit_model_config *model)
{
    const sv_json_value *timm = sv_open_timm_pretrained(open->config);
    if (sv_describe_processor(out, open, true))
        return true;
    if (open->openclip)
        describe_openclip(out, sv_open_given(open->openclip, "preprocess_cfg"), model);
    else if (timm)
        describe_timm(out, timm, model);
    return open->openclip || timm || sv_describe_processor(out, open, false);
}

void sv_open_preprocessing(sv_open *open, const svit_model_config *model)
{
    sv_description from;
    if (!describe(&from, open, model))
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
