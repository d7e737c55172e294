/* Images that a model sees the middle of. */
#include "data/image_cut.h"

#include "program/path_text.h"
#include "program/shown.h"

#include <math.h>
#include <stdio.h>

/* Images of a folder mostly have one shape, and each is decoded for its size. */
enum { MOST_READ = 16 };

void image_cut_part(double part[2], size_t height, size_t width,
                    const svit_pipeline_config *pipeline)
{
    const double scale =
        fmax(pipeline->source_height / (double)height, pipeline->source_width / (double)width);
    const int32_t filter = pipeline->source_filter;
    const int is_stretched = filter == SVIT_SOURCE_NEAREST || filter == SVIT_SOURCE_SQUASH ||
                             filter == SVIT_SOURCE_SQUASH_BICUBIC;
    part[0] = is_stretched ? 1 : pipeline->source_height / (scale * (double)height);
    part[1] = is_stretched ? 1 : pipeline->source_width / (scale * (double)width);
}

/* Whether a line of pixels of the source size is lost. */
static int is_cut(size_t height, size_t width, const svit_pipeline_config *pipeline)
{
    double part[2];
    image_cut_part(part, height, width, pipeline);
    return pipeline->source_height * (1 / part[0] - 1) >= 1 ||
           pipeline->source_width * (1 / part[1] - 1) >= 1;
}

svit_status image_cut_note(struct program *self, const svit_dataset *images,
                           const svit_pipeline_config *pipeline)
{
    const size_t count = svit_dataset_count(images);
    char path[PATH_CAPACITY], shown[SHOWN_CAPACITY];
    int found = 0;
    for (size_t i = 0; !self->quiet && !found && i < count && i < MOST_READ; i++) {
        svit_image *image = NULL;
        TRY(svit_dataset_path(images, i, path, sizeof path, NULL, &self->err));
        TRY(svit_image_read(&image, self->context, path, 3, &self->err));
        found = is_cut(svit_image_height(image), svit_image_width(image), pipeline);
        svit_image_free(image);
    }
    if (found)
        fprintf(stderr,
                "%s: '%s' and its like are cut to their middle, for the model reads images of %u x "
                "%u pixels; what lies outside of it is not looked at\n",
                option_program_name, shown_text(shown, path), pipeline->source_height,
                pipeline->source_width);
    return SVIT_OK;
}
