/* Images that a model sees the middle of. */
#include "image_cut.h"

#include "path_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void image_cut_part(double part[2], size_t height, size_t width,
                    const svit_pipeline_config *pipeline)
{
    const double scale = fmax(pipeline->source_height / (double)height,
                              pipeline->source_width / (double)width);
    const int is_stretched = pipeline->source_filter == SVIT_SOURCE_NEAREST;
    part[0] = is_stretched ? 1 : pipeline->source_height / (scale * (double)height);
    part[1] = is_stretched ? 1 : pipeline->source_width / (scale * (double)width);
}

static size_t big_endian(const unsigned char *bytes, size_t count)
{
    size_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Goes through the segments of a JPEG file to the frame header, which has the size. */
static int read_jpeg_size(FILE *file, size_t size[2])
{
    unsigned char segment[4], frame[5];
    if (fseek(file, 2, SEEK_SET) != 0)
        return 0;
    while (fread(segment, 1, sizeof segment, file) == sizeof segment && segment[0] == 0xff) {
        const int kind = segment[1];
        if (kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc) {
            if (fread(frame, 1, sizeof frame, file) != sizeof frame)
                return 0;
            size[0] = big_endian(frame + 1, 2);
            size[1] = big_endian(frame + 3, 2);
            return 1;
        }
        if (fseek(file, (long)big_endian(segment + 2, 2) - 2, SEEK_CUR) != 0)
            return 0;
    }
    return 0;
}

/* Reads height and width of a PNG or JPEG file from its header, which is faster than to decode it.
 * Returns 0 for other files. A file may say that it lies on its side, so they may be exchanged. */
static int read_size(const char *path, size_t size[2])
{
    unsigned char begin[24] = {0};
    FILE *file = fopen(path, "rb");
    int is_known = 0;
    size[0] = size[1] = 0;
    if (!file)
        return 0;
    const int is_whole = fread(begin, 1, sizeof begin, file) == sizeof begin;
    if (is_whole && memcmp(begin, "\x89PNG\r\n\x1a\n", 8) == 0) {
        size[0] = big_endian(begin + 20, 4);
        size[1] = big_endian(begin + 16, 4);
        is_known = 1;
    } else if (is_whole && memcmp(begin, "\xff\xd8", 2) == 0) {
        is_known = read_jpeg_size(file, size);
    }
    fclose(file);
    return is_known && size[0] > 0 && size[1] > 0;
}

/* A square source step cuts an image that lies on its side as much as an upright one. */
static svit_status find_size(struct program *self, size_t size[2], const char *path,
                             const svit_pipeline_config *pipeline)
{
    svit_image *image = NULL;
    if (pipeline->source_height == pipeline->source_width && read_size(path, size))
        return SVIT_OK;
    TRY(svit_image_read(&image, self->context, path, 3, &self->err));
    size[0] = svit_image_height(image);
    size[1] = svit_image_width(image);
    svit_image_free(image);
    return SVIT_OK;
}

/* Whether a line of pixels of the source size is lost. */
static int is_cut(const size_t size[2], const svit_pipeline_config *pipeline)
{
    double part[2];
    image_cut_part(part, size[0], size[1], pipeline);
    return pipeline->source_height * (1 / part[0] - 1) >= 1 ||
           pipeline->source_width * (1 / part[1] - 1) >= 1;
}

svit_status image_cut_note(struct program *self, const svit_dataset *images,
                           const svit_pipeline_config *pipeline)
{
    const size_t count = svit_dataset_count(images);
    char path[PATH_CAPACITY];
    size_t size[2], cut = 0;
    for (size_t i = 0; !self->quiet && i < count; i++) {
        TRY(svit_dataset_path(images, i, path, sizeof path, NULL, &self->err));
        TRY(find_size(self, size, path, pipeline));
        cut += (size_t)is_cut(size, pipeline);
    }
    if (cut > 0)
        fprintf(stderr,
                "%s: %zu of %zu images are cut to their middle, for the model reads images of "
                "%u x %u pixels; what lies outside of it is not looked at\n",
                option_program_name, cut, count, pipeline->source_height, pipeline->source_width);
    return SVIT_OK;
}
