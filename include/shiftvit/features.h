/* Feature sets: what a layer of a model computes for many images, with their labels; classifiers
 * that are trained on them in seconds; k-nearest neighbours. */
#ifndef SHIFTVIT_FEATURES_H
#define SHIFTVIT_FEATURES_H

#include <shiftvit/dataset.h>
#include <shiftvit/model.h>
#include <shiftvit/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A feature set has features[count, channels], finite floats; labels[count], each a class in
 * 0..classes-1 or -1 for none; the names of the classes, or none of them; and two texts, the name
 * of the layer and a description of the model. Any number of threads may read it;
 * svit_features_append needs it alone. In all functions that create one, the caller owns *out and
 * frees it with svit_features_free. */
typedef struct svit_features svit_features;

/* What becomes of a layer with several tokens for each image. */
enum {
    SVIT_TOKENS_MEAN = 0,    /* the mean over the patches, without class, distillation and register
                             tokens */
    SVIT_TOKENS_CLASS = 1,   /* the class token */
    SVIT_TOKENS_PATCHES = 2, /* each patch is a sample with the label of its image: those of an
                                   image follow each other, row by row */
    SVIT_TOKENS_PATCHES_3X3 = 3 /* the same, each patch the mean of itself and those of the eight
                                   around it that lie within the image */
};

/* How samples are compared. */
enum {
    SVIT_METRIC_COSINE = 0,   /* the cosine similarity; 0 for a feature of zeros, for which one of
                                 subnormal numbers passes */
    SVIT_METRIC_EUCLIDEAN = 1 /* the Euclidean distance; of c channels: below
                                 1.1e-19 * sqrt(c) it may be 0, above 1.8e19 it is infinite */
};

/* How features are computed. */
typedef struct svit_features_config {
    uint32_t struct_size;  /* sizeof(svit_features_config) */
    uint32_t batch;        /* images in one forward pass, 1..65536; all if there are fewer */
    int32_t compute;       /* SVIT_COMPUTE_* of session.h */
    int32_t tokens;        /* SVIT_TOKENS_*; no effect on a layer with one token for each image */
    const char *layer;     /* a name that svit_session_layer_name returns; NULL: "features", the
                              input of the classifier. In a distilled model that is the class
                              token, then the distillation token: 2 dim values */
    svit_context *context; /* whose workers compute, as in svit_session_config; NULL: the model's */
} svit_features_config;

/* Fills `config` with the defaults: batch 256, SVIT_COMPUTE_F32, SVIT_TOKENS_MEAN, the layer
 * "features", the model's context. `size` is sizeof(svit_features_config) as the caller was
 * compiled. Any thread may call it. */
SVIT_API svit_status svit_features_config_init(svit_features_config *config, size_t size);

/* Computes the features of all images of `dataset` in its order, with its labels and class names; a
 * dataset of targets gives the label -1. A sample is an image, or a patch of one by `tokens`.
 * Images go through the evaluation of `pipeline`; NULL: that of the model. Besides the result, the
 * memory is that of a session and a loader of one batch. The features of an image do not depend on
 * the number of threads.
 *
 * SVIT_E_STATE: the model has no pipeline. SVIT_E_ARGUMENT: there is no such layer or no class
 * token, the dataset is empty, or the channels of model, pipeline and dataset differ.
 * SVIT_E_NUMERIC: a feature is not finite. Other errors are those of svit_session_create and
 * svit_loader_next. */
SVIT_API svit_status svit_features_compute(svit_features **out, svit_model *model,
                                           svit_dataset *dataset,
                                           const svit_pipeline_config *pipeline,
                                           const svit_features_config *config, svit_error *err);

/* An extractor computes the features of images as they come, with the memory of one batch. Together
 * with a set of known images, which svit_features_nearest and svit_features_knn search, it
 * classifies the images of a camera or finds what is odd in them. One thread at a time may use it.
 * It keeps the model alive, follows changes of its weights, and is created anew after a change of
 * its pipeline. */
typedef struct svit_extractor svit_extractor;

/* Creates an extractor of features as svit_features_compute makes them: of the evaluation of
 * `pipeline`, NULL for that of the model, with the layer, tokens and compute of `config`, NULL for
 * the defaults. config->batch is the largest number of images in one forward pass, for which it has
 * memory: 1 suits one image at a time. The layer's name is copied. The caller owns *out and frees
 * it with svit_extractor_free. Errors are those of svit_features_compute and svit_session_create.
 * Any thread may call it. */
SVIT_API svit_status svit_extractor_create(svit_extractor **out, svit_model *model,
                                           const svit_pipeline_config *pipeline,
                                           const svit_features_config *config, svit_error *err);

/* Frees an extractor. NULL is allowed. */
SVIT_API void svit_extractor_free(svit_extractor *extractor);

