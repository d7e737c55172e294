/* Reads every sample of a dataset, on all workers of its context. */
#ifndef SV_SAMPLES_H
#define SV_SAMPLES_H

#include "data/datasets/dataset_ops.h"

typedef struct sv_sample_reader {
    const svit_dataset *dataset;
    /* Takes the image of a sample. Workers call it at once, and the samples have no order. NULL:
     * nothing does. */
    void (*take)(void *user, const void *image, uint32_t worker);
    /* Takes the error of a sample, on the calling thread and in the order of the samples. The
     * reading ends unless it returns SVIT_OK. */
    svit_status (*refuse)(void *user, size_t index, const svit_error *found, svit_error *err);
    void *user;
    bool with_answers; /* the labels or targets of samples are read too, for their errors */
} sv_sample_reader;

/* The workers that call `take`, numbered from 0. */
uint32_t sv_samples_workers(const svit_dataset *dataset);

/* Reads them. The stop function of the context is asked between rounds of samples. SVIT_E_MEMORY.
 */
svit_status sv_samples_read(const sv_sample_reader *reader, svit_error *err);

#endif
