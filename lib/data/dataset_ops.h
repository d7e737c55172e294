/* The inside of svit_dataset. A kind of dataset is a struct whose first member is `svit_dataset
 * base`, and a table of what it can do. */
#ifndef SV_DATASET_TABLE_H
#define SV_DATASET_TABLE_H

#include "base/status.h"
#include "context/context.h"

#include <shiftvit/dataset.h>

#include <stdbool.h>

typedef struct sv_dataset_ops {
    size_t bytes; /* of the whole struct */

    /* Writes sample `index`, which is below count, and its label, which the kind has checked. */
    svit_status (*sample)(const svit_dataset *dataset, size_t index, uint8_t *rgb, int32_t *label,
                          svit_error *err);

    /* Frees what the kind owns, of a dataset that may be half made (the rest is zero); NULL where
     * it owns nothing. */
    void (*end)(svit_dataset *dataset);
} sv_dataset_ops;

struct svit_dataset {
    atomic_uint references;
    svit_context *context;
    const sv_dataset_ops *table;
    size_t count;
    size_t height;
    size_t width;
    size_t classes;
    const char *const *names; /* classes of them, or NULL; the kind owns them */
    bool caller_thread_only;  /* samples may be read on the thread that called in only */
};

/* Makes a dataset of `table->bytes` bytes, cleared behind the base, with one reference. */
svit_status sv_dataset_create(svit_dataset **out, svit_context *context,
                              const sv_dataset_ops *table, svit_error *err);

/* Counts one more that needs the dataset; returns it. svit_dataset_free counts down. */
svit_dataset *sv_dataset_retain(svit_dataset *dataset);

/* Bytes of a sample. */
size_t sv_dataset_image_bytes(const svit_dataset *dataset);

#endif