/* Returns the number of channels of a feature; 0 for NULL. */
SVIT_API size_t svit_extractor_channels(const svit_extractor *extractor);

/* Writes what a sample of the features is, as svit_features_grid. */
SVIT_API svit_status svit_extractor_grid(const svit_extractor *extractor, int32_t *tokens,
                                         size_t *height, size_t *width, svit_error *err);

/* Computes the features of n images pixels[n, height, width, channels], n at least 1, of one size
 * with sides of 1..16384 pixels, with the channels of the pipeline, in rows from top to bottom
 * without padding. Writes features[n, grid height, grid width, channels of a feature], the grid
 * being that of svit_extractor_grid: rows that svit_features_nearest and svit_features_knn take as
 * queries. Features of the same batches have the bits of svit_features_compute. The call allocates
 * memory for the preprocessing as svit_predict_u8 does. SVIT_E_ARGUMENT names what is out of range.
 * SVIT_E_NUMERIC: a feature is not finite. Other errors are those of svit_predict_u8. A call that
 * fails may have written some of the features. */
SVIT_API svit_status svit_extract_u8(svit_extractor *extractor, const uint8_t *pixels, size_t n,
                                     size_t height, size_t width, float *features, svit_error *err);

/* Does the same for float images[n, height, width, channels]; errors besides are those of
 * svit_predict_f32. */
SVIT_API svit_status svit_extract_f32(svit_extractor *extractor, const float *images, size_t n,
                                      size_t height, size_t width, float *features,
                                      svit_error *err);

/* Creates a set from copies of features[count, channels], labels[count] and class_names[classes].
 * `labels` may be NULL: all are -1. `class_names` may be NULL: no names. The texts of the layer and
 * of the model are empty. `channels` is 1..1048576, `classes` 0..1048576, `count` at least 1.
 * SVIT_E_ARGUMENT names the argument, the feature or the label that is not accepted. */
SVIT_API svit_status svit_features_create(svit_features **out, svit_context *context,
                                          const float *features, const int32_t *labels,
                                          size_t count, size_t channels, size_t classes,
                                          const char *const *class_names, svit_error *err);

/* Reads a set from a safetensors file with the tensors `features` [count, channels] of F32, F16 or
 * BF16 and `labels` [count] of I32 or I64; without `labels` all are -1. Other tensors are passed
 * over. The metadata are those of svit_features_save; a file without them has as many classes as
 * its largest label needs. SVIT_E_IO: the file cannot be read. SVIT_E_FORMAT names the tensor, the
 * element or the metadata that is not accepted. */
SVIT_API svit_status svit_features_load(svit_features **out, svit_context *context,
                                        const char *path, svit_error *err);

/* Writes the set as a safetensors file with the tensors `features` [count, channels] (F32) and
 * `labels` [count] (I32) and the metadata "format" ("shiftvit-features"), "format_version" ("1"),
 * "class_count", "classes" (a JSON array of names, if there are any), "layer", "model", and for
 * samples that are patches "tokens" and "grid" (as "14x14"). An existing file is replaced
 * atomically, as svit_file_replace. SVIT_E_IO names the path. */
SVIT_API svit_status svit_features_save(const svit_features *features, const char *path,
                                        svit_error *err);

/* Frees a set. NULL is allowed. */
SVIT_API void svit_features_free(svit_features *features);

/* Returns the number of samples; 0 for NULL. */
SVIT_API size_t svit_features_count(const svit_features *features);

/* Returns the number of channels; 0 for NULL. */
SVIT_API size_t svit_features_channels(const svit_features *features);

/* Returns the number of classes; 0 for NULL. */
SVIT_API size_t svit_features_classes(const svit_features *features);

/* Returns features[count, channels], borrowed until the set is freed or appended to; NULL for
 * NULL. */
SVIT_API const float *svit_features_values(const svit_features *features);

/* Returns labels[count], borrowed likewise; NULL for NULL. */
SVIT_API const int32_t *svit_features_labels(const svit_features *features);

/* Returns the name of class `label`, borrowed likewise, or NULL past the end or if the set has no
 * names. */
SVIT_API const char *svit_features_class_name(const svit_features *features, size_t label);

/* Returns the name of the layer, "" if it is unknown, borrowed until the set is freed; NULL for
 * NULL. */
SVIT_API const char *svit_features_layer(const svit_features *features);

/* Returns the description of the model, "" if it is unknown, borrowed likewise; NULL for NULL. It
 * has the architecture and a fingerprint of all weights below the classifier, so that it tells two
 * models apart and stays the same if only the classifier changes. */
SVIT_API const char *svit_features_model(const svit_features *features);

/* Writes what the samples of a set are: SVIT_TOKENS_* to *tokens, and the grid of an image's
 * patches to *height and *width, 1 x 1 if a sample is an image. svit_features_save keeps them. */
