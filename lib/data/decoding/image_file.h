/* Reading of whole image files. */
#ifndef SV_IMAGE_FILE_H
#define SV_IMAGE_FILE_H

#include "context/context.h"
#include "data/decoding/codec.h"

/* The largest image file in bytes: about 64 million uncompressed pixels of four channels. */
enum { SV_IMAGE_FILE_LIMIT = 256 << 20 };

/* What decoders are given in this context. */
static inline sv_decoder sv_decoder_of(const svit_context *in)
{
    return (sv_decoder){&in->allocator, in->image_pixels};
}

/* Reads and decodes `path` as sv_decode does. The caller releases out->data with out->bytes. */
svit_status sv_image_file_read(sv_pixels *out, const svit_context *context, const char *path,
                               size_t channels, svit_error *err);

#endif
