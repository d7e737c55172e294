/* Image files, read whole and decoded. */
#ifndef SV_IMAGE_FILE_H
#define SV_IMAGE_FILE_H

#include "data/codec.h"

/* Bytes of an image file: what 64 million pixels of four channels take uncompressed. */
enum { SV_IMAGE_FILE_LIMIT = 256 << 20 };

/* Reads and decodes `path`; the caller releases out->rgb with out->bytes. */
svit_status sv_image_file_read(sv_pixels *out, const sv_allocator *allocator, const char *path,
                               svit_error *err);

#endif