SVIT_API svit_status svit_features_grid(const svit_features *features, int32_t *tokens,
                                        size_t *height, size_t *width, svit_error *err);

/* Appends the samples of `other` to those of `features`, which are two sets. Classes are matched
 * by their names, and those that `features` does not have are added behind its own. If neither
 * set has names, labels stay as they are. A set that has no room for the samples gets it for half
 * as many again, so that many calls take linear time. SVIT_E_ARGUMENT: channels, layers or grids
 * differ, only one of the two has names though both have classes, or two classes of one set have
 * the same name. A failed call changes nothing. A difference of the models is a warning in the
 * context's log. */
SVIT_API svit_status svit_features_append(svit_features *features, const svit_features *other,
                                          svit_error *err);

/* Classifies queries[n, channels] by their k nearest neighbours in `reference`: the samples with
 * the largest cosine similarity, of equal ones the first. Each neighbour votes for its class with
 * exp(similarity / temperature), and a row of probabilities[n, classes] is the votes divided by
 * their sum, as in DINO's evaluation (Caron et al. 2021, with k 20 and temperature 0.07). A feature
 * of zeros has the similarity 0 with all others. `k` is at least 1 and may exceed the number of
 * samples; `temperature` is a normal number above 0, no subnormal one. The result does not depend
 * on the number of threads. A class that no neighbour is of has the probability 0: where the
 * neighbours are of fewer than K classes, svit_count_top_k finds every label among the K largest.
 * SVIT_E_ARGUMENT names what is not accepted: also a
 * query that is not finite, or a sample of `reference` without a label. */
SVIT_API svit_status svit_features_knn(const svit_features *reference, const float *queries,
                                       size_t n, size_t k, double temperature, float *probabilities,
                                       svit_error *err);

/* Finds the k samples of `reference` that are nearest to each of queries[n, channels], the nearest
 * first, of equally near ones the first. Writes their numbers to indices[n, k], and to
 * distances[n, k] what `metric`, one of SVIT_METRIC_*, says of them. `k` is 1 to the number of
 * samples. The result does not depend on the number of threads. SVIT_E_ARGUMENT names what is not
 * accepted: also a query that is not finite. SVIT_E_NUMERIC: a distance is not finite; the
 * outputs are then written all the same. */
SVIT_API svit_status svit_features_nearest(const svit_features *reference, const float *queries,
                                           size_t n, size_t k, int32_t metric, size_t *indices,
                                           float *distances, svit_error *err);

/* Creates a set of `count` samples that cover all samples of `features` (the greedy solution of the
 * k-centre problem): the first sample, then again and again the one whose Euclidean distance from
 * the nearest of those chosen so far is largest, of equal ones the first. Their order is that in
 * which they are chosen; labels, names and texts come along. `count` is 1 to the number of samples.
 * The time is that of count times the samples of distances. The result does not depend on the
 * number of threads. The caller owns *out and frees it with svit_features_free. SVIT_E_ARGUMENT:
 * `count`. SVIT_E_NUMERIC: a sample is too far from those chosen for the square in float32.
 *
 * With svit_features_nearest this finds anomalies without training, as PatchCore does (Roth et al.
 * 2022): the memory is a coreset of the patches of good images (SVIT_TOKENS_PATCHES_3X3), the
 * anomaly of a patch is its Euclidean distance from the nearest sample of the memory, and that of
 * an image the largest of its patches. */
SVIT_API svit_status svit_features_coreset(svit_features **out, const svit_features *features,
                                           size_t count, svit_error *err);

/* How svit_model_fit_head trains: AdamW, whose learning rate falls to 0 as half a cosine. */
typedef struct svit_head_config {
    uint32_t struct_size;   /* sizeof(svit_head_config) */
    uint32_t epochs;        /* 1..1000000 */
    uint32_t batch;         /* samples in an update, 1..65536; all of them if there are fewer */
    int32_t balanced;       /* 1: each class counts as much as any other in the loss */
    double learning_rate;   /* above 0: of the first update */
    double weight_decay;    /* AdamW's, of weights; biases have none. Negative: 5000 divided
                               by the number of samples, at most 10, since few need more */
    double label_smoothing; /* [0, 1) */
    uint64_t seed;          /* of the order of the samples and of dropout in the head */
} svit_head_config;

/* Fills `config` with the defaults: 100 epochs, batch 256, not balanced, learning rate 0.003,
 * weight decay -1, no label smoothing, seed 0. Rate and decay suit features whose standard
 * deviation is 0.1 to 10, and a warning in the log says where it is not. `size` is
 * sizeof(svit_head_config) as the caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_head_config_init(svit_head_config *config, size_t size);

/* Fills `config` from a JSON object, as svit_class_config_from_json does. SVIT_E_VERSION: a struct
 * of this `size` lacks a field that is not at its default. */
