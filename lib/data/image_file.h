/* Reading of whole image files. */
#ifndef SV_IMAGE_FILE_H
#define SV_IMAGE_FILE_H

#include "data/codec.h"

/* The largest image file in bytes: about 64 million uncompressed pixels of four channels. */
enum { SV_IMAGE_FILE_LIMIT = 256 << 20 };

/* Reads and decodes `path`. The caller releases out->rgb with out->bytes. */
svit_status sv_image_file_read(sv_pixels *out, const sv_allocator *allocator, const char *path,
                               svit_error *err);

#endif
