/* Datasets: numbered samples of 8-bit RGB images with labels, from files, memory or callbacks. */
#ifndef SHIFTVIT_DATASET_H
#define SHIFTVIT_DATASET_H

#include <shiftvit/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Samples 0..count-1, each height x width x 3 bytes and a label in 0..classes-1. May be read by any
 * number of threads (of callbacks: one at a time). Loaders keep it alive. */
typedef struct svit_dataset svit_dataset;

enum { SVIT_SPLIT_TRAIN = 0, SVIT_SPLIT_TEST = 1, SVIT_SPLIT_VALIDATION = 2 };
enum { SVIT_LABELS_FINE = 0, SVIT_LABELS_COARSE = 1 };

/* In all creators `*out` is owned by the caller, free with svit_dataset_free. */

/* CIFAR-10's official binary files in `folder`: data_batch_1..5.bin (SVIT_SPLIT_TRAIN) or
 * test_batch.bin (SVIT_SPLIT_TEST), class names from batches.meta.txt where it is there. SVIT_E_IO
 * names a missing file; SVIT_E_FORMAT a size that is no whole number of 3073-byte records, or a
 * label above 9, with its record. Krizhevsky 2009. */
SVIT_API svit_status svit_dataset_cifar10(svit_dataset **out, svit_context *context,
                                          const char *folder, int32_t split, svit_error *err);

/* CIFAR-100's: train.bin or test.bin, 3074-byte records, `labels` one of SVIT_LABELS_*. */
SVIT_API svit_status svit_dataset_cifar100(svit_dataset **out, svit_context *context,
                                           const char *folder, int32_t split, int32_t labels,
                                           svit_error *err);

/* A folder of images. A class is a subfolder with at least one image in it, *.jpg, *.jpeg or *.png;
 * classes, and images in them, are in byte order of their names; names that begin with a dot are
 * left out. Images are decoded when they are read and brought to height x width, 1..16384, by the
 * source step `filter`: SVIT_SOURCE_* (pipeline.h). svit_dataset_verify finds those that cannot be.
 * SVIT_E_IO names a folder that cannot be listed; SVIT_E_FORMAT: no class, or the name of a class
 * or of an image that is not UTF-8, in which the message has \xHH for bytes. */
SVIT_API svit_status svit_dataset_folder(svit_dataset **out, svit_context *context,
                                         const char *folder, size_t height, size_t width,
                                         int32_t filter, svit_error *err);

/* The caller's arrays rgb[count, height, width, 3] and labels[count], borrowed until the dataset
 * and all loaders over it are freed. SVIT_E_ARGUMENT names a label out of range. */
SVIT_API svit_status svit_dataset_memory(svit_dataset **out, svit_context *context,
                                         const uint8_t *rgb, const int32_t *labels, size_t count,
                                         size_t height, size_t width, size_t classes,
                                         svit_error *err);

/* Writes sample `index` into rgb[height, width, 3] and *label. Returns 0, or non-zero to stop
 * (SVIT_E_STOPPED). Called only on the thread that called into the library. */
typedef int32_t (*svit_sample_callback)(size_t index, uint8_t *rgb, int32_t *label, void *user);

/* Samples from a callback; loaders over it do not prefetch. */
SVIT_API svit_status svit_dataset_callback(svit_dataset **out, svit_context *context,
                                           svit_sample_callback sample, size_t count, size_t height,
                                           size_t width, size_t classes, void *user,
                                           svit_error *err);

/* Drawn shapes and textures, 10 classes, 32x32, `count` samples of which each is a function of
 * (seed, split, index) alone; label is index mod 10. `split` one of SVIT_SPLIT_*. */
SVIT_API svit_status svit_dataset_synthetic(svit_dataset **out, svit_context *context,
                                            uint64_t seed, int32_t split, size_t count,
                                            svit_error *err);

/* The part first..first+count-1 of `parent`, which it keeps alive. */
SVIT_API svit_status svit_dataset_slice(svit_dataset **out, svit_dataset *parent, size_t first,
                                        size_t count, svit_error *err);

/* The samples indices[0..count-1] of `parent`, copied; it keeps `parent` alive. */
SVIT_API svit_status svit_dataset_select(svit_dataset **out, svit_dataset *parent,
                                         const size_t *indices, size_t count, svit_error *err);

/* NULL allowed. */
SVIT_API void svit_dataset_free(svit_dataset *dataset);

/* Sizes; 0 for NULL. */
SVIT_API size_t svit_dataset_count(const svit_dataset *dataset);
SVIT_API size_t svit_dataset_height(const svit_dataset *dataset);
SVIT_API size_t svit_dataset_width(const svit_dataset *dataset);
SVIT_API size_t svit_dataset_classes(const svit_dataset *dataset);

/* The name of a class; NULL where it has none or past the end. Borrowed until the dataset ends. */
SVIT_API const char *svit_dataset_class_name(const svit_dataset *dataset, size_t label);

/* Reads one sample into rgb[height, width, 3] and *label. SVIT_E_FORMAT names the file of a
 * image that cannot be decoded; SVIT_E_ARGUMENT a label out of range from a callback. */
SVIT_API svit_status svit_dataset_sample(const svit_dataset *dataset, size_t index, uint8_t *rgb,
                                         int32_t *label, svit_error *err);

/* Told of sample `index` that cannot be read: `status` is SVIT_E_IO or SVIT_E_FORMAT, `message`
 * what svit_dataset_sample says, which names the file; borrowed for the call. Returns 0, or
 * non-zero to stop. */
typedef int32_t (*svit_bad_sample_callback)(size_t index, svit_status status, const char *message,
                                            void *user);

/* Reads every sample in full, on the context's workers (of callbacks: on the calling thread), and
 * calls `bad` (NULL allowed) for each that cannot be read, in the order of their indices, on the
 * calling thread. Of a folder: damaged and unreadable files, formats that are not accepted, such as
 * CMYK JPEGs, and what is no regular file. *bad_count (NULL allowed) is their number, written on
 * success. svit_dataset_select makes a dataset without them. Fails with
 * SVIT_E_MEMORY where memory runs out, SVIT_E_STOPPED where `bad` or a sample callback stops, and
 * SVIT_E_ARGUMENT where a sample callback gives a label out of range. */
SVIT_API svit_status svit_dataset_verify(const svit_dataset *dataset, svit_bad_sample_callback bad,
                                         void *user, size_t *bad_count, svit_error *err);

/* A number by which two datasets can be told apart: of whether samples come from a callback, count,
 * height, width, classes, class names, and pixels and labels of up to 64 samples spread evenly over
 * the dataset. Of a callback, which may give other samples each time, it reads none. The same on
 * every machine; how the samples are held (files, memory, a slice of more) does not matter. It is
 * no proof that two datasets are equal. Fails as svit_dataset_sample does; *fingerprint is written
 * on success only. Threads as svit_dataset_sample. */
SVIT_API svit_status svit_dataset_fingerprint(const svit_dataset *dataset, uint64_t *fingerprint,
                                              svit_error *err);

/* mean[3] and variance[3] of the dataset's bytes * scale, by channel, accumulated in double. */
SVIT_API svit_status svit_dataset_statistics(const svit_dataset *dataset, double scale,
                                             double mean[3], double variance[3], svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
