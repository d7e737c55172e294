/* Makes JPEG files for tests. */
#ifndef JPEG_MAKE_H
#define JPEG_MAKE_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

typedef struct jpeg_file {
    unsigned char *data; /* which the caller frees */
    unsigned long bytes;
} jpeg_file;

/* How a file is compressed. */
typedef struct jpeg_options {
    int channels; /* 1: grey; 3: RGB, stored as YCbCr; 4: CMYK */
    int luma;     /* sampling factor of the first component on both axes; 0 counts as 1 */
    int quality;
    int progressive;
    const jpeg_scan_info *scans; /* of a progressive file; NULL: libjpeg's own */
    int scan_count;
} jpeg_options;

/* Compresses pixels[height, width, channels]. */
static inline jpeg_file jpeg_make(const uint8_t *pixels, int height, int width,
                                  jpeg_options options)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg_file out = {NULL, 0};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out.data, &out.bytes);
    jpeg.image_height = (JDIMENSION)height;
    jpeg.image_width = (JDIMENSION)width;
    jpeg.input_components = options.channels;
    jpeg.in_color_space = options.channels == 1   ? JCS_GRAYSCALE
                          : options.channels == 3 ? JCS_RGB
                                                  : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, options.quality, TRUE);
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor =
        options.luma ? options.luma : 1;
    if (options.progressive)
        jpeg_simple_progression(&jpeg);
    if (options.scans) {
        jpeg.scan_info = options.scans;
        jpeg.num_scans = options.scan_count;
    }
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = (JSAMPROW)pixels +
                       (size_t)jpeg.next_scanline * (size_t)width * (size_t)options.channels;
        ck_assert_uint_eq(jpeg_write_scanlines(&jpeg, &row, 1), 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return out;
}

#endif
