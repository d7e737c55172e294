/* The orientation that a camera notes in EXIF data. The data comes from outside: every offset is
 * checked, and what is malformed counts as upright. */
#ifndef SV_EXIF_H
#define SV_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* How the stored image is to be turned: values of the EXIF tag 0x0112, named by what the stored
 * rows and columns are. */
enum {
    SV_UPRIGHT = 1,
    SV_MIRRORED = 2, /* left and right are exchanged */
    SV_TURNED_180 = 3,
    SV_FLIPPED = 4,      /* top and bottom are exchanged */
    SV_TRANSPOSED = 5,   /* the first row is the image's left side; from here on rows are columns */
    SV_TURNED_RIGHT = 6, /* the first row is the image's right side: turn by 90 degrees clockwise */
    SV_TRANSPOSED_ACROSS = 7, /* the first row is the right side, from the bottom */
    SV_TURNED_LEFT = 8        /* the first row is the left side, from the bottom */
};

/* The orientation in a TIFF structure, as EXIF data is one: 1..8, SV_UPRIGHT where there is none.
 */
unsigned sv_exif_orientation(const uint8_t *tiff, size_t bytes);

/* The orientation of a whole JPEG file, from its first APP1 segment that begins with "Exif". */
unsigned sv_exif_of_jpeg(const uint8_t *data, size_t bytes);

/* The orientation of a whole PNG file, from its eXIf chunk. */
unsigned sv_exif_of_png(const uint8_t *data, size_t bytes);

#endif
