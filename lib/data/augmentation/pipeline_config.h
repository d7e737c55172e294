/* The type of pipeline configurations. */
#ifndef SV_PIPELINE_CONFIG_H
#define SV_PIPELINE_CONFIG_H

#include "config/config.h"

#include <shiftvit/pipeline.h>

extern const sv_config_type sv_pipeline_config_type;

/* The number of values in `mean` and `variance` for images of that many channels. */
static inline uint32_t sv_pipeline_means(size_t channels)
{
    return channels <= SVIT_MAX_CHANNELS ? (uint32_t)channels : 1;
}

/* The largest magnitude of a float image's values that evaluation keeps finite. */
double sv_pipeline_limit(const svit_pipeline_config *config);

/* The size of the images that evaluation makes. */
static inline uint32_t sv_evaluation_height(const svit_pipeline_config *config)
{
    return config->evaluation == SVIT_EVALUATE_KEEP ? config->resize_height : config->output_height;
}

static inline uint32_t sv_evaluation_width(const svit_pipeline_config *config)
{
    return config->evaluation == SVIT_EVALUATE_KEEP ? config->resize_width : config->output_width;
}

/* Whether the centres of images, also that of the source step, have half offsets rounded down. */
static inline bool sv_evaluation_floors(const svit_pipeline_config *config)
{
    return config->evaluation == SVIT_EVALUATE_CROP_FLOOR;
}

/* Whether evaluation takes the centre of the resized image. */
static inline bool sv_evaluation_crops(const svit_pipeline_config *config)
{
    return config->evaluation == SVIT_EVALUATE_CROP || sv_evaluation_floors(config);
}

#endif
