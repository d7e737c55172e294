/* What a file says of how images become the input of a model. */
#ifndef SV_OPEN_DESCRIPTION_H
#define SV_OPEN_DESCRIPTION_H

#include "models/open/open_internal.h"

enum { SV_COLOURS = 3 };

/* Mean and deviation of the three colours. */
typedef struct sv_colours {
    double mean[SV_COLOURS], deviation[SV_COLOURS];
} sv_colours;

/* preprocessing.c: those that several libraries have. */
extern const sv_colours sv_colours_imagenet, sv_colours_openai;

typedef struct sv_description {
    const char *file;
    double source_height, source_width; /* after the resize */
    double crop_height, crop_width;     /* of the centre that is cut; 0: what the model takes */
    bool squash, bicubic;
    bool floors; /* the centre that is cut is rounded down */
    double scale;
    const sv_json_value *mean, *deviation; /* NULL: those of `otherwise` */
    const sv_colours *otherwise;
    bool has_colours; /* scale, mean and deviation are known, also where the sizes are not */
    char why[160];    /* that there is no pipeline: "resample is not 2 or 3"; "": there is one */
} sv_description;

/* preprocessing.c: says why a description makes no pipeline. Returns false. */
bool sv_no_pipeline(sv_description *out, const char *format, ...) SV_PRINTF(2, 3);

/* preprocessing.c: a member of an object; NULL if it is not there, or null, which the tools take
 * for the same. */
const sv_json_value *sv_open_given(const sv_json_value *object, const char *key);

/* image_processors.c: describes what the image processor of transformers does by the files in the
 * folder of the adapter, or of the model. Returns false if neither of the two is of one there. */
bool sv_describe_processor(sv_description *out, const sv_open *open, bool of_adapter);

#endif
