/* In place of jpeg.c in a build without libjpeg-turbo. */
#include "data/decoding/decoders.h"

svit_status sv_jpeg_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                           const uint8_t *data, size_t bytes, const char *name, size_t channels,
                           svit_error *err)
{
    (void)out, (void)orientation, (void)decoder, (void)data, (void)bytes, (void)channels;
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: a JPEG; this build of shiftvit has no JPEG decoder, which its build option "
                   "-Djpeg=enabled adds",
                   name);
}
