/* Turning a decoded image upright. */
#ifndef SV_ORIENT_H
#define SV_ORIENT_H

#include "data/codec.h"

/* Turns pixels as an EXIF orientation (exif.h) says, into an array of their own; the old one is
 * released. SVIT_E_MEMORY leaves them as they were. */
svit_status sv_orient(sv_pixels *pixels, const sv_allocator *allocator, unsigned orientation,
                      svit_error *err);

#endif
