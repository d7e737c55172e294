/* The pipeline of a checkpoint: what preprocessor_config.json of transformers, pretrained_cfg of timm
 * or preprocess_cfg of OpenCLIP say of resizing, cropping and colours. */
#include "models/open/open_internal.h"

#include <math.h>
#include <string.h>

/* What a description says. */
typedef struct description {
    const char *file;
    double source_height, source_width; /* after the resize */
    bool squash, bicubic;
    double scale;
    const sv_json_value *mean, *deviation;
} description;

/* Sets two sides from a number, or from the members of an object. */
static bool read_sides(const sv_json_value *size, double *height, double *width)
{
    if (sv_json_number(size, height) ||
        sv_json_number(sv_json_get(size, "shortest_edge"), height)) {
        *width = *height;
        return true;
    }
    return sv_json_number(sv_json_get(size, "height"), height) &&
           sv_json_number(sv_json_get(size, "width"), width);
}

static bool is_false(const sv_json_value *object, const char *key)
{
    return sv_json_is(sv_json_get(object, key), SV_JSON_FALSE);
}

/* One number for each channel, else `otherwise`. */
static svit_status read_channels(double out[SVIT_MAX_CHANNELS], const sv_json_value *list,
                                 uint32_t channels, double otherwise, const char *file,
                                 svit_error *err)
{
    for (uint32_t c = 0; c < channels; c++)
        out[c] = otherwise;
    if (!list || list->kind == SV_JSON_NULL)
        return SVIT_OK;
    if (list->kind != SV_JSON_ARRAY || (list->count != channels && list->count != 1))
        return sv_fail(err, SVIT_E_FORMAT, "%s: mean and deviation have %u numbers", file,
                       channels);
    const sv_json_value *value = list + 1;
    for (uint32_t c = 0; c < channels; c++, value = list->count == 1 ? value : value->after)
        if (!sv_json_number(value, &out[c]))
            return sv_fail(err, SVIT_E_FORMAT, "%s: mean and deviation are numbers", file);
    return SVIT_OK;
}

/* transformers: resampling is 2 (bilinear) or 3 (bicubic) in Pillow's count. */
static bool describe_huggingface(description *out, const sv_json_value *root)
{
    const sv_json_value *size = sv_json_get(root, "size");
    double resample = 2, factor;
    *out = (description){.file = "preprocessor_config.json", .scale = 1.0 / 255};
    (void)sv_json_number(sv_json_get(root, "resample"), &resample);
    if ((resample != 2 && resample != 3) || is_false(root, "do_resize") ||
        !read_sides(size, &out->source_height, &out->source_width))
        return false;
    out->bicubic = resample == 3;
    out->squash = sv_json_get(size, "height") ||
                  (sv_json_number(size, &factor) && !sv_json_get(root, "crop_size"));
    if (sv_json_number(sv_json_get(root, "rescale_factor"), &factor))
        out->scale = factor;
    if (is_false(root, "do_rescale"))
        out->scale = 1;
    if (!is_false(root, "do_normalize")) {
        out->mean = sv_json_get(root, "image_mean");
        out->deviation = sv_json_get(root, "image_std");
    }
    return true;
}

/* timm: the image is resized to the input's size divided by crop_pct. */
static bool describe_timm(description *out, const sv_json_value *root,
                          const svit_model_config *model)
{
    const char *mode = sv_json_text(sv_json_get(root, "crop_mode"));
    const char *interpolation = sv_json_text(sv_json_get(root, "interpolation"));
    double part = 0.875;
    *out = (description){.file = "config.json: pretrained_cfg", .scale = 1.0 / 255};
    (void)sv_json_number(sv_json_get(root, "crop_pct"), &part);
    if (!interpolation || !(part > 0 && part <= 1) || (mode && strcmp(mode, "border") == 0))
        return false;
    out->bicubic = strcmp(interpolation, "bicubic") == 0;
    out->squash = mode && strcmp(mode, "squash") == 0;
    out->source_height = floor(model->input_height / part);
    out->source_width = floor(model->input_width / part);
    out->mean = sv_json_get(root, "mean");
    out->deviation = sv_json_get(root, "std");
    return out->bicubic || strcmp(interpolation, "bilinear") == 0;
}

