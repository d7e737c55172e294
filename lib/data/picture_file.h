/* Picture files, read whole and decoded. */
#ifndef SV_PICTURE_FILE_H
#define SV_PICTURE_FILE_H

#include "data/codec.h"

/* Bytes of a picture file: what 64 million pixels of four channels take uncompressed. */
enum { SV_PICTURE_FILE_LIMIT = 256 << 20 };

/* Reads and decodes `path`; the caller releases out->rgb with out->bytes. */
svit_status sv_picture_read(sv_pixels *out, const sv_allocator *allocator, const char *path,
                            svit_error *err);

#endif
