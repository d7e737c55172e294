/* The image orientation in EXIF data and in XMP. Orientations are found, and their sources have the
 * precedence, as in ImageOps.exif_transpose of Pillow. The data is not trusted: every offset is
 * checked, and malformed data counts as none. */
#ifndef SV_EXIF_H
#define SV_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* The orientations: values of the EXIF tag 0x0112. The comments say how the stored image differs
 * from the upright one. */
enum {
    SV_NO_ORIENTATION = 0, /* the data says nothing */
    SV_UPRIGHT = 1,
    SV_MIRRORED = 2, /* left and right exchanged */
    SV_TURNED_180 = 3,
    SV_FLIPPED = 4,           /* top and bottom exchanged */
    SV_TRANSPOSED = 5,        /* the first row is the left side; from here on rows are columns */
    SV_TURNED_RIGHT = 6,      /* the first row is the right side: turn by 90 degrees clockwise */
    SV_TRANSPOSED_ACROSS = 7, /* the first row is the right side, from the bottom */
    SV_TURNED_LEFT = 8        /* the first row is the left side, from the bottom */
};

/* Bytes of a file; none if `bytes` is 0. */
typedef struct sv_span {
    const uint8_t *at;
    size_t bytes;
} sv_span;

/*@ predicate in_span(sv_span span) = \valid_read(span.at + (0 .. span.bytes - 1)); */

/* The orientation in EXIF data, a TIFF structure behind up to two prefixes "Exif". It is the first
 * entry of the tag, of any numeric type but BYTE, and its first value if it has several. A value
 * that is no orientation is SV_UPRIGHT. */
/*@ requires in_span(exif);
    assigns \nothing;
    ensures \result <= 8; */
unsigned sv_exif_orientation(sv_span exif);

/* The orientation in XMP: the first `tiff:Orientation`, as an attribute or as an element. */
/*@ requires in_span(xmp);
    assigns \nothing;
    ensures \result <= 8; */
unsigned sv_xmp_orientation(sv_span xmp);

/* The orientation of an image with this metadata, 1..8: that of EXIF, or else that of XMP. */
/*@ requires in_span(exif) && in_span(xmp);
    assigns \nothing;
    ensures 1 <= \result <= 8; */
unsigned sv_orientation(sv_span exif, sv_span xmp);

/* Decodes the text of ImageMagick's raw profile, in place: three lines, then hexadecimal digits
 * with white space between the bytes. Returns no bytes if it is malformed. */
/*@ requires \valid(text + (0 .. bytes - 1));
    assigns text[0 .. bytes - 1];
    ensures in_span(\result); */
sv_span sv_raw_profile(char *text, size_t bytes);

/* The EXIF data of a whole PNG file: that of its last eXIf chunk. `at` is NULL if there is none. */
/*@ requires \valid_read(data + (0 .. bytes - 1));
    assigns \nothing;
    ensures in_span(\result); */
sv_span sv_exif_of_png(const uint8_t *data, size_t bytes);

/* The orientation of a whole JPEG file, 1..8: from its first APP1 segment that begins with "Exif",
 * and its last one that has XMP. */
/*@ requires \valid_read(data + (0 .. bytes - 1));
    assigns \nothing;
    ensures 1 <= \result <= 8; */
unsigned sv_exif_of_jpeg(const uint8_t *data, size_t bytes);

#endif
