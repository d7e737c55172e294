/* Predictions of images that are files, or the bytes of files. The workers decode and preprocess
 * the images of a batch side by side. */
#include "predictor/predictor.h"

#include "base/size.h"
#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline.h"
#include "data/checks.h"
#include "data/decoding/image_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The images of a call: files of `paths`, or without these the bytes in `data`. */
typedef struct encoded_images {
    const char *const *paths;
    const void *const *data;
    const size_t *bytes;
    size_t count;
    bool is_one; /* the call takes one image, which has no number in messages */
} encoded_images;

/* A batch of them, on its way to the predictor's inputs. */
typedef struct batch {
    svit_predictor *predictor;
    const encoded_images *images;
    size_t first, count;
    size_t elements;    /* of one input */
    svit_error *errors; /* [count] */
} batch;

/* What image `i` is called in messages. */
enum { NAME = 48 };
static const char *name_of(char name[NAME], const encoded_images *images, size_t i)
{
    if (images->paths)
        return images->paths[i];
    if (images->is_one)
        return "the encoded image";
    snprintf(name, NAME, "encoded image %zu", i);
    return name;
}

static svit_status decode(sv_pixels *out, const svit_predictor *predictor,
                          const encoded_images *images, size_t i, const char *name, svit_error *err)
{
    const size_t channels = predictor->pipeline.channels;
    if (images->paths)
        return sv_image_file_read(out, predictor->context, name, channels, err);
    const sv_decoder decoder = sv_decoder_of(predictor->context);
    return sv_decode(out, &decoder, images->data[i] ? images->data[i] : "", images->bytes[i], name,
                     channels, err);
}

/* Runs the evaluation pipeline on one image, with a plan of its own: each may have another size. */
static svit_status preprocess(float *out, const svit_predictor *predictor, const sv_pixels *image,
                              svit_error *err)
{
    const sv_allocator *allocator = &predictor->context->allocator;
    sv_pipeline *plan;
    SVIT_TRY(sv_pipeline_create(&plan, allocator, &predictor->pipeline, image->height, image->width,
                                false, err));
    const size_t bytes = sv_size_times(sv_pipeline_scratch(plan), sizeof(float));
    void *scratch = NULL;
    const svit_status status =
        sv_allocate_uncleared(allocator, &scratch, 1, bytes, "a pipeline's scratch", err);
    if (status == SVIT_OK)
        sv_pipeline_evaluate(plan, out, image->data, scratch);
    sv_release(allocator, scratch, bytes);
    sv_pipeline_free(plan);
    return status;
}

/* An image that cannot be read becomes zeros, so that the batch can be computed; what comes out of
 * them is never returned. */
static void prepare_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const batch *self = argument;
    const svit_predictor *predictor = self->predictor;
    float *out = predictor->inputs + task * self->elements;
    svit_error *err = &self->errors[task];
    char memory[NAME];
    const char *name = name_of(memory, self->images, self->first + task);
    sv_pixels pixels;
    *err = (svit_error){.struct_size = sizeof *err};
    err->code = decode(&pixels, predictor, self->images, self->first + task, name, err);
    if (err->code == SVIT_OK) {
        err->code = sv_fail_memory_in(err, preprocess(out, predictor, &pixels, err), name);
        sv_release(&predictor->context->allocator, pixels.data, pixels.bytes);
    }
    if (err->code != SVIT_OK)
        memset(out, 0, self->elements * sizeof *out);
}

/* One image is prepared without the workers: other threads may use them while a file is read. */
static void prepare(batch *self)
{
    if (self->count == 1)
        prepare_task(self, 0, 0);
    else
        sv_pool_run(self->predictor->context->pool, prepare_task, self, self->count);
}

/* The first error of a batch. */
static svit_status first_error(const batch *self, svit_error *err)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->errors[i].code != SVIT_OK)
            return sv_fail(err, self->errors[i].code, "%s", self->errors[i].message);
    return SVIT_OK;
}

/* Predicts the inputs of a batch into its rows. Those of images with an error get NaN. */
static svit_status fill_rows(const batch *self, float *rows, svit_error *err)
{
    const size_t classes = svit_predictor_classes(self->predictor);
    size_t good = 0;
    for (size_t i = 0; i < self->count; i++)
        good += self->errors[i].code == SVIT_OK;
    if (good > 0)
        SVIT_TRY(sv_predictor_forward(self->predictor, self->first, self->count, rows, err));
    for (size_t i = 0; good < self->count && i < self->count; i++)
        for (size_t c = 0; self->errors[i].code != SVIT_OK && c < classes; c++)
            rows[i * classes + c] = NAN;
    return SVIT_OK;
}

