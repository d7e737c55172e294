/* Public headers of a release, which tests/abi/record.sh has written. */
/* clang-format off */
#include <stddef.h>
#include <stdint.h>
#define SVIT_API
#ifndef SHIFTVIT_VERSION_H
#define SHIFTVIT_VERSION_H 
#ifdef __cplusplus
extern "C" {
#endif
#define SVIT_VERSION_MAJOR 0
#define SVIT_VERSION_MINOR 3
#define SVIT_VERSION_PATCH 0
#define SVIT_VERSION_NUMBER \
    (SVIT_VERSION_MAJOR << 16 | SVIT_VERSION_MINOR << 8 | SVIT_VERSION_PATCH)
#define SVIT_VERSION_AT_LEAST(major,minor,patch) \
    (SVIT_VERSION_NUMBER >= ((major) << 16 | (minor) << 8 | (patch)))
SVIT_API uint32_t svit_version_number(void);
SVIT_API const char *svit_version_string(void);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_STATUS_H
#define SHIFTVIT_STATUS_H 
#include <stddef.h>
#include <stdint.h>
#ifndef SVIT_API
#define SVIT_API 
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef int32_t svit_status;
enum {
    SVIT_OK = 0,
    SVIT_E_ARGUMENT = -1,
    SVIT_E_MEMORY = -2,
    SVIT_E_STATE = -3,
    SVIT_E_IO = -4,
    SVIT_E_FORMAT = -5,
    SVIT_E_VERSION = -6,
    SVIT_E_STOPPED = -7,
    SVIT_E_UNSUPPORTED = -8,
    SVIT_E_NUMERIC = -9
};
typedef struct svit_error {
    uint32_t struct_size;
    int32_t code;
    char message[248];
} svit_error;
SVIT_API const char *svit_status_name(svit_status status);
SVIT_API svit_status svit_error_set(svit_error *err, svit_status status, const char *message);
SVIT_API svit_status svit_constant(const char *name, int64_t *value, svit_error *err);
SVIT_API const char *svit_constant_name(size_t index);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_ALLOCATOR_H
#define SHIFTVIT_ALLOCATOR_H 
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef void *(*svit_allocate_function)(void *user, size_t bytes, size_t alignment);
typedef void (*svit_release_function)(void *user, void *memory, size_t bytes);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_PARALLEL_H
#define SHIFTVIT_PARALLEL_H 
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef void (*svit_task_function)(void *task_user, size_t index);
typedef void (*svit_parallel_for_function)(void *user, size_t count, svit_task_function task,
                                           void *task_user);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_CONTEXT_H
#define SHIFTVIT_CONTEXT_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_context svit_context;
enum {
    SVIT_LOG_INFO = 0,
    SVIT_LOG_WARNING = 1
};
typedef void (*svit_log_function)(void *user, int32_t level, const char *message);
typedef struct svit_context_config {
    uint32_t struct_size;
    uint32_t threads;
    svit_allocate_function allocate;
    svit_release_function release;
    void *allocator_user;
    svit_log_function log;
    void *log_user;
    const char *gemm;
    svit_parallel_for_function parallel_for;
    void *parallel_for_user;
    int32_t pin;
    uint32_t reserved;
} svit_context_config;
SVIT_API svit_status svit_context_config_init(svit_context_config *config, size_t size);
SVIT_API svit_status svit_context_create(svit_context **out, const svit_context_config *config,
                                         svit_error *err);
SVIT_API svit_context *svit_context_retain(svit_context *context);
SVIT_API void svit_context_free(svit_context *context);
SVIT_API svit_status svit_context_check(const svit_context *context, svit_error *err);
SVIT_API uint32_t svit_context_threads(const svit_context *context);
SVIT_API svit_status svit_context_describe(const svit_context *context, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err);
SVIT_API void *svit_context_allocate(svit_context *context, size_t bytes);
SVIT_API void svit_context_release(svit_context *context, void *memory, size_t bytes);
SVIT_API void svit_context_log(const svit_context *context, int32_t level, const char *message);
typedef struct svit_folder_lock svit_folder_lock;
SVIT_API svit_status svit_folder_lock_create(svit_folder_lock **out, svit_context *context,
                                             const char *folder, svit_error *err);
SVIT_API void svit_folder_lock_free(svit_folder_lock *lock);
SVIT_API int32_t svit_folder_lock_has(const svit_folder_lock *lock, const char *name);
SVIT_API svit_status svit_folder_lock_remove(svit_folder_lock *lock, const char *name,
                                             svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_IMAGE_H
#define SHIFTVIT_IMAGE_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_image svit_image;
SVIT_API svit_status svit_image_read(svit_image **out, svit_context *context, const char *path,
                                     size_t channels, svit_error *err);
SVIT_API svit_status svit_image_decode(svit_image **out, svit_context *context, const void *data,
                                       size_t bytes, const char *name, size_t channels,
                                       svit_error *err);
SVIT_API const char *svit_image_endings(void);
SVIT_API void svit_image_free(svit_image *image);
SVIT_API size_t svit_image_height(const svit_image *image);
SVIT_API size_t svit_image_width(const svit_image *image);
SVIT_API size_t svit_image_channels(const svit_image *image);
SVIT_API const uint8_t *svit_image_pixels(const svit_image *image);
SVIT_API svit_status svit_image_write_png(svit_context *context, const char *path,
                                          const uint8_t *rgb, size_t height, size_t width,
                                          svit_error *err);
SVIT_API svit_status svit_resize_nearest_u8(const uint8_t *in, size_t height, size_t width,
                                            uint8_t *out, size_t out_height, size_t out_width,
                                            svit_error *err);
SVIT_API svit_status svit_resize_antialias_u8(svit_context *context, const uint8_t *in,
                                              size_t height, size_t width, uint8_t *out,
                                              size_t out_height, size_t out_width, svit_error *err);
SVIT_API svit_status svit_resize_bilinear_f32(const float *in, size_t height, size_t width,
                                              size_t channels, float *out, size_t out_height,
                                              size_t out_width, svit_error *err);
SVIT_API svit_status svit_flip_horizontal_f32(const float *in, size_t height, size_t width,
                                              size_t channels, float *out, svit_error *err);
SVIT_API svit_status svit_affine_f32(const float *in, size_t height, size_t width, size_t channels,
                                     const double transform[6], float *out, svit_error *err);
SVIT_API svit_status svit_affine_rotation(double turns, size_t height, size_t width,
                                          double transform[6], svit_error *err);
SVIT_API svit_status svit_affine_zoom(double height_factor, double width_factor, size_t height,
                                      size_t width, double transform[6], svit_error *err);
enum {
    SVIT_SPT_KERAS = 0,
    SVIT_SPT_PAPER = 1
};
SVIT_API svit_status svit_patches_f32(const float *in, size_t height, size_t width, size_t channels,
                                      size_t patch, int32_t spt, int32_t spt_order, float *out,
                                      svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_PIPELINE_H
#define SHIFTVIT_PIPELINE_H 
#ifdef __cplusplus
extern "C" {
#endif
enum {
    SVIT_EVALUATE_RESIZE = 0,
    SVIT_EVALUATE_KEEP = 1,
    SVIT_EVALUATE_CROP = 2
};
enum {
    SVIT_SOURCE_NEAREST = 0,
    SVIT_SOURCE_SHORTER_SIDE = 1,
    SVIT_SOURCE_BICUBIC = 2,
    SVIT_SOURCE_SHORTER_SIDE_PILLOW_12 = 3,
    SVIT_SOURCE_BICUBIC_PILLOW_12 = 4,
    SVIT_SOURCE_SQUASH = 5,
    SVIT_SOURCE_SQUASH_BICUBIC = 6
};
enum {
    SVIT_AUGMENT_CROP = 0,
    SVIT_AUGMENT_FLIP = 1,
    SVIT_AUGMENT_COLOR_JITTER = 2,
    SVIT_AUGMENT_RANDAUGMENT = 3,
    SVIT_AUGMENT_TRIVIALAUGMENT = 4,
    SVIT_AUGMENT_AUTOAUGMENT = 5,
    SVIT_AUGMENT_RESIZED_CROP = 6,
    SVIT_AUGMENT_ERASING = 7,
    SVIT_AUGMENT_CUTOUT = 8,
    SVIT_AUGMENT_MIXUP = 9,
    SVIT_AUGMENT_CUTMIX = 10,
    SVIT_AUGMENT_REPEAT = 11
};
enum {
    SVIT_CROP_ZERO = 0,
    SVIT_CROP_REFLECT = 1,
    SVIT_FLIP_RANDOM = 0,
    SVIT_FLIP_ALTERNATING = 1,
    SVIT_AUTOAUGMENT_CIFAR10 = 0,
    SVIT_AUTOAUGMENT_IMAGENET = 1,
    SVIT_RESIZE_BILINEAR = 0,
    SVIT_RESIZE_BICUBIC = 1
};
typedef struct svit_augment_step {
    int32_t kind;
    int32_t mode;
    uint32_t padding;
    uint32_t count;
    uint32_t magnitude;
    uint32_t size;
    uint32_t off_epoch;
    uint32_t reserved;
    double probability;
    double scale[2];
    double ratio[2];
    double brightness;
    double contrast;
    double saturation;
    double alpha;
    double hue;
} svit_augment_step;
enum {
    SVIT_MAX_AUGMENT_STEPS = 16,
    SVIT_MAX_CHANNELS = 4
};
typedef struct svit_pipeline_config {
    uint32_t struct_size;
    uint32_t source_height;
    uint32_t source_width;
    uint32_t resize_height;
    uint32_t resize_width;
    uint32_t output_height;
    uint32_t output_width;
    int32_t evaluation;
    int32_t per_batch;
    int32_t source_filter;
    uint32_t channels;
    uint32_t augment_count;
    double flip_probability;
    double scale;
    double mean[SVIT_MAX_CHANNELS];
    double variance[SVIT_MAX_CHANNELS];
    double rotation;
    double zoom;
    svit_augment_step augment[SVIT_MAX_AUGMENT_STEPS];
} svit_pipeline_config;
SVIT_API svit_status svit_pipeline_config_init(svit_pipeline_config *config, size_t size);
SVIT_API svit_status svit_pipeline_config_from_json(svit_pipeline_config *config, size_t size,
                                                    const char *json, svit_error *err);
SVIT_API svit_status svit_pipeline_config_to_json(const svit_pipeline_config *config, char *buffer,
                                                  size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_pipeline_evaluation_size(const svit_pipeline_config *config,
                                                   size_t *height, size_t *width, svit_error *err);
SVIT_API svit_status svit_pipeline_apply_source(svit_context *context,
                                                const svit_pipeline_config *config,
                                                const uint8_t *pixels, size_t height, size_t width,
                                                uint8_t *out, svit_error *err);
SVIT_API svit_status svit_pipeline_apply_evaluation(svit_context *context,
                                                    const svit_pipeline_config *config,
                                                    const uint8_t *pixels, size_t n, size_t height,
                                                    size_t width, float *out, svit_error *err);
SVIT_API svit_status svit_pipeline_apply_evaluation_f32(svit_context *context,
                                                        const svit_pipeline_config *config,
                                                        const float *images, size_t n,
                                                        size_t height, size_t width, float *out,
                                                        svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_DATASET_H
#define SHIFTVIT_DATASET_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_dataset svit_dataset;
enum {
    SVIT_SPLIT_TRAIN = 0,
    SVIT_SPLIT_TEST = 1,
    SVIT_SPLIT_VALIDATION = 2
};
enum {
    SVIT_LABELS_FINE = 0,
    SVIT_LABELS_COARSE = 1
};
SVIT_API svit_status svit_dataset_cifar10(svit_dataset **out, svit_context *context,
                                          const char *folder, int32_t split, svit_error *err);
SVIT_API svit_status svit_dataset_cifar100(svit_dataset **out, svit_context *context,
                                           const char *folder, int32_t split, int32_t labels,
                                           svit_error *err);
SVIT_API svit_status svit_dataset_folder(svit_dataset **out, svit_context *context,
                                         const char *folder, size_t height, size_t width,
                                         size_t channels, int32_t filter, svit_error *err);
SVIT_API svit_status svit_dataset_memory(svit_dataset **out, svit_context *context,
                                         const uint8_t *pixels, const int32_t *labels, size_t count,
                                         size_t height, size_t width, size_t channels,
                                         size_t classes, svit_error *err);
SVIT_API svit_status svit_dataset_folder_pipeline(svit_dataset **out, svit_context *context,
                                                  const char *folder,
                                                  const svit_pipeline_config *pipeline,
                                                  svit_error *err);
SVIT_API svit_status svit_dataset_list(svit_dataset **out, svit_context *context, const char *file,
                                       const svit_pipeline_config *pipeline, svit_error *err);
SVIT_API svit_status svit_dataset_shards(svit_dataset **out, svit_context *context,
                                         const char *pattern, const svit_pipeline_config *pipeline,
                                         svit_error *err);
SVIT_API svit_status svit_dataset_memory_targets(svit_dataset **out, svit_context *context,
                                                 const uint8_t *pixels, const float *targets,
                                                 size_t count, size_t height, size_t width,
                                                 size_t channels, size_t columns, svit_error *err);
SVIT_API svit_status svit_dataset_memory_f32(svit_dataset **out, svit_context *context,
                                             const float *images, const int32_t *labels,
                                             const float *targets, size_t count, size_t height,
                                             size_t width, size_t channels, size_t classes,
                                             svit_error *err);
typedef int32_t (*svit_sample_callback)(size_t index, uint8_t *pixels, int32_t *label, void *user);
SVIT_API svit_status svit_dataset_callback(svit_dataset **out, svit_context *context,
                                           svit_sample_callback sample, size_t count, size_t height,
                                           size_t width, size_t channels, size_t classes,
                                           void *user, svit_error *err);
SVIT_API svit_status svit_dataset_synthetic(svit_dataset **out, svit_context *context,
                                            uint64_t seed, int32_t split, size_t count,
                                            svit_error *err);
SVIT_API svit_status svit_dataset_slice(svit_dataset **out, svit_dataset *parent, size_t first,
                                        size_t count, svit_error *err);
SVIT_API svit_status svit_dataset_select(svit_dataset **out, svit_dataset *parent,
                                         const size_t *indices, size_t count, svit_error *err);
SVIT_API svit_status svit_dataset_match_classes(svit_dataset **out, svit_dataset *parent,
                                                const char *const *names, size_t count,
                                                svit_error *err);
SVIT_API void svit_dataset_free(svit_dataset *dataset);
SVIT_API size_t svit_dataset_count(const svit_dataset *dataset);
SVIT_API size_t svit_dataset_height(const svit_dataset *dataset);
SVIT_API size_t svit_dataset_width(const svit_dataset *dataset);
SVIT_API size_t svit_dataset_channels(const svit_dataset *dataset);
SVIT_API int32_t svit_dataset_is_f32(const svit_dataset *dataset);
SVIT_API int32_t svit_dataset_has_targets(const svit_dataset *dataset);
SVIT_API size_t svit_dataset_classes(const svit_dataset *dataset);
SVIT_API const char *svit_dataset_class_name(const svit_dataset *dataset, size_t label);
SVIT_API svit_status svit_dataset_path(const svit_dataset *dataset, size_t index, char *buffer,
                                       size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_dataset_sample(const svit_dataset *dataset, size_t index, uint8_t *pixels,
                                         int32_t *label, svit_error *err);
SVIT_API svit_status svit_dataset_sample_f32(const svit_dataset *dataset, size_t index,
                                             float *image, int32_t *label, svit_error *err);
SVIT_API svit_status svit_dataset_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                        svit_error *err);
SVIT_API svit_status svit_dataset_targets(const svit_dataset *dataset, size_t index, float *targets,
                                          svit_error *err);
typedef int32_t (*svit_bad_sample_callback)(size_t index, svit_status status, const char *message,
                                            void *user);
SVIT_API svit_status svit_dataset_verify(const svit_dataset *dataset, svit_bad_sample_callback bad,
                                         void *user, size_t *bad_count, svit_error *err);
SVIT_API svit_status svit_dataset_fingerprint(const svit_dataset *dataset, uint64_t *fingerprint,
                                              svit_error *err);
SVIT_API svit_status svit_dataset_statistics(const svit_dataset *dataset, double scale,
                                             double *mean, double *variance, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_LOADER_H
#define SHIFTVIT_LOADER_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_loader svit_loader;
enum {
    SVIT_SAMPLING_SHUFFLE = 0,
    SVIT_SAMPLING_BALANCED = 1
};
typedef struct svit_loader_config {
    uint32_t struct_size;
    uint32_t batch;
    uint64_t seed;
    int32_t shuffle;
    int32_t augment;
    uint32_t prefetch;
    int32_t sampling;
    uint32_t leaves;
    uint32_t rank;
    uint32_t ranks;
    uint32_t shuffle_window;
} svit_loader_config;
SVIT_API svit_status svit_loader_config_init(svit_loader_config *config, size_t size);
SVIT_API svit_status svit_loader_config_from_json(svit_loader_config *config, size_t size,
                                                  const char *json, svit_error *err);
SVIT_API svit_status svit_loader_config_to_json(const svit_loader_config *config, char *buffer,
                                                size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_loader_create(svit_loader **out, svit_dataset *dataset,
                                        const svit_pipeline_config *pipeline,
                                        const svit_loader_config *config, svit_error *err);
SVIT_API void svit_loader_free(svit_loader *loader);
SVIT_API size_t svit_loader_height(const svit_loader *loader);
SVIT_API size_t svit_loader_width(const svit_loader *loader);
SVIT_API uint64_t svit_loader_batches(const svit_loader *loader);
SVIT_API svit_status svit_loader_next(svit_loader *loader, float *images, int32_t *labels,
                                      size_t *n, svit_error *err);
SVIT_API svit_status svit_loader_next_targets(svit_loader *loader, float *images, float *targets,
                                              size_t *n, svit_error *err);
SVIT_API int32_t svit_loader_has_targets(const svit_loader *loader);
SVIT_API svit_status svit_loader_seek(svit_loader *loader, uint64_t epoch, uint64_t batch,
                                      svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_MODEL_H
#define SHIFTVIT_MODEL_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_model svit_model;
enum {
    SVIT_MAX_STAGES = 8,
    SVIT_MAX_HEAD_LAYERS = 8
};
enum {
    SVIT_ARCHITECTURE_SHIFTVIT = 0,
    SVIT_ARCHITECTURE_VIT = 1,
    SVIT_ARCHITECTURE_MIXER = 2
};
enum {
    SVIT_SHIFT_TRUE = 0,
    SVIT_SHIFT_KERAS = 1
};
enum {
    SVIT_GROUPS_CHANNELS = 0,
    SVIT_GROUPS_SECTIONS = 1
};
enum {
    SVIT_NORM_LAYER = 0,
    SVIT_NORM_GROUP = 1
};
enum {
    SVIT_PADDING_SAME = 0,
    SVIT_PADDING_VALID = 1
};
enum {
    SVIT_DROP_PATH_STAGE = 0,
    SVIT_DROP_PATH_NETWORK = 1,
    SVIT_DROP_PATH_CONSTANT = 2
};
enum {
    SVIT_INIT_KERAS = 0,
    SVIT_INIT_PAPER = 1,
    SVIT_INIT_KERAS_3_14 = 2
};
enum {
    SVIT_TOKENIZER_PATCH = 0,
    SVIT_TOKENIZER_SPT = 1,
    SVIT_TOKENIZER_CONV = 2
};
enum {
    SVIT_ATTENTION_GLOBAL = 0,
    SVIT_ATTENTION_LSA = 1,
    SVIT_ATTENTION_DIFFERENTIAL = 2
};
enum {
    SVIT_TEMPERATURE_DIVIDE = 0,
    SVIT_TEMPERATURE_MULTIPLY = 1
};
enum {
    SVIT_STEM_PATCH = 0,
    SVIT_STEM_WHITENED = 1,
    SVIT_STEM_CONV = 2
};
enum {
    SVIT_MIXER_SHIFT = 0,
    SVIT_MIXER_DEPTHWISE = 1
};
enum {
    SVIT_POOL_FLATTEN = 0,
    SVIT_POOL_CLASS_TOKEN = 1,
    SVIT_POOL_MEAN = 2,
    SVIT_POOL_MEAN_PATCHES = 3,
    SVIT_POOL_CLASS_MEAN = 4,
    SVIT_POOL_ATTENTION = 5
};
enum {
    SVIT_CLASS_TOKEN_BY_POOL = 0,
    SVIT_CLASS_TOKEN_NONE = 1,
    SVIT_CLASS_TOKEN_PRESENT = 2
};
enum {
    SVIT_ROPE_NONE = 0,
    SVIT_ROPE_AXIAL = 1,
    SVIT_ROPE_CENTRED = 2,
    SVIT_ROPE_MIXED = 3
};
enum {
    SVIT_ROPE_AXES_ROWS_FIRST = 0,
    SVIT_ROPE_AXES_COLUMNS_FIRST = 1
};
enum {
    SVIT_ROPE_PAIRS_NEIGHBOURS = 0,
    SVIT_ROPE_PAIRS_HALVES = 1
};
enum {
    SVIT_POSITION_ALL = 0,
    SVIT_POSITION_PATCHES = 1,
    SVIT_POSITION_CLASS_PATCHES = 2,
    SVIT_POSITION_NONE = 3
};
enum {
    SVIT_ACTIVATION_GELU = 0,
    SVIT_ACTIVATION_GELU_TANH = 1,
    SVIT_ACTIVATION_QUICK_GELU = 2
};
enum {
    SVIT_MLP_PLAIN = 0,
    SVIT_MLP_SWIGLU = 1
};
enum {
    SVIT_BLOCK_SEQUENTIAL = 0,
    SVIT_BLOCK_PARALLEL = 1,
    SVIT_BLOCK_PARALLEL_FUSED = 2
};
enum {
    SVIT_NAMES_TIMM = 0,
    SVIT_NAMES_PAPER = 1
};
enum {
    SVIT_OUTPUT_AUTO = 0,
    SVIT_OUTPUT_SOFTMAX = 1,
    SVIT_OUTPUT_SIGMOID = 2,
    SVIT_OUTPUT_LOGITS = 3
};
typedef struct svit_model_config {
    uint32_t struct_size;
    int32_t architecture;
    uint32_t input_height;
    uint32_t input_width;
    uint32_t in_channels;
    uint32_t num_classes;
    uint32_t patch_size;
    uint32_t dim;
    uint32_t stages;
    uint32_t blocks[8];
    uint32_t num_div;
    uint32_t shift_pixel;
    int32_t shift;
    int32_t groups;
    int32_t norm;
    int32_t patch_norm;
    int32_t final_norm;
    int32_t patch_padding;
    int32_t merge_padding;
    int32_t classifier;
    int32_t drop_path_rule;
    int32_t init;
    uint32_t reserved;
    double mlp_ratio;
    double norm_eps;
    double dropout;
    double drop_path;
    uint32_t depth;
    uint32_t heads;
    uint32_t head_dim;
    uint32_t mlp_dim;
    int32_t tokenizer;
    int32_t spt_order;
    int32_t attention;
    int32_t temperature;
    int32_t qkv_bias;
    int32_t mlp_last_gelu;
    int32_t pool;
    uint32_t head_layers;
    uint32_t head_units[8];
    int32_t names;
    uint32_t lora_rank;
    double attention_dropout;
    double head_dropout;
    int32_t stem;
    int32_t mixer;
    uint32_t register_tokens;
    int32_t distilled;
    int32_t position_tokens;
    uint32_t position_height;
    uint32_t position_width;
    int32_t patch_bias;
    int32_t pre_norm;
    int32_t layer_scale;
    int32_t activation;
    int32_t mlp;
    int32_t head_norm;
    uint32_t token_mlp_dim;
    double lora_alpha;
    int32_t class_token;
    int32_t rope;
    int32_t rope_axes;
    int32_t rope_pairs;
    double rope_theta;
    double rope_offset;
    uint32_t rope_height;
    uint32_t rope_width;
    int32_t no_key_bias;
    int32_t qk_norm;
    int32_t attention_norm;
    int32_t mlp_norm;
    uint32_t pool_heads;
    uint32_t pool_mlp_dim;
    int32_t rms_norm;
    int32_t block;
    double mask_ratio;
} svit_model_config;
SVIT_API svit_status svit_model_config_init(svit_model_config *config, size_t size);
SVIT_API svit_status svit_model_config_preset(svit_model_config *config, size_t size,
                                              const char *preset, svit_error *err);
SVIT_API const char *svit_model_preset_name(size_t index);
SVIT_API const char *svit_model_architecture_name(size_t index);
SVIT_API svit_status svit_model_config_from_json(svit_model_config *config, size_t size,
                                                 const char *json, svit_error *err);
SVIT_API svit_status svit_model_config_to_json(const svit_model_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_model_create(svit_model **out, svit_context *context,
                                       const svit_model_config *config, uint64_t seed,
                                       svit_error *err);
SVIT_API void svit_model_free(svit_model *model);
SVIT_API svit_status svit_model_load(svit_model **out, svit_context *context, const char *path,
                                     svit_error *err);
SVIT_API svit_status svit_model_map(svit_model **out, svit_context *context, const char *path,
                                    svit_error *err);
SVIT_API svit_status svit_model_load_with_config(svit_model **out, svit_context *context,
                                                 const svit_model_config *config, const char *path,
                                                 svit_error *err);
enum {
    SVIT_DTYPE_F32 = 0,
    SVIT_DTYPE_F16 = 1,
    SVIT_DTYPE_BF16 = 2,
    SVIT_DTYPE_I8 = 3
};
SVIT_API svit_status svit_model_save_as(const svit_model *model, const char *path, int32_t dtype,
                                        svit_error *err);
SVIT_API svit_status svit_model_save(const svit_model *model, const char *path, svit_error *err);
SVIT_API svit_status svit_model_load_memory(svit_model **out, svit_context *context,
                                            const void *data, size_t bytes, svit_error *err);
SVIT_API svit_status svit_model_save_memory(const svit_model *model, void *buffer, size_t capacity,
                                            size_t *needed, svit_error *err);
SVIT_API svit_status svit_model_get_config(const svit_model *model, svit_model_config *config,
                                           size_t size, svit_error *err);
SVIT_API svit_status svit_model_multiply_adds(const svit_model_config *config, uint64_t *forward,
                                              uint64_t *training, svit_error *err);
SVIT_API size_t svit_model_parameter_count(const svit_model *model);
SVIT_API uint64_t svit_model_parameter_elements(const svit_model *model);
SVIT_API const char *svit_model_parameter_name(const svit_model *model, size_t index);
SVIT_API svit_status svit_model_parameter_shape(const svit_model *model, const char *name,
                                                int64_t shape[8], size_t *rank, svit_error *err);
SVIT_API svit_status svit_model_get_parameter(const svit_model *model, const char *name, float *out,
                                              size_t elements, svit_error *err);
SVIT_API svit_status svit_model_set_parameter(svit_model *model, const char *name, const float *in,
                                              size_t elements, svit_error *err);
SVIT_API svit_status svit_model_set_trainable(svit_model *model, const char *pattern,
                                              int32_t trainable, svit_error *err);
SVIT_API svit_status svit_model_get_trainable(const svit_model *model, const char *name,
                                              int32_t *trainable, svit_error *err);
SVIT_API svit_status svit_model_whiten(svit_model *model, const float *nhwc, size_t n,
                                       svit_error *err);
SVIT_API svit_status svit_model_set_classes(svit_model *model, const char *const *names,
                                            size_t count, svit_error *err);
SVIT_API const char *svit_model_class_name(const svit_model *model, size_t label);
SVIT_API svit_status svit_model_set_output(svit_model *model, int32_t output, svit_error *err);
SVIT_API int32_t svit_model_output(const svit_model *model);
SVIT_API svit_status svit_model_set_text_head(svit_model *model, const float *embeddings,
                                              const char *const *names, size_t classes,
                                              size_t channels, double logit_scale,
                                              double logit_bias, svit_error *err);
SVIT_API const char *svit_model_text_class_name(const svit_model *model, size_t label);
SVIT_API svit_status svit_model_set_threshold(svit_model *model, double threshold, svit_error *err);
SVIT_API double svit_model_threshold(const svit_model *model);
SVIT_API svit_status svit_model_set_pipeline(svit_model *model, const svit_pipeline_config *config,
                                             svit_error *err);
SVIT_API svit_status svit_model_get_pipeline(const svit_model *model, svit_pipeline_config *config,
                                             size_t size, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_ONNX_H
#define SHIFTVIT_ONNX_H 
#ifdef __cplusplus
extern "C" {
#endif
enum {
    SVIT_ONNX_LOGITS = 0,
    SVIT_ONNX_PROBABILITIES = 1
};
typedef struct svit_onnx_options {
    uint32_t struct_size;
    int32_t output;
    int32_t preprocessing;
} svit_onnx_options;
SVIT_API svit_status svit_onnx_options_init(svit_onnx_options *options, size_t size);
SVIT_API svit_status svit_model_export_onnx(const svit_model *model, const char *path,
                                            const svit_onnx_options *options, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_LOAD_H
#define SHIFTVIT_LOAD_H 
#ifdef __cplusplus
extern "C" {
#endif
enum {
    SVIT_LOAD_SKIP_SHAPE_MISMATCH = 1,
    SVIT_LOAD_IGNORE_EXTRA = 2,
    SVIT_LOAD_ALLOW_MISSING = 4
};
typedef struct svit_load_report {
    uint32_t struct_size;
    uint32_t loaded;
    uint32_t missing;
    uint32_t mismatched;
    uint32_t extra;
    uint32_t buffers;
    char *text;
    uint64_t capacity;
    uint64_t needed;
} svit_load_report;
SVIT_API svit_status svit_model_load_mapped(svit_model **out, svit_context *context,
                                            const svit_model_config *config, const char *path,
                                            const char *map, svit_error *err);
typedef struct svit_open_options {
    uint32_t struct_size;
    uint32_t reserved;
    const char *name;
    const char *fields;
    const char *prefix;
    const char *base;
} svit_open_options;
SVIT_API svit_status svit_open_options_init(svit_open_options *options, size_t size);
SVIT_API svit_status svit_model_open(svit_model **out, svit_context *context, const char *path,
                                     const svit_open_options *options, svit_load_report *report,
                                     svit_error *err);
SVIT_API svit_status svit_model_load_into(svit_model *model, const char *path, const char *map,
                                          uint32_t flags, svit_load_report *report,
                                          svit_error *err);
SVIT_API svit_status svit_model_replace_head(svit_model *model, uint32_t num_classes, uint64_t seed,
                                             svit_error *err);
SVIT_API svit_status svit_model_add_classes(svit_model *model, uint32_t count, uint64_t seed,
                                            svit_error *err);
SVIT_API svit_status svit_model_truncate(svit_model *model, const char *layer, svit_error *err);
SVIT_API svit_status svit_model_add_lora(svit_model *model, uint32_t rank, double alpha,
                                         uint64_t seed, svit_error *err);
SVIT_API svit_status svit_model_merge_lora(svit_model *model, svit_error *err);
SVIT_API svit_status svit_model_save_mapped(const svit_model *model, const char *path,
                                            const char *map, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_REDUCER_H
#define SHIFTVIT_REDUCER_H 
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_partial_sum {
    uint64_t leaf;
    float *values;
} svit_partial_sum;
typedef struct svit_bucket {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t number;
    uint64_t elements;
    uint64_t count;
    const svit_partial_sum
        *partials;
    float *sum;
} svit_bucket;
typedef svit_status (*svit_reducer_begin_function)(void *user, const svit_bucket *bucket,
                                                   svit_error *err);
typedef svit_status (*svit_reducer_finish_function)(void *user, svit_error *err);
typedef svit_status (*svit_reducer_gather_function)(void *user, const void *mine, void *all,
                                                    size_t bytes, svit_error *err);
typedef struct svit_reducer {
    uint32_t struct_size;
    uint32_t leaves;
    uint32_t rank;
    uint32_t ranks;
    void *user;
    svit_reducer_begin_function begin;
    svit_reducer_finish_function finish;
    svit_reducer_gather_function gather;
} svit_reducer;
SVIT_API svit_status svit_reducer_init(svit_reducer *reducer, size_t size);
typedef struct svit_reduction {
    uint64_t to;
    uint64_t from;
    uint32_t to_rank;
    uint32_t from_rank;
} svit_reduction;
SVIT_API uint64_t svit_partition_begin(uint64_t items, uint64_t parts, uint64_t part);
SVIT_API svit_status svit_reduction_plan(uint32_t leaves, uint32_t ranks, svit_reduction *plan,
                                         size_t capacity, size_t *needed, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_SESSION_H
#define SHIFTVIT_SESSION_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_session svit_session;
enum {
    SVIT_MODE_INFER = 0,
    SVIT_MODE_TRAIN = 1
};
enum {
    SVIT_COMPUTE_F32 = 0,
    SVIT_COMPUTE_BF16 = 1,
    SVIT_COMPUTE_INT8 = 2
};
enum {
    SVIT_MEMORY_STORE = 0,
    SVIT_MEMORY_RECOMPUTE_BLOCKS = 1,
    SVIT_MEMORY_RECOMPUTE_STAGES = 2
};
enum {
    SVIT_TTA_NONE = 0,
    SVIT_TTA_FLIP = 1,
    SVIT_TTA_FLIP_SHIFT = 2
};
typedef struct svit_session_config {
    uint32_t struct_size;
    uint32_t max_batch;
    int32_t mode;
    int32_t compute;
    uint64_t seed;
    uint32_t input_height;
    uint32_t input_width;
    int32_t memory;
    int32_t features;
    svit_context *context;
    char input_layer[32];
    int32_t input_gradient;
    int32_t check_finite;
} svit_session_config;
SVIT_API svit_status svit_session_config_init(svit_session_config *config, size_t size);
SVIT_API svit_status svit_session_config_from_json(svit_session_config *config, size_t size,
                                                   const char *json, svit_error *err);
SVIT_API svit_status svit_session_config_to_json(const svit_session_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_session_create(svit_session **out, svit_model *model,
                                         const svit_session_config *config, svit_error *err);
SVIT_API svit_status svit_session_memory_needed(uint64_t *bytes, svit_model *model,
                                                const svit_session_config *config, svit_error *err);
SVIT_API void svit_session_free(svit_session *session);
SVIT_API uint64_t svit_session_memory(const svit_session *session);
SVIT_API svit_status svit_session_set_mode(svit_session *session, int32_t mode, svit_error *err);
SVIT_API uint64_t svit_session_counter(const svit_session *session);
SVIT_API svit_status svit_session_set_counter(svit_session *session, uint64_t counter,
                                              svit_error *err);
SVIT_API size_t svit_session_input_size(const svit_session *session);
SVIT_API svit_status svit_forward(svit_session *session, const float *nhwc, size_t n, float *logits,
                                  svit_error *err);
SVIT_API svit_status svit_session_attention_size(const svit_session *session, size_t *heads,
                                                 size_t *tokens, svit_error *err);
SVIT_API svit_status svit_forward_attention(svit_session *session, const float *nhwc, size_t n,
                                            float *logits, float *attention, size_t elements,
                                            svit_error *err);
SVIT_API svit_status svit_backward(svit_session *session, const float *dlogits, size_t n,
                                   svit_error *err);
SVIT_API svit_status svit_backward_input(svit_session *session, const float *dlogits, size_t n,
                                         float *dnhwc, svit_error *err);
SVIT_API svit_status svit_session_get_gradient(const svit_session *session, const char *name,
                                               float *out, size_t elements, svit_error *err);
SVIT_API svit_status svit_session_set_gradient(svit_session *session, const char *name,
                                               const float *in, size_t elements, svit_error *err);
SVIT_API svit_status svit_session_zero_gradients(svit_session *session, svit_error *err);
SVIT_API svit_status svit_session_set_reducer(svit_session *session, const svit_reducer *reducer,
                                              svit_error *err);
SVIT_API const char *svit_session_layer_name(const svit_session *session, size_t index);
SVIT_API svit_status svit_session_layer_shape(const svit_session *session, const char *layer,
                                              size_t *tokens, size_t *channels, svit_error *err);
SVIT_API svit_status svit_forward_features(svit_session *session, const float *nhwc, size_t n,
                                           const char *layer, float *out, size_t elements,
                                           svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_LOSS_H
#define SHIFTVIT_LOSS_H 
#ifdef __cplusplus
extern "C" {
#endif
enum {
    SVIT_LOSS_CROSS_ENTROPY = 0,
    SVIT_LOSS_BINARY = 1,
    SVIT_LOSS_MSE = 2
};
typedef struct svit_loss_call {
    uint32_t struct_size;
    float loss;
    size_t n;
    size_t classes;
    const float *logits;
    const int32_t *labels;
    const float *targets;
    float *dlogits;
} svit_loss_call;
typedef svit_status (*svit_loss_function)(svit_loss_call *call, void *user, svit_error *err);
SVIT_API svit_status svit_cross_entropy(const float *logits, const int32_t *labels, size_t n,
                                        size_t classes, float label_smoothing, float *mean_loss,
                                        float *dlogits, svit_error *err);
SVIT_API svit_status svit_cross_entropy_soft(const float *logits, const float *targets, size_t n,
                                             size_t classes, float *mean_loss, float *dlogits,
                                             svit_error *err);
SVIT_API svit_status svit_cross_entropy_weighted(const float *logits, const int32_t *labels,
                                                 const float *class_weights, size_t n,
                                                 size_t classes, float label_smoothing,
                                                 float *mean_loss, float *dlogits, svit_error *err);
SVIT_API svit_status svit_binary_cross_entropy(const float *logits, const float *targets,
                                               const float *pos_weight, size_t n, size_t classes,
                                               float label_smoothing, float *mean_loss,
                                               float *dlogits, svit_error *err);
SVIT_API svit_status svit_mean_squared_error(const float *predictions, const float *targets,
                                             size_t n, size_t outputs, float *mean_loss,
                                             float *dpredictions, svit_error *err);
SVIT_API svit_status svit_softmax(const float *logits, size_t n, size_t classes,
                                  float *probabilities, svit_error *err);
SVIT_API svit_status svit_sigmoid(const float *logits, size_t n, size_t classes,
                                  float *probabilities, svit_error *err);
SVIT_API svit_status svit_count_top1(const float *logits, const int32_t *labels, size_t n,
                                     size_t classes, uint64_t *correct, svit_error *err);
SVIT_API svit_status svit_count_top_k(const float *logits, const int32_t *labels, size_t n,
                                      size_t classes, size_t k, uint64_t *correct, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_METRICS_H
#define SHIFTVIT_METRICS_H 
#ifdef __cplusplus
extern "C" {
#endif
SVIT_API svit_status svit_confusion_matrix(const float *logits, const int32_t *labels, size_t n,
                                           size_t classes, uint64_t *matrix, svit_error *err);
SVIT_API svit_status svit_multilabel_metrics(const float *logits, const float *targets, size_t n,
                                             size_t classes, double *element_accuracy,
                                             double *exact_match, double *micro_f1,
                                             double *macro_f1, svit_error *err);
SVIT_API svit_status svit_average_precision(svit_context *context, const float *logits,
                                            const float *targets, size_t n, size_t classes,
                                            double *average_precision, svit_error *err);
SVIT_API svit_status svit_choose_threshold(svit_context *context, const float *logits, size_t n,
                                           size_t classes, double accepted, double *threshold,
                                           svit_error *err);
SVIT_API svit_status svit_regression_errors(const float *predictions, const float *targets,
                                            size_t n, size_t outputs, double *mean_absolute,
                                            double *root_mean_square, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_OPTIMIZER_H
#define SHIFTVIT_OPTIMIZER_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_optimizer svit_optimizer;
enum {
    SVIT_OPTIMIZER_ADAMW = 0,
    SVIT_OPTIMIZER_SGD = 1,
    SVIT_OPTIMIZER_MUON = 2,
    SVIT_OPTIMIZER_LION = 3
};
enum {
    SVIT_SGD_KERAS = 0,
    SVIT_SGD_TORCH = 1
};
enum {
    SVIT_EPSILON_KERAS = 0,
    SVIT_EPSILON_TORCH = 1
};
enum {
    SVIT_DECAY_SCALED = 0,
    SVIT_DECAY_UNSCALED = 1
};
enum {
    SVIT_SCHEDULE_CONSTANT = 0,
    SVIT_SCHEDULE_WARMUP_COSINE = 1,
    SVIT_SCHEDULE_LINEAR = 2,
    SVIT_SCHEDULE_ONE_CYCLE = 3,
    SVIT_SCHEDULE_STEP = 4,
    SVIT_SCHEDULE_COSINE_RESTARTS = 5,
    SVIT_SCHEDULE_PIECEWISE = 6
};
typedef struct svit_schedule_point {
    double fraction;
    double factor;
} svit_schedule_point;
enum {
    SVIT_RULE_AUTO = 0,
    SVIT_RULE_ELEMENT = 1,
    SVIT_RULE_MATRIX = 2
};
typedef struct svit_parameter_group {
    char pattern[96];
    double lr_scale;
    double weight_decay;
    int32_t trainable;
    int32_t rule;
} svit_parameter_group;
enum {
    SVIT_MAX_GROUPS = 16,
    SVIT_MAX_SCHEDULE_POINTS = 16
};
enum {
    SVIT_EXCLUDE_BIAS = 1,
    SVIT_EXCLUDE_NORM = 2,
    SVIT_EXCLUDE_POSITION = 4
};
enum {
    SVIT_EMA_NONE = 0,
    SVIT_EMA_PLAIN = 1,
    SVIT_EMA_KERAS = 2,
    SVIT_EMA_SWA = 3
};
typedef struct svit_optimizer_config {
    uint32_t struct_size;
    int32_t kind;
    double learning_rate;
    double beta1;
    double beta2;
    double epsilon;
    double weight_decay;
    double momentum;
    double clip_norm;
    double ema_momentum;
    double lr_start;
    uint64_t warmup_steps;
    uint64_t total_steps;
    int32_t schedule;
    int32_t decay_rule;
    uint32_t decay_exclude;
    int32_t nesterov;
    int32_t ema;
    uint32_t reserved;
    int32_t sgd_form;
    int32_t epsilon_form;
    double adamw_learning_rate;
    double lookahead_alpha;
    double swa_start;
    double layer_decay;
    uint64_t swa_every;
    uint64_t step_size;
    double step_factor;
    uint64_t restart_steps;
    uint32_t restart_factor;
    uint32_t lookahead;
    uint32_t group_count;
    uint32_t point_count;
    svit_parameter_group groups[SVIT_MAX_GROUPS];
    svit_schedule_point points[SVIT_MAX_SCHEDULE_POINTS];
} svit_optimizer_config;
SVIT_API svit_status svit_optimizer_config_init(svit_optimizer_config *config, size_t size);
SVIT_API svit_status svit_optimizer_config_from_json(svit_optimizer_config *config, size_t size,
                                                     const char *json, svit_error *err);
SVIT_API svit_status svit_optimizer_config_to_json(const svit_optimizer_config *config,
                                                   char *buffer, size_t capacity, size_t *needed,
                                                   svit_error *err);
SVIT_API svit_status svit_optimizer_create(svit_optimizer **out, svit_model *model,
                                           const svit_optimizer_config *config, svit_error *err);
SVIT_API void svit_optimizer_free(svit_optimizer *optimizer);
SVIT_API svit_status svit_step(svit_optimizer *optimizer, svit_session *session, svit_error *err);
SVIT_API svit_status svit_learning_rate(const svit_optimizer_config *config, uint64_t step,
                                        double *learning_rate, svit_error *err);
SVIT_API uint64_t svit_optimizer_steps(const svit_optimizer *optimizer);
SVIT_API svit_status svit_optimizer_set_f64(svit_optimizer *optimizer, const char *key,
                                            double value, svit_error *err);
SVIT_API svit_status svit_optimizer_set_parameter_f64(svit_optimizer *optimizer,
                                                      const char *pattern, const char *key,
                                                      double value, svit_error *err);
SVIT_API svit_status svit_optimizer_get_f64(const svit_optimizer *optimizer, const char *key,
                                            double *value, svit_error *err);
SVIT_API svit_status svit_optimizer_bounds(const svit_optimizer *optimizer, const char *key,
                                           double *min, double *max, svit_error *err);
SVIT_API svit_status svit_optimizer_swap_ema(svit_optimizer *optimizer, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_CHECKPOINT_H
#define SHIFTVIT_CHECKPOINT_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_checkpoint svit_checkpoint;
SVIT_API svit_status svit_checkpoint_save(const char *path, const svit_model *model,
                                          const svit_optimizer *optimizer,
                                          const svit_session *session, const char *const *keys,
                                          const char *const *values, size_t count, svit_error *err);
SVIT_API svit_status svit_checkpoint_open(svit_checkpoint **out, svit_context *context,
                                          const char *path, svit_error *err);
SVIT_API void svit_checkpoint_free(svit_checkpoint *checkpoint);
SVIT_API const char *svit_checkpoint_value(const svit_checkpoint *checkpoint, const char *key);
SVIT_API svit_status svit_checkpoint_get_u64(const svit_checkpoint *checkpoint, const char *key,
                                             uint64_t *value, svit_error *err);
SVIT_API svit_status svit_checkpoint_restore(const svit_checkpoint *checkpoint, svit_model *model,
                                             svit_optimizer *optimizer, svit_session *session,
                                             svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_TRAINER_H
#define SHIFTVIT_TRAINER_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_trainer svit_trainer;
enum {
    SVIT_KEEP_LAST = 0,
    SVIT_KEEP_BEST = 1
};
enum {
    SVIT_EXISTING_REFUSE = 0,
    SVIT_EXISTING_RESUME = 1,
    SVIT_EXISTING_OVERWRITE = 2
};
enum {
    SVIT_MAX_CLASS_WEIGHTS = 128
};
enum {
    SVIT_EVENT_STEP = 0,
    SVIT_EVENT_EPOCH = 1,
    SVIT_EVENT_FINISHED = 2
};
typedef struct svit_trainer_config {
    uint32_t struct_size;
    uint32_t epochs;
    uint32_t batch;
    uint32_t accumulate;
    uint32_t patience;
    int32_t keep;
    uint64_t seed;
    double label_smoothing;
    double warmup_fraction;
    const char *folder;
    double checkpoint_seconds;
    int32_t compute;
    uint32_t prefetch;
    int32_t memory;
    int32_t existing;
    const char *description;
    int32_t loss;
    int32_t sampling;
    int32_t tta;
    uint32_t class_weight_count;
    double class_weights[SVIT_MAX_CLASS_WEIGHTS];
    int32_t tensorboard;
    int32_t schedule_anew;
    uint32_t leaves;
    uint32_t shuffle_window;
    const svit_reducer *reducer;
    int32_t check_finite;
    uint32_t early_height;
    uint32_t early_width;
    uint32_t reserved;
    double early_fraction;
} svit_trainer_config;
SVIT_API svit_status svit_trainer_config_init(svit_trainer_config *config, size_t size);
SVIT_API svit_status svit_trainer_config_from_json(svit_trainer_config *config, size_t size,
                                                   const char *json, svit_error *err);
SVIT_API svit_status svit_trainer_config_to_json(const svit_trainer_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_training_from_json(svit_trainer_config *trainer,
                                             svit_optimizer_config *optimizer,
                                             svit_pipeline_config *pipeline, const char *json,
                                             svit_error *err);
SVIT_API svit_status svit_training_to_json(const svit_trainer_config *trainer,
                                           const svit_optimizer_config *optimizer,
                                           const svit_pipeline_config *pipeline, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_config_fields(const char *of, char *buffer, size_t capacity,
                                        size_t *needed, svit_error *err);
SVIT_API svit_status svit_training_preset(const char *preset, svit_trainer_config *trainer,
                                          size_t trainer_size, svit_optimizer_config *optimizer,
                                          size_t optimizer_size, svit_pipeline_config *pipeline,
                                          size_t pipeline_size, svit_error *err);
SVIT_API svit_status svit_fine_tuning_settings(const svit_model *model, uint64_t images,
                                               svit_trainer_config *trainer, size_t trainer_size,
                                               svit_optimizer_config *optimizer,
                                               size_t optimizer_size,
                                               svit_pipeline_config *pipeline, size_t pipeline_size,
                                               svit_error *err);
typedef struct svit_trainer_event {
    uint32_t struct_size;
    int32_t kind;
    uint64_t epoch;
    uint64_t epochs;
    uint64_t step;
    uint64_t steps;
    double train_loss;
    double train_top1;
    double train_top5;
    double val_loss;
    double val_top1;
    double val_top5;
    double learning_rate;
    double images_per_second;
    double seconds;
    double eta_seconds;
    uint64_t best_epoch;
    int32_t stopped_early;
    uint32_t reserved;
    double pflop;
} svit_trainer_event;
typedef int32_t (*svit_trainer_callback)(const svit_trainer_event *event, void *user);
SVIT_API svit_status svit_trainer_create(svit_trainer **out, svit_context *context,
                                         svit_model *model, svit_dataset *training,
                                         svit_dataset *validation,
                                         const svit_trainer_config *config,
                                         const svit_optimizer_config *optimizer,
                                         const svit_pipeline_config *pipeline, svit_error *err);
SVIT_API void svit_trainer_free(svit_trainer *trainer);
SVIT_API svit_status svit_trainer_resume(svit_trainer *trainer, svit_error *err);
SVIT_API svit_status svit_trainer_set_loss(svit_trainer *trainer, svit_loss_function function,
                                           void *user, svit_error *err);
SVIT_API svit_optimizer *svit_trainer_optimizer(svit_trainer *trainer);
SVIT_API svit_status svit_trainer_run(svit_trainer *trainer, svit_trainer_callback callback,
                                      void *user, svit_error *err);
SVIT_API svit_status svit_trainer_step(svit_trainer *trainer, svit_trainer_event *event,
                                       size_t size, svit_error *err);
SVIT_API svit_status svit_trainer_checkpoint(svit_trainer *trainer, svit_error *err);
SVIT_API int32_t svit_trainer_stop_value(const svit_trainer *trainer);
SVIT_API size_t svit_trainer_history_count(const svit_trainer *trainer);
SVIT_API svit_status svit_trainer_history(const svit_trainer *trainer, size_t index,
                                          svit_trainer_event *event, size_t size, svit_error *err);
SVIT_API svit_status svit_evaluate(svit_context *context, svit_model *model, svit_dataset *dataset,
                                   const svit_pipeline_config *pipeline, size_t batch, double *loss,
                                   double *top1, double *top5, svit_error *err);
SVIT_API svit_status svit_evaluate_with_compute(svit_context *context, svit_model *model,
                                                svit_dataset *dataset,
                                                const svit_pipeline_config *pipeline, size_t batch,
                                                int32_t compute, double *loss, double *top1,
                                                double *top5, svit_error *err);
SVIT_API svit_status svit_evaluate_logits(svit_context *context, svit_model *model,
                                          svit_dataset *dataset,
                                          const svit_pipeline_config *pipeline, size_t batch,
                                          int32_t compute, int32_t tta, float *logits,
                                          int32_t *labels, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_FEATURES_H
#define SHIFTVIT_FEATURES_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_features svit_features;
enum {
    SVIT_TOKENS_MEAN = 0,
    SVIT_TOKENS_CLASS = 1,
    SVIT_TOKENS_PATCHES = 2,
    SVIT_TOKENS_PATCHES_3X3 = 3
};
enum {
    SVIT_METRIC_COSINE = 0,
    SVIT_METRIC_EUCLIDEAN = 1
};
typedef struct svit_features_config {
    uint32_t struct_size;
    uint32_t batch;
    int32_t compute;
    int32_t tokens;
    const char *layer;
    svit_context *context;
} svit_features_config;
SVIT_API svit_status svit_features_config_init(svit_features_config *config, size_t size);
SVIT_API svit_status svit_features_compute(svit_features **out, svit_model *model,
                                           svit_dataset *dataset,
                                           const svit_pipeline_config *pipeline,
                                           const svit_features_config *config, svit_error *err);
SVIT_API svit_status svit_features_create(svit_features **out, svit_context *context,
                                          const float *features, const int32_t *labels,
                                          size_t count, size_t channels, size_t classes,
                                          const char *const *class_names, svit_error *err);
SVIT_API svit_status svit_features_load(svit_features **out, svit_context *context,
                                        const char *path, svit_error *err);
SVIT_API svit_status svit_features_save(const svit_features *features, const char *path,
                                        svit_error *err);
SVIT_API void svit_features_free(svit_features *features);
SVIT_API size_t svit_features_count(const svit_features *features);
SVIT_API size_t svit_features_channels(const svit_features *features);
SVIT_API size_t svit_features_classes(const svit_features *features);
SVIT_API const float *svit_features_values(const svit_features *features);
SVIT_API const int32_t *svit_features_labels(const svit_features *features);
SVIT_API const char *svit_features_class_name(const svit_features *features, size_t label);
SVIT_API const char *svit_features_layer(const svit_features *features);
SVIT_API const char *svit_features_model(const svit_features *features);
SVIT_API svit_status svit_features_grid(const svit_features *features, int32_t *tokens,
                                        size_t *height, size_t *width, svit_error *err);
SVIT_API svit_status svit_features_append(svit_features *features, const svit_features *other,
                                          svit_error *err);
SVIT_API svit_status svit_features_knn(const svit_features *reference, const float *queries,
                                       size_t n, size_t k, double temperature, float *probabilities,
                                       svit_error *err);
SVIT_API svit_status svit_features_nearest(const svit_features *reference, const float *queries,
                                           size_t n, size_t k, int32_t metric, size_t *indices,
                                           float *distances, svit_error *err);
SVIT_API svit_status svit_features_coreset(svit_features **out, const svit_features *features,
                                           size_t count, svit_error *err);
typedef struct svit_head_config {
    uint32_t struct_size;
    uint32_t epochs;
    uint32_t batch;
    int32_t balanced;
    double learning_rate;
    double weight_decay;
    double label_smoothing;
    uint64_t seed;
} svit_head_config;
SVIT_API svit_status svit_head_config_init(svit_head_config *config, size_t size);
SVIT_API svit_status svit_head_config_from_json(svit_head_config *config, size_t size,
                                                const char *json, svit_error *err);
SVIT_API svit_status svit_head_config_to_json(const svit_head_config *config, char *buffer,
                                              size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_model_fit_head(svit_model *model, const svit_features *features,
                                         const svit_head_config *config, svit_error *err);
typedef struct svit_class_config {
    uint32_t struct_size;
    uint32_t reserved;
    double weight_decay;
    double new_weight;
    double recall;
} svit_class_config;
SVIT_API svit_status svit_class_config_init(svit_class_config *config, size_t size);
SVIT_API svit_status svit_class_config_from_json(svit_class_config *config, size_t size,
                                                 const char *json, svit_error *err);
SVIT_API svit_status svit_class_config_to_json(const svit_class_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err);
SVIT_API svit_status svit_model_fit_class(svit_model *model, const char *name,
                                          const svit_features *features, const svit_features *old,
                                          const svit_class_config *config, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_PREDICTOR_H
#define SHIFTVIT_PREDICTOR_H 
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_predictor svit_predictor;
typedef struct svit_predictor_config {
    uint32_t struct_size;
    uint32_t max_batch;
    int32_t compute;
    int32_t output;
    svit_context *context;
    int32_t tta;
    uint32_t reserved;
} svit_predictor_config;
SVIT_API svit_status svit_predictor_config_init(svit_predictor_config *config, size_t size);
SVIT_API svit_status svit_predictor_create(svit_predictor **out, svit_context *context,
                                           const char *path, const svit_predictor_config *config,
                                           svit_error *err);
SVIT_API svit_status svit_predictor_create_from_memory(svit_predictor **out, svit_context *context,
                                                       const void *data, size_t bytes,
                                                       const svit_predictor_config *config,
                                                       svit_error *err);
SVIT_API svit_status svit_predictor_create_from_model(svit_predictor **out, svit_model *model,
                                                      const svit_predictor_config *config,
                                                      svit_error *err);
SVIT_API void svit_predictor_free(svit_predictor *predictor);
SVIT_API size_t svit_predictor_classes(const svit_predictor *predictor);
SVIT_API size_t svit_predictor_channels(const svit_predictor *predictor);
SVIT_API const char *svit_predictor_class_name(const svit_predictor *predictor, size_t label);
SVIT_API int32_t svit_predictor_output(const svit_predictor *predictor);
SVIT_API svit_status svit_predictor_labels(const svit_predictor *predictor,
                                           const float *probabilities, size_t n, int32_t *labels,
                                           svit_error *err);
SVIT_API svit_status svit_predict_u8(svit_predictor *predictor, const uint8_t *pixels, size_t n,
                                     size_t height, size_t width, float *probabilities,
                                     svit_error *err);
SVIT_API svit_status svit_predict_f32(svit_predictor *predictor, const float *images, size_t n,
                                      size_t height, size_t width, float *probabilities,
                                      svit_error *err);
SVIT_API svit_status svit_predict_file(svit_predictor *predictor, const char *path,
                                       float *probabilities, svit_error *err);
SVIT_API svit_status svit_predict_encoded(svit_predictor *predictor, const void *data, size_t bytes,
                                          float *probabilities, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_FILE_H
#define SHIFTVIT_FILE_H 
#ifdef __cplusplus
extern "C" {
#endif
SVIT_API svit_status svit_file_replace(const char *path, const void *data, size_t bytes,
                                       svit_error *err);
SVIT_API svit_status svit_file_append(const char *path, const void *data, size_t bytes,
                                      svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
#ifndef SHIFTVIT_BENCHMARK_H
#define SHIFTVIT_BENCHMARK_H 
#ifdef __cplusplus
extern "C" {
#endif
enum {
    SVIT_MATMUL_FORWARD = 0,
    SVIT_MATMUL_INPUT_GRADIENT = 1,
    SVIT_MATMUL_WEIGHT_GRADIENT = 2
};
typedef struct svit_matmul {
    uint32_t struct_size;
    int32_t form;
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t heads;
    int32_t compute;
} svit_matmul;
SVIT_API svit_status svit_matmul_init(svit_matmul *matmul, size_t size);
SVIT_API svit_status svit_benchmark_matmul(svit_context *context, const svit_matmul *matmul,
                                           double seconds, double *gflops, svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
