/* Test-time augmentation: versions of images, and the mean of their logits. */
#ifndef SV_VIEWS_H
#define SV_VIEWS_H

#include "base/arrays.h"

#include <shiftvit/session.h>

typedef struct sv_views {
    int32_t tta;                    /* SVIT_TTA_* */
    size_t height, width, channels; /* of an image */
    size_t classes;
    float *part;  /* [batch, classes] the logits of one version; NULL with SVIT_TTA_NONE */
    float *moved; /* [batch, height, width, channels] with SVIT_TTA_FLIP_SHIFT; otherwise NULL */
} sv_views;

/* SVIT_E_ARGUMENT unless `tta` is one of SVIT_TTA_*, and SVIT_TTA_NONE if the model reconstructs
 * images: its logits are the pixels of patches, which versions of an image move. */
svit_status sv_views_check(int32_t tta, const svit_model *model, svit_error *err);

/* Allocates what batches of `batch` images need. The other fields are set. */
svit_status sv_views_allocate(sv_views *self, sv_arrays *arrays, size_t batch, svit_error *err);

/* Computes logits[n, classes] of images[n, height, width, channels], which it may change. The first
 * has the index `first` in the caller's array; messages count from it. */
svit_status sv_views_forward(const sv_views *self, svit_session *session, float *images, size_t n,
                             size_t first, float *logits, svit_error *err);

#endif
