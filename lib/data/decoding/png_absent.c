/* In place of png.c in a build without libpng. */
#include "data/decoding/decoders.h"

svit_status sv_png_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                          const uint8_t *data, size_t bytes, const char *name, size_t channels,
                          svit_error *err)
{
    (void)out, (void)orientation, (void)decoder, (void)data, (void)bytes, (void)channels;
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: a PNG; this build of shiftvit has no PNG decoder, which its build option "
                   "-Dpng=enabled adds",
                   name);
}

svit_status sv_encode_png(void **out, size_t *used, size_t *capacity, const sv_allocator *allocator,
                          const char *name, const uint8_t *rgb, size_t height, size_t width,
                          svit_error *err)
{
    (void)out, (void)used, (void)capacity, (void)allocator, (void)rgb, (void)height, (void)width;
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: cannot be written; this build of shiftvit has no PNG encoder, which its "
                   "build option -Dpng=enabled adds",
                   name);
}