static bool describe_openclip(description *out, const sv_json_value *root,
                              const svit_model_config *model)
{
    const char *mode = sv_json_text(sv_json_get(root, "resize_mode"));
    const char *interpolation = sv_json_text(sv_json_get(root, "interpolation"));
    *out = (description){.file = "open_clip_config.json: preprocess_cfg",
                         .scale = 1.0 / 255,
                         .source_height = model->input_height,
                         .source_width = model->input_width,
                         .bicubic = !interpolation || strcmp(interpolation, "bicubic") == 0,
                         .squash = mode && strcmp(mode, "squash") == 0,
                         .mean = sv_json_get(root, "mean"),
                         .deviation = sv_json_get(root, "std")};
    return !mode || strcmp(mode, "shortest") == 0 || out->squash;
}

/* Makes the pipeline: the resize, the centre of the model's input size, and the colours. */
static svit_status make_pipeline(sv_open *open, const description *from,
                                 const svit_model_config *model, svit_error *err)
{
    svit_pipeline_config *pipeline = &open->pipeline;
    double deviation[SVIT_MAX_CHANNELS];
    SVIT_TRY(svit_pipeline_config_init(pipeline, sizeof *pipeline));
    if (!(from->source_height >= model->input_height && from->source_height <= 8192 &&
          from->source_width >= model->input_width && from->source_width <= 8192))
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: images are resized to %g x %g pixels; the model's input is %u x %u",
                       from->file, from->source_height, from->source_width, model->input_height,
                       model->input_width);
    pipeline->source_height = pipeline->resize_height = (uint32_t)from->source_height;
    pipeline->source_width = pipeline->resize_width = (uint32_t)from->source_width;
    pipeline->output_height = model->input_height;
    pipeline->output_width = model->input_width;
    pipeline->evaluation = SVIT_EVALUATE_CROP;
    pipeline->source_filter =
        from->squash ? (from->bicubic ? SVIT_SOURCE_SQUASH_BICUBIC : SVIT_SOURCE_SQUASH)
                     : (from->bicubic ? SVIT_SOURCE_BICUBIC : SVIT_SOURCE_SHORTER_SIDE);
    pipeline->channels = model->in_channels;
    pipeline->scale = from->scale;
    SVIT_TRY(read_channels(pipeline->mean, from->mean, model->in_channels, 0, from->file, err));
    SVIT_TRY(read_channels(deviation, from->deviation, model->in_channels, 1, from->file, err));
    for (uint32_t c = 0; c < model->in_channels; c++)
        pipeline->variance[c] = deviation[c] * deviation[c];
    open->has_pipeline = true;
    return SVIT_OK;
}

svit_status sv_open_preprocessing(sv_open *open, const svit_model_config *model, svit_error *err)
{
    const sv_json *preprocessor = open->side[SV_SIDE_PREPROCESSOR].json,
                  *config = open->side[SV_SIDE_CONFIG].json,
                  *openclip = open->side[SV_SIDE_OPENCLIP].json;
    const sv_json_value *timm = config ? sv_json_get(sv_json_root(config), "pretrained_cfg") : NULL;
    const sv_json_value *preprocess =
        openclip ? sv_json_get(sv_json_root(openclip), "preprocess_cfg") : NULL;
    description from;
    if (model->in_channels > SVIT_MAX_CHANNELS || model->in_channels == 2)
        return SVIT_OK;
    if (preprocess ? describe_openclip(&from, preprocess, model)
        : timm     ? describe_timm(&from, timm, model)
                   : preprocessor && describe_huggingface(&from, sv_json_root(preprocessor)))
        return make_pipeline(open, &from, model, err);
    return SVIT_OK;
}
