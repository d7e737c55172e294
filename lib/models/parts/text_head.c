/* Classes that are embeddings of texts. */
#include "models/parts/text_head.h"

#include "autograd/parameter_file.h"
#include "base/size.h"
#include "base/text/names.h"
#include "base/threads/fp_env.h"
#include "io/metadata_json.h"

#include <math.h>
#include <string.h>

enum { MOST_CLASSES = 1 << 20 };

/* Of logit_scale and logit_bias, so that logits are finite floats. */
static const double MOST_SCALE = 1e30;

static void head_free(const sv_allocator *allocator, struct sv_text_head *head)
{
    if (!head)
        return;
    sv_names_free(allocator, head->names, head->classes);
    sv_release(allocator, head->weight, head->classes * head->channels * sizeof *head->weight);
    sv_parameter_table_free(&head->table);
    sv_release(allocator, head, sizeof *head);
}

void sv_model_release_text_head(svit_model *model)
{
    head_free(&model->context->allocator, model->text_head);
    model->text_head = NULL;
}

static svit_status fill_head(struct sv_text_head *head, const sv_allocator *allocator,
                             const char *const *names, svit_error *err)
{
    const int64_t shape[] = {(int64_t)head->classes, (int64_t)head->channels};
    size_t index;
    SVIT_TRY(
        sv_parameter_add(&head->table, &index, SV_TEXT_HEAD_TENSOR, SV_ROLE_WEIGHT, shape, 2, err));
    return sv_names_copy(&head->names, allocator, names, head->classes, "names", err);
}

/* Allocates the weights, which are 0. */
static svit_status add_weight(struct sv_text_head *head, const sv_allocator *allocator,
                              svit_error *err)
{
    size_t elements;
    if (!sv_size_multiply(&elements, head->classes, head->channels))
        return sv_fail(err, SVIT_E_MEMORY, "%zu embeddings do not fit memory", head->classes);
    return sv_allocate_array(allocator, (void **)&head->weight, elements, sizeof *head->weight,
                             "the embeddings of texts", err);
}

/* Creates a head without weights. */
static svit_status head_create(struct sv_text_head **out, const svit_model *model,
                               const char *const *names, size_t classes, double scale, double bias,
                               svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    struct sv_text_head *head;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&head, 1, sizeof *head, "a text head", err));
    sv_parameter_table_init(&head->table, allocator);
    head->classes = classes;
    head->channels = model->config.num_classes;
    head->scale = scale;
    head->bias = bias;
    svit_status status = fill_head(head, allocator, names, err);
    if (status == SVIT_OK)
        *out = head;
    else
        head_free(allocator, head);
    return status;
}

/* Copies embeddings[classes, channels] as rows of length 1. */
static svit_status normalise(struct sv_text_head *head, const float *embeddings, svit_error *err)
{
    const size_t c = head->channels;
    for (size_t k = 0; k < head->classes; k++) {
        double sum = 0;
        for (size_t i = 0; i < c; i++)
            sum += (double)embeddings[k * c + i] * (double)embeddings[k * c + i];
        if (!isfinite(sum) || sum == 0)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "the embedding of class %zu has the length %g; it is finite and not 0",
                           k, sqrt(sum));
        for (size_t i = 0; i < c; i++)
            head->weight[k * c + i] = (real)((double)embeddings[k * c + i] / sqrt(sum));
    }
    return SVIT_OK;
}

static svit_status check_numbers(size_t classes, double scale, double bias, svit_error *err)
{
    if (classes > MOST_CLASSES)
        return sv_fail(err, SVIT_E_ARGUMENT, "classes is %zu; it is 0..%d", classes, MOST_CLASSES);
    if (!(scale > 0 && scale <= MOST_SCALE) || !(fabs(bias) <= MOST_SCALE))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "logit_scale and logit_bias are %g and %g; both are at most %g, and the "
                       "scale is above 0",
                       scale, bias, MOST_SCALE);
    return SVIT_OK;
}

SVIT_API const char *svit_model_text_class_name(const svit_model *model, size_t label)
{
    const struct sv_text_head *head = model ? model->text_head : NULL;
    return head && label < head->classes ? head->names[label] : NULL;
}

SVIT_API svit_status svit_model_set_text_head(svit_model *model, const float *embeddings,
                                              const char *const *names, size_t classes,
                                              size_t channels, double logit_scale,
                                              double logit_bias, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    struct sv_text_head *head;
    SV_REQUIRE(model);
    if (classes > 0) {
        SV_REQUIRE(embeddings);
        SV_REQUIRE(names);
    }
    SVIT_TRY(sv_model_check_alone(model, "its text head changes", err));
    if (classes == 0) {
        if (model->text_head)
            sv_model_drop_threshold(model, "its classes are no texts any more");
        sv_model_release_text_head(model);
        return SVIT_OK;
    }
    SVIT_TRY(check_numbers(classes, logit_scale, logit_bias, err));
    if (channels != model->config.num_classes)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "channels is %zu; the model's logits are embeddings of %u", channels,
                       model->config.num_classes);
    SVIT_TRY(head_create(&head, model, names, classes, logit_scale, logit_bias, err));
    svit_status status = add_weight(head, &model->context->allocator, err);
    if (status == SVIT_OK)
        status = normalise(head, embeddings, err);
    if (status == SVIT_OK) {
        sv_model_drop_threshold(model, "its classes become other texts");
        sv_model_release_text_head(model);
        model->text_head = head;
    } else {
        head_free(&model->context->allocator, head);
    }
    return status;
}

