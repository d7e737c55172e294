/* Decodes JPEG files with TurboJPEG. */
#include "data/checks.h"
#include "data/decoders.h"

#include <string.h>
#include <turbojpeg.h>

/* Distinguishes lack of memory from a damaged file by the message, because TurboJPEG returns
 * nothing else. The texts are those of libjpeg and of TurboJPEG. */
static svit_status fail_jpeg(svit_error *err, const char *name, tjhandle jpeg)
{
    const char *message = tjGetErrorStr2(jpeg);
    if (strcasestr(message, "insufficient memory") || strcasestr(message, "out of memory") ||
        strcasestr(message, "memory allocation fail"))
        return sv_fail(err, SVIT_E_MEMORY, "%s: no memory to decode the JPEG: %s", name, message);
    return sv_fail(err, SVIT_E_FORMAT, "%s: damaged JPEG: %s", name, message);
}

/* Decodes a JPEG. Warnings count as errors: on a truncated file the decoder only warns and fills
 * the rest of the image. */
static svit_status jpeg_decompress(tjhandle jpeg, sv_pixels *out, const sv_allocator *allocator,
                                   const uint8_t *data, size_t bytes, const char *name,
                                   size_t channels, svit_error *err)
{
    int width = 0;
    int height = 0;
    int sampling = 0;
    int colours = 0;
    if (tjDecompressHeader3(jpeg, data, bytes, &width, &height, &sampling, &colours) != 0)
        return fail_jpeg(err, name, jpeg);
    SVIT_TRY(sv_codec_check_size((size_t)height, (size_t)width, name, err));
    if (colours != TJCS_RGB && colours != TJCS_YCbCr && colours != TJCS_GRAY)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: a JPEG of four inks (CMYK); RGB, YCbCr and grey are accepted", name);
    sv_pixels pixels;
    size_t decoded = channels == SV_RGBA ? SV_RGBA : SV_RGB;
    SVIT_TRY(sv_codec_allocate(&pixels, allocator, (size_t)height, (size_t)width, decoded, err));
    if (tjDecompress2(jpeg, data, bytes, pixels.data, width, 0, height,
                      decoded == SV_RGBA ? TJPF_RGBA : TJPF_RGB,
                      TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0) {
        sv_release(allocator, pixels.data, pixels.bytes);
        return fail_jpeg(err, name, jpeg);
    }
    if (channels == SV_GREY)
        sv_codec_reduce_to_luma(&pixels);
    *out = pixels;
    return SVIT_OK;
}

svit_status sv_jpeg_decode(sv_pixels *out, const sv_allocator *allocator, const uint8_t *data,
                           size_t bytes, const char *name, size_t channels, svit_error *err)
{
    tjhandle jpeg = tjInitDecompress();
    if (!jpeg)
        return sv_fail(err, SVIT_E_MEMORY, "%s: no memory for a JPEG decoder", name);
    svit_status status = jpeg_decompress(jpeg, out, allocator, data, bytes, name, channels, err);
    tjDestroy(jpeg);
    return status;
}
