/* What the fuzz targets of image files share: an image is decoded to 1, 3 and 4 channels, of the
 * same size, and so again after the file was written as a PNG. */
#ifndef FUZZ_IMAGES_H
#define FUZZ_IMAGES_H

#include "fuzz.h"

#include <string.h>

static inline svit_image *decoded(const void *data, size_t size, size_t channels,
                                  svit_status *status)
{
    svit_error err = FUZZ_ERROR;
    svit_image *image = NULL;
    *status = svit_image_decode(&image, fuzz_context(), data, size, "fuzz", channels, &err);
    if (!fuzz_ok(*status, &err))
        return NULL;
    const size_t height = svit_image_height(image), width = svit_image_width(image);
    FUZZ_CHECK(height >= 1 && height <= 16384 && width >= 1 && width <= 16384);
    FUZZ_CHECK(svit_image_channels(image) == channels);
    /* Reads the first and the last byte. */
    volatile const uint8_t *pixels = svit_image_pixels(image);
    (void)pixels[0];
    (void)pixels[height * width * channels - 1];
    return image;
}

/* An RGB image is the same after it was written as a PNG file and read. */
static inline void check_written(const svit_image *image)
{
    svit_error err = FUZZ_ERROR;
    svit_image *again = NULL;
    const size_t height = svit_image_height(image), width = svit_image_width(image);
    const char *path = fuzz_path("written.png");
    svit_status status =
        svit_image_write_png(fuzz_context(), path, svit_image_pixels(image), height, width, &err);
    if (!fuzz_ok(status, &err))
        return;
    status = svit_image_read(&again, fuzz_context(), path, 3, &err);
    FUZZ_CHECK(fuzz_ok(status, &err) || status == SVIT_E_MEMORY);
    if (again) {
        FUZZ_CHECK(svit_image_height(again) == height && svit_image_width(again) == width);
        FUZZ_CHECK(memcmp(svit_image_pixels(image), svit_image_pixels(again), height * width * 3) ==
                   0);
    }
    svit_image_free(again);
}

static inline void check_image(const uint8_t *data, size_t size)
{
    static const size_t channels[] = {1, 3, 4};
    svit_image *images[3];
    svit_status status[3];
    for (int i = 0; i < 3; i++) {
        images[i] = decoded(data, size, channels[i], &status[i]);
        if (i > 0 && status[i] != SVIT_E_MEMORY && status[0] != SVIT_E_MEMORY)
            FUZZ_CHECK(status[i] == status[0]);
        if (i > 0 && images[i] && images[0]) {
            FUZZ_CHECK(svit_image_height(images[i]) == svit_image_height(images[0]));
            FUZZ_CHECK(svit_image_width(images[i]) == svit_image_width(images[0]));
        }
    }
    if (images[1] && svit_image_height(images[1]) * svit_image_width(images[1]) < 65536)
        check_written(images[1]);
    for (int i = 0; i < 3; i++)
        svit_image_free(images[i]);
}

#endif
