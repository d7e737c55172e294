/* The image orientation in EXIF data. The data is not trusted: every offset is checked, and
 * malformed data counts as upright. */
#ifndef SV_EXIF_H
#define SV_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* The orientations: values of the EXIF tag 0x0112. The comments say how the stored image differs
 * from the upright one. */
enum {
    SV_UPRIGHT = 1,
    SV_MIRRORED = 2, /* left and right exchanged */
    SV_TURNED_180 = 3,
    SV_FLIPPED = 4,           /* top and bottom exchanged */
    SV_TRANSPOSED = 5,        /* the first row is the left side; from here on rows are columns */
    SV_TURNED_RIGHT = 6,      /* the first row is the right side: turn by 90 degrees clockwise */
    SV_TRANSPOSED_ACROSS = 7, /* the first row is the right side, from the bottom */
    SV_TURNED_LEFT = 8        /* the first row is the left side, from the bottom */
};

/* The orientation in EXIF data, which is a TIFF structure: 1..8, SV_UPRIGHT if there is none. */
unsigned sv_exif_orientation(const uint8_t *tiff, size_t bytes);

/* The orientation of a whole JPEG file, from its first APP1 segment that begins with "Exif". */
unsigned sv_exif_of_jpeg(const uint8_t *data, size_t bytes);

/* The orientation of a whole PNG file, from its eXIf chunk. */
unsigned sv_exif_of_png(const uint8_t *data, size_t bytes);

#endif
