/* Turns decoded images upright. */
#ifndef SV_ORIENT_H
#define SV_ORIENT_H

#include "data/decoding/codec.h"

/* Turns *pixels by an EXIF orientation of exif.h into a new array, and releases the old one.
 * SVIT_E_MEMORY leaves *pixels unchanged. */
svit_status sv_orient(sv_pixels *pixels, const sv_allocator *allocator, unsigned orientation,
                      svit_error *err);

#endif
