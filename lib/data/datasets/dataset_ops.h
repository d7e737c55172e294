/* What a kind of dataset implements. A kind is a struct whose first member is `svit_dataset base`,
 * and an sv_dataset_ops. Its public function creates the dataset with sv_dataset_create and sets
 * the sizes. */
#ifndef SV_DATASET_OPS_H
#define SV_DATASET_OPS_H

#include "base/status.h"
#include "context/context.h"
#include "data/augmentation/source.h"
#include "data/augmentation/steps.h"
#include "data/decoding/image_shape.h"

#include <shiftvit/dataset.h>

typedef struct sv_dataset_ops {
    size_t bytes; /* size of the kind's struct */

    /* Writes the image pixels[height, width, channels] of sample `index`, which is below `count`:
     * bytes, or floats if is_f32. Writes its label, which is below `classes`, or -1 if the dataset
     * has targets. `crop`, which is NULL unless is_of_files, takes the place of the source step.
     * Several threads may call it at once unless caller_thread_only. */
    svit_status (*sample)(const svit_dataset *dataset, size_t index, const sv_first_crop *crop,
                          void *pixels, int32_t *label, svit_error *err);

    /* Writes the label of sample `index` without its image. NULL: the image must be read. */
    svit_status (*label)(const svit_dataset *dataset, size_t index, int32_t *label,
                         svit_error *err);

    /* Writes targets[classes] of sample `index`. NULL: the dataset has labels. */
    svit_status (*targets)(const svit_dataset *dataset, size_t index, float *targets,
                           svit_error *err);

    /* Makes a copy of the path of sample `index`, which the caller releases with sv_release_text,
     * or leaves NULL. NULL: the samples are no files. */
    svit_status (*path)(const svit_dataset *dataset, size_t index, char **path, svit_error *err);

    /* Returns one past the last sample of the shard that has sample `index`: samples that lie one
     * behind another and are best read together. NULL: all are one shard. */
    size_t (*shard_end)(const svit_dataset *dataset, size_t index);

    /* Frees what the kind owns. The dataset may be incomplete, with its other members zero. NULL if
     * the kind owns nothing. */
    void (*free)(svit_dataset *dataset);
} sv_dataset_ops;

struct svit_dataset {
    atomic_uint references;
    svit_context *context;
    const sv_dataset_ops *ops;
    size_t count;
    size_t height;
    size_t width;
    size_t channels;
    size_t classes;
    const char *const *names; /* [classes] owned by the kind, or NULL */
    char *home;               /* where its relative paths begin, by sv_path_home; NULL: it opens no
                                 files later */
    bool is_f32;              /* images are float instead of bytes */
    bool has_targets;  /* numbers instead of labels; `classes` is their count, and a label is -1 */
    bool is_of_files;  /* images are decoded and brought to their size when they are read */
    bool is_of_shards; /* samples are read best in their order */
    bool caller_thread_only; /* samples are read only on the thread that calls the library */
    bool varies;             /* a sample may differ each time that it is read: fingerprints are
                                without images */
    bool label_needs_image;  /* `label` of the kind, or that of a view's parent, is NULL */
};

/* Allocates a dataset of ops->bytes bytes with one reference and 3 channels. All members after its
 * base are zero. SVIT_E_MEMORY. */
svit_status sv_dataset_create(svit_dataset **out, svit_context *context, const sv_dataset_ops *ops,
                              svit_error *err);

/* SVIT_E_ARGUMENT unless a dataset can have `count` images of this shape, of which `kept` are in
 * memory at once, and `classes` classes. `where` begins the message. */
svit_status sv_dataset_check_form(const char *where, size_t count, size_t kept,
                                  const sv_image_shape *shape, size_t classes, svit_error *err);

/* sv_dataset_create of a dataset of that form. */
svit_status sv_dataset_create_form(svit_dataset **out, svit_context *context,
                                   const sv_dataset_ops *ops, size_t count,
                                   const sv_image_shape *shape, size_t classes, svit_error *err);

/* Gives a view of `parent` its count, image shape, classes and flags. */
void sv_dataset_copy_form(svit_dataset *view, const svit_dataset *parent);

/* Marks the samples as files, which become images of the size of a source step. */
void sv_dataset_set_files(svit_dataset *dataset, const sv_source *source);

/* Adds a reference, which svit_dataset_free removes. Returns `dataset`. */
svit_dataset *sv_dataset_retain(svit_dataset *dataset);

/* Calls ops->path; *path is NULL if the samples are no files. */
svit_status sv_dataset_path(const svit_dataset *dataset, size_t index, char **path,
                            svit_error *err);

/* Makes the path by which the file of sample `index` is opened, for a kind with `home` whose
 * samples are files. The caller releases *path with sv_release_text. */
svit_status sv_dataset_file(const svit_dataset *dataset, size_t index, char **path,
                            svit_error *err);

/* Calls ops->shard_end; the number of samples if all are one shard. */
size_t sv_dataset_shard_end(const svit_dataset *dataset, size_t index);

/* SVIT_E_UNSUPPORTED if the dataset has targets, or its labels cannot be known without the images;
 * `what` needs them, for the message. */
svit_status sv_dataset_check_labels(const svit_dataset *dataset, const char *what, svit_error *err);

/* Writes a hash of the labels or targets of all samples to *hash; 0 if these cannot be known
 * without the images. */
svit_status sv_dataset_hash_labels(const svit_dataset *dataset, uint64_t *hash, svit_error *err);

/* The shape of an image. */
sv_image_shape sv_dataset_shape(const svit_dataset *dataset);

/* Bytes of one image. */
size_t sv_dataset_image_bytes(const svit_dataset *dataset);

#endif