/* Predicts all batches. `errors` has room for one, and is used again for each, unless the caller
 * gets `all`: then none of them fails the call. */
static svit_status predict_batches(svit_predictor *predictor, const encoded_images *images,
                                   float *probabilities, svit_error *errors, bool all,
                                   svit_error *err)
{
    const sv_views *views = &predictor->views;
    const size_t classes = svit_predictor_classes(predictor);
    batch self = {.predictor = predictor,
                  .images = images,
                  .elements = views->height * views->width * views->channels};
    for (; self.first < images->count; self.first += self.count) {
        self.count = sv_size_min(images->count - self.first, predictor->max_batch);
        self.errors = all ? errors + self.first : errors;
        if (self.first > 0)
            SVIT_TRY(sv_context_go_on(predictor->context, err));
        prepare(&self);
        if (!all)
            SVIT_TRY(first_error(&self, err));
        SVIT_TRY(fill_rows(&self, probabilities + self.first * classes, err));
    }
    return SVIT_OK;
}

static svit_status check_errors(const char *where, const svit_error *errors, size_t n,
                                svit_error *err)
{
    for (size_t i = 0; errors && i < n; i++)
        if (errors[i].struct_size != sizeof *errors)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "%s: errors[%zu].struct_size is %u; sizeof(svit_error), %zu, is "
                           "accepted",
                           where, i, (unsigned)errors[i].struct_size, sizeof *errors);
    return SVIT_OK;
}

static svit_status predict(svit_predictor *predictor, const encoded_images *images,
                           float *probabilities, svit_error *errors, svit_error *err)
{
    const sv_allocator *allocator = &predictor->context->allocator;
    const size_t count = sv_size_min(images->count, predictor->max_batch);
    SVIT_TRY(sv_check_file_channels("the predictor", predictor->pipeline.channels, err));
    SVIT_TRY(svit_context_check(predictor->context, err));
    if (errors)
        return predict_batches(predictor, images, probabilities, errors, true, err);
    SVIT_TRY(sv_allocate_array(allocator, (void **)&errors, count, sizeof *errors,
                               "the errors of a batch", err));
    const svit_status status =
        predict_batches(predictor, images, probabilities, errors, false, err);
    sv_release(allocator, errors, count * sizeof *errors);
    return status;
}

SVIT_API svit_status svit_predict_files(svit_predictor *predictor, const char *const *paths,
                                        size_t n, float *probabilities, svit_error *errors,
                                        svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictor);
    SV_REQUIRE(paths);
    SV_REQUIRE(probabilities);
    SVIT_TRY(sv_check_range(__func__, "n", n, 1, SIZE_MAX, err));
    for (size_t i = 0; i < n; i++)
        if (!paths[i])
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: paths[%zu] is NULL; a path is needed",
                           __func__, i);
    SVIT_TRY(check_errors(__func__, errors, n, err));
    const encoded_images images = {.paths = paths, .count = n};
    return predict(predictor, &images, probabilities, errors, err);
}

SVIT_API svit_status svit_predict_encoded_images(svit_predictor *predictor, const void *const *data,
                                                 const size_t *bytes, size_t n,
                                                 float *probabilities, svit_error *errors,
                                                 svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictor);
    SV_REQUIRE(data);
    SV_REQUIRE(bytes);
    SV_REQUIRE(probabilities);
    SVIT_TRY(sv_check_range(__func__, "n", n, 1, SIZE_MAX, err));
    for (size_t i = 0; i < n; i++)
        if (bytes[i] > 0 && !data[i])
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: data[%zu] is NULL; bytes[%zu] is %zu",
                           __func__, i, i, bytes[i]);
    SVIT_TRY(check_errors(__func__, errors, n, err));
    const encoded_images images = {.data = data, .bytes = bytes, .count = n};
    return predict(predictor, &images, probabilities, errors, err);
}

SVIT_API svit_status svit_predict_file(svit_predictor *predictor, const char *path,
                                       float *probabilities, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictor);
    SV_REQUIRE(path);
    SV_REQUIRE(probabilities);
    const encoded_images images = {.paths = &path, .count = 1};
    return predict(predictor, &images, probabilities, NULL, err);
}

SVIT_API svit_status svit_predict_encoded(svit_predictor *predictor, const void *data, size_t bytes,
                                          float *probabilities, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictor);
    if (bytes > 0)
        SV_REQUIRE(data);
    SV_REQUIRE(probabilities);
    const encoded_images images = {.data = &data, .bytes = &bytes, .count = 1, .is_one = true};
    return predict(predictor, &images, probabilities, NULL, err);
}