SVIT_API svit_status svit_head_config_from_json(svit_head_config *config, size_t size,
                                                const char *json, svit_error *err);

/* Writes `config` as the JSON object that svit_head_config_from_json reads, as
 * svit_class_config_to_json does. */
SVIT_API svit_status svit_head_config_to_json(const svit_head_config *config, char *buffer,
                                              size_t capacity, size_t *needed, svit_error *err);

/* Trains the classifier of `model`, its hidden layers included, on `features` by the cross-entropy
 * with its labels, from the weights that it has; svit_model_replace_head gives it new ones. Frozen
 * parameters stay as they are, and so do all below the classifier. The class names of the set, if
 * it has any, become those of the model, and SVIT_OUTPUT_SOFTMAX its output. The same bits result
 * with any number of threads. `config` may be NULL for the defaults.
 *
 * SVIT_E_STATE: the model has no classifier, or every parameter of it is frozen. SVIT_E_ARGUMENT:
 * the model has another number of classes than the set or one of its names under another label, the
 * set is of another layer than "features" or has other channels, a sample has no label, or a field
 * of `config` is out of range. A set of another model is a warning in the log. After
 * SVIT_E_NUMERIC, for a loss that is not finite, and after SVIT_E_STOPPED the classifier is partly
 * trained. */
SVIT_API svit_status svit_model_fit_head(svit_model *model, const svit_features *features,
                                         const svit_head_config *config, svit_error *err);

/* How svit_model_fit_class finds the row of a new class. */
typedef struct svit_class_config {
    uint32_t struct_size; /* sizeof(svit_class_config) */
    uint32_t reserved;    /* 0; another value is SVIT_E_VERSION */
    double weight_decay;  /* with old features, at least 0: the penalty is weight_decay |w|^2 / 2 on
                             features divided by their standard deviation, one
                             number for all channels */
    double new_weight;    /* with old features, (0, 1e30]: the weight of all new samples together in
                             the loss, divided by that of an average old class. A larger one finds
                             more of the new class and takes more from the old ones */
    double recall;        /* without old features, (0, 1]: the fraction of the new samples whose new
                             logit exceeds those of all old classes, or 0 in a model of several
                             labels (SVIT_OUTPUT_SIGMOID) */
} svit_class_config;

/* Fills `config` with the defaults: weight decay 0.1, new_weight 2, recall 0.6. `size` is
 * sizeof(svit_class_config) as the caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_class_config_init(svit_class_config *config, size_t size);

/* Fills `config` from a JSON object whose keys are the names of the fields; a missing one takes its
 * default. `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value
 * that is not accepted; SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a
 * struct of this `size` lacks a field that is not at its default. Any thread may call it. */
SVIT_API svit_status svit_class_config_from_json(svit_class_config *config, size_t size,
                                                 const char *json, svit_error *err);

/* Writes `config` as the JSON object that svit_class_config_from_json reads. `buffer`, `capacity`
 * and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is out of range.
 * Any thread may call it. */
SVIT_API svit_status svit_class_config_to_json(const svit_class_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err);

/* Adds one class to the classifier of `model` and fits its row and its bias to `features`, samples
 * of the new class alone, whose labels are not read. The rows of the old classes keep their bits.
 * `name` is the new class in a model with class names; NULL drops the names, and a model without
 * names stays without.
 *
 * `old`, samples of the old classes whose labels are not read either, may be NULL. With it, the row
 * is that of a logistic regression of the new class against all old ones, whose logits are fixed.
 * Without it, the row points to the mean of the new features and is as long as the old rows are on
 * average; its bias follows from `recall`, where each sample is measured with the row from the
 * others. In a model of several labels (SVIT_OUTPUT_SIGMOID) the new label stands alone, as its
 * probability does: the regression tells its samples from the old ones whatever their labels.
 * Both are of the layer "features" of this model; other models are a warning in the log.
 * `config` may be NULL for the defaults. The result does not depend on the number of threads.
 *
 * The model needs to be alone, as in svit_model_add_classes: SVIT_E_STATE; also if it has no
 * classifier, or predicts numbers (SVIT_OUTPUT_LOGITS). SVIT_E_UNSUPPORTED: the classifier has
 * hidden layers. SVIT_E_ARGUMENT: the channels are not those of the classifier, the layer is
 * another, the name exists, or the mean of the features is 0. SVIT_E_NUMERIC: the row is not
 * finite. A failed call leaves the model as it was. */
SVIT_API svit_status svit_model_fit_class(svit_model *model, const char *name,
                                          const svit_features *features, const svit_features *old,
                                          const svit_class_config *config, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
