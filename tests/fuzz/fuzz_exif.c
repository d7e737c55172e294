/* Metadata of a JPEG file: the input becomes one or two APP1 segments of a file that is sound,
 * which has to be decoded at its size, upright or turned. The first byte chooses what the segments
 * begin with. */
#include "images.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum { HEIGHT = 5, WIDTH = 9 };

/* A grey file without metadata. */
static const unsigned char *plain_file(unsigned long *bytes)
{
    static unsigned char *data;
    static unsigned long data_bytes;
    if (!data) {
        static unsigned char row[WIDTH];
        struct jpeg_compress_struct jpeg;
        struct jpeg_error_mgr errors;
        jpeg.err = jpeg_std_error(&errors);
        jpeg_create_compress(&jpeg);
        jpeg_mem_dest(&jpeg, &data, &data_bytes);
        jpeg.image_height = HEIGHT;
        jpeg.image_width = WIDTH;
        jpeg.input_components = 1;
        jpeg.in_color_space = JCS_GRAYSCALE;
        jpeg_set_defaults(&jpeg);
        jpeg_start_compress(&jpeg, TRUE);
        while (jpeg.next_scanline < jpeg.image_height) {
            JSAMPROW rows = row;
            memset(row, 30 * (int)jpeg.next_scanline, sizeof row);
            jpeg_write_scanlines(&jpeg, &rows, 1);
        }
        jpeg_finish_compress(&jpeg);
        jpeg_destroy_compress(&jpeg);
    }
    *bytes = data_bytes;
    return data;
}

/* Writes an APP1 segment to `out` and returns its bytes. */
static size_t segment(uint8_t *out, const char *prefix, size_t prefix_bytes, const uint8_t *data,
                      size_t size)
{
    const size_t length = 2 + prefix_bytes + size;
    out[0] = 0xff;
    out[1] = 0xe1;
    out[2] = (uint8_t)(length >> 8);
    out[3] = (uint8_t)length;
    memcpy(out + 4, prefix, prefix_bytes);
    memcpy(out + 4 + prefix_bytes, data, size);
    return 2 + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char exif[] = "Exif\0", xmp[] = "http://ns.adobe.com/xap/1.0/";
    if (size < 2 || size > 60000)
        return 0;
    unsigned long plain_bytes;
    const unsigned char *plain = plain_file(&plain_bytes);
    uint8_t *file = malloc(plain_bytes + 2 * size + 128);
    FUZZ_CHECK(file);
    /* The start of image, the segments, and the rest. */
    memcpy(file, plain, 2);
    size_t used = 2;
    const size_t cut = data[0] & 4 ? (size - 1) / 2 : size - 1;
    if (data[0] & 1)
        used += segment(file + used, exif, sizeof exif, data + 1, cut);
    if (data[0] & 2)
        used += segment(file + used, xmp, sizeof xmp, data + 1 + (data[0] & 4 ? cut : 0),
                        data[0] & 4 ? size - 1 - cut : cut);
    memcpy(file + used, plain + 2, plain_bytes - 2);
    svit_status status;
    svit_image *image = decoded(file, used + plain_bytes - 2, 1, &status);
    FUZZ_CHECK(image);
    FUZZ_CHECK((svit_image_height(image) == HEIGHT && svit_image_width(image) == WIDTH) ||
               (svit_image_height(image) == WIDTH && svit_image_width(image) == HEIGHT));
    svit_image_free(image);
    free(file);
    return fuzz_end();
}