svit_status sv_model_copy_text_head(svit_model *to, const svit_model *from, svit_error *err)
{
    const struct sv_text_head *head = from->text_head;
    if (!head)
        return SVIT_OK;
    SVIT_TRY(head_create(&to->text_head, to, (const char *const *)head->names, head->classes,
                         head->scale, head->bias, err));
    SVIT_TRY(add_weight(to->text_head, &to->context->allocator, err));
    memcpy(to->text_head->weight, head->weight,
           head->classes * head->channels * sizeof *head->weight);
    return SVIT_OK;
}

svit_status sv_text_head_metadata(const sv_metadata_sink *sink, const svit_model *model,
                                  svit_error *err)
{
    const struct sv_text_head *head = model->text_head;
    if (!head)
        return SVIT_OK;
    sv_json_writer text = sv_json_writer_make(&model->context->allocator);
    sv_json_begin(&text, '{');
    sv_json_put_key(&text, "logit_scale");
    sv_json_put_real(&text, head->scale);
    sv_json_put_key(&text, "logit_bias");
    sv_json_put_real(&text, head->bias);
    sv_json_put_key(&text, "classes");
    sv_json_begin(&text, '[');
    for (size_t i = 0; i < head->classes; i++)
        sv_json_put_text(&text, head->names[i]);
    sv_json_end(&text, ']');
    sv_json_end(&text, '}');
    svit_status status = sv_json_writer_status(&text, "the classes of a text head", err);
    if (status == SVIT_OK)
        sink->put(sink->user, SV_TEXT_HEAD_KEY, text.text);
    sv_json_writer_free(&text);
    return status;
}

/* Creates the head that the metadata describe, without weights. */
static svit_status create_described(svit_model *model, const sv_json_value *root, const char *path,
                                    svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    const sv_json_value *names = sv_json_get(root, "classes");
    double scale = 0, bias = 0;
    const char **list;
    if (!sv_json_number(sv_json_get(root, "logit_scale"), &scale) ||
        !sv_json_number(sv_json_get(root, "logit_bias"), &bias) || !names ||
        names->kind != SV_JSON_ARRAY || names->count < 1 ||
        check_numbers(names->count, scale, bias, NULL) != SVIT_OK)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: text_head is not an object of logit_scale above 0, logit_bias and "
                       "classes",
                       path);
    SVIT_TRY(sv_allocate_array(allocator, (void **)&list, names->count, sizeof *list, "class names",
                               err));
    svit_status status = SVIT_OK;
    const sv_json_value *name = names + 1;
    for (size_t i = 0; i < names->count && status == SVIT_OK; i++, name = name->after) {
        list[i] = sv_json_text(name);
        if (!list[i])
            status = sv_fail(err, SVIT_E_FORMAT, "%s: text_head: the name of class %zu is not text",
                             path, i);
    }
    if (status == SVIT_OK)
        status = head_create(&model->text_head, model, list, names->count, scale, bias, err);
    sv_release(allocator, list, names->count * sizeof *list);
    return status;
}

svit_status sv_text_head_read(svit_model *model, const sv_safetensors *file, const char *path,
                              svit_error *err)
{
    sv_json *json;
    SVIT_TRY(sv_metadata_json_read(&json, &model->context->allocator, file, SV_TEXT_HEAD_KEY, path,
                                   err));
    if (!json)
        return SVIT_OK;
    svit_status status = create_described(model, sv_json_root(json), path, err);
    sv_json_free(json);
    SVIT_TRY(status);
    struct sv_text_head *head = model->text_head;
    /* Before memory for weights: a small file can describe as many as it likes. */
    SVIT_TRY(sv_parameter_array_check(&head->table, NULL, file, path, "", err));
    SVIT_TRY(add_weight(head, &model->context->allocator, err));
    return sv_parameter_array_read(&head->table, NULL, head->weight, file, path, "", err);
}

void sv_text_head_apply(const struct sv_text_head *head, float *out, const float *embeddings,
                        size_t n)
{
    const size_t c = head->channels;
    for (size_t i = 0; i < n; i++, embeddings += c, out += head->classes) {
        double square = 0;
        for (size_t j = 0; j < c; j++)
            square += (double)embeddings[j] * (double)embeddings[j];
        const double factor = square > 0 ? head->scale / sqrt(square) : 0;
        for (size_t k = 0; k < head->classes; k++) {
            double dot = 0;
            for (size_t j = 0; j < c; j++)
                dot += (double)embeddings[j] * (double)head->weight[k * c + j];
            out[k] = (float)(factor * dot + head->bias);
        }
    }
}
