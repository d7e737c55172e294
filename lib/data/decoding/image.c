/* Image handles, which are read from files or memory, and the writing of PNG files. */
#include <shiftvit/image.h>

#include "base/files/file.h"
#include "base/threads/fp_env.h"
#include "context/context.h"
#include "data/checks.h"
#include "data/decoding/codec.h"
#include "data/decoding/image_file.h"

struct svit_image {
    svit_context *context;
    sv_pixels pixels;
};

static svit_status image_create(svit_image **out, svit_context *context, const sv_pixels *pixels,
                                svit_error *err)
{
    svit_image *image = sv_allocate(&context->allocator, sizeof *image);
    if (!image) {
        sv_release(&context->allocator, pixels->data, pixels->bytes);
        return sv_fail_memory(err, sizeof *image, "an image");
    }
    *image = (svit_image){.context = sv_context_retain(context), .pixels = *pixels};
    *out = image;
    return SVIT_OK;
}

svit_status sv_image_file_read(sv_pixels *out, const svit_context *context, const char *path,
                               size_t channels, svit_error *err)
{
    void *data = NULL;
    size_t bytes = 0;
    const sv_decoder decoder = sv_decoder_of(context);
    SVIT_TRY(sv_file_read(&data, &bytes, decoder.allocator, path, SV_IMAGE_FILE_LIMIT, err));
    svit_status status = sv_decode(out, &decoder, data, bytes, path, channels, err);
    sv_release(decoder.allocator, data, bytes + 1);
    return status;
}

SVIT_API svit_status svit_image_read(svit_image **out, svit_context *context, const char *path,
                                     size_t channels, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    SVIT_TRY(sv_check_file_channels(__func__, channels, err));
    sv_pixels pixels;
    SVIT_TRY(sv_image_file_read(&pixels, context, path, channels, err));
    return image_create(out, context, &pixels, err);
}

SVIT_API svit_status svit_image_decode(svit_image **out, svit_context *context, const void *data,
                                       size_t bytes, const char *name, size_t channels,
                                       svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    if (bytes > 0)
        SV_REQUIRE(data);
    SVIT_TRY(sv_check_file_channels(__func__, channels, err));
    sv_pixels pixels;
    const sv_decoder decoder = sv_decoder_of(context);
    SVIT_TRY(sv_decode(&pixels, &decoder, data ? data : "", bytes, name ? name : "image", channels,
                       err));
    return image_create(out, context, &pixels, err);
}

SVIT_API void svit_image_free(svit_image *image)
{
    if (!image)
        return;
    svit_context *context = image->context;
    sv_release(&context->allocator, image->pixels.data, image->pixels.bytes);
    sv_release(&context->allocator, image, sizeof *image);
    svit_context_free(context);
}

SVIT_API size_t svit_image_height(const svit_image *image)
{
    return image ? image->pixels.height : 0;
}

SVIT_API size_t svit_image_width(const svit_image *image)
{
    return image ? image->pixels.width : 0;
}

SVIT_API size_t svit_image_channels(const svit_image *image)
{
    return image ? image->pixels.channels : 0;
}

SVIT_API const uint8_t *svit_image_pixels(const svit_image *image)
{
    return image ? image->pixels.data : NULL;
}

SVIT_API svit_status svit_image_write_png(svit_context *context, const char *path,
                                          const uint8_t *rgb, size_t height, size_t width,
                                          svit_error *err)
{
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    SV_REQUIRE(rgb);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_range(__func__, "height * width", height * width, 1, SV_PIXEL_LIMIT, err));
    void *data = NULL;
    size_t bytes = 0;
    size_t capacity = 0;
    SVIT_TRY(sv_encode_png(&data, &bytes, &capacity, &context->allocator, path, rgb, height, width,
                           err));
    svit_status status = sv_file_replace(&context->allocator, path, data, bytes, err);
    sv_release(&context->allocator, data, capacity);
    return status;
}
