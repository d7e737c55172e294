/* States what members of a configuration tell, whichever library wrote it. */
#include "models/open/open_internal.h"

#include <string.h>

svit_status sv_open_state_member(sv_open *open, const sv_json_value *object, const char *key,
                                 const char *field, const char *file, svit_error *err)
{
    double value;
    const sv_json_value *member = sv_json_get(object, key);
    if (!member || member->kind == SV_JSON_NULL)
        return SVIT_OK;
    if (member->kind == SV_JSON_TRUE || member->kind == SV_JSON_FALSE)
        return sv_facts_state(&open->facts, field, member->kind == SV_JSON_TRUE, err, "%s: %s",
                              file, key);
    if (!sv_json_number(member, &value))
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s is not a number", file, key);
    return sv_facts_state(&open->facts, field, value, err, "%s: %s", file, key);
}

svit_status sv_open_state_activation(sv_open *open, const char *name, const char *file,
                                     svit_error *err)
{
    static const struct {
        const char *name;
        int32_t value;
    } known[] = {{"gelu", SVIT_ACTIVATION_GELU},
                 {"gelu_python", SVIT_ACTIVATION_GELU},
                 {"gelu_erf", SVIT_ACTIVATION_GELU},
                 {"gelu_new", SVIT_ACTIVATION_GELU_TANH},
                 {"gelu_fast", SVIT_ACTIVATION_GELU_TANH},
                 {"gelu_tanh", SVIT_ACTIVATION_GELU_TANH},
                 {"gelu_pytorch_tanh", SVIT_ACTIVATION_GELU_TANH},
                 {"quick_gelu", SVIT_ACTIVATION_QUICK_GELU}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return sv_facts_state(&open->facts, "activation", known[i].value, err, "%s", file);
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: the activation is '%.40s'; gelu, its forms by tanh and quick_gelu are "
                   "accepted",
                   file, name);
}

void sv_open_note_image(sv_open *open, double height, double width)
{
    if (open->image[0] > 0)
        return;
    open->image[0] = height;
    open->image[1] = width;
}

svit_status sv_open_read_sides(const sv_open *open, const sv_json_value *size, const char *from,
                               double *height, double *width, svit_error *err)
{
    if (sv_json_number(size, height))
        *width = *height;
    else if (size->kind != SV_JSON_ARRAY || size->count != 2 || !sv_json_number(size + 1, height) ||
             !sv_json_number((size + 1)->after, width))
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s is neither a number nor two", open->weights,
                       from);
    return SVIT_OK;
}

svit_status sv_open_state_patch(sv_open *open, const sv_json_value *size, const char *from,
                                svit_error *err)
{
    double height, width;
    if (!size || size->kind == SV_JSON_NULL)
        return SVIT_OK;
    SVIT_TRY(sv_open_read_sides(open, size, from, &height, &width, err));
    if (height != width)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: %s is %g x %g; square patches are accepted",
                       open->weights, from, height, width);
    return sv_facts_state(&open->facts, "patch_size", height, err, "%s", from);
}

svit_status sv_open_state_image(sv_open *open, const sv_json_value *size, const char *from,
                                svit_error *err)
{
    double height, width;
    if (!size || size->kind == SV_JSON_NULL)
        return SVIT_OK;
    SVIT_TRY(sv_open_read_sides(open, size, from, &height, &width, err));
    sv_open_note_image(open, height, width);
    SVIT_TRY(sv_facts_state(&open->facts, "input_height", height, err, "%s", from));
    return sv_facts_state(&open->facts, "input_width", width, err, "%s", from);
}

svit_status sv_open_state_output(sv_open *open, const sv_json_value *root, svit_error *err)
{
    static const struct {
        const char *name;
        int32_t output;
    } known[] = {{"regression", SVIT_OUTPUT_LOGITS},
                 {"multi_label_classification", SVIT_OUTPUT_SIGMOID},
                 {"single_label_classification", SVIT_OUTPUT_AUTO}};
    const sv_json_value *type = sv_json_get(root, "problem_type");
    const char *name = sv_json_text(type);
    sv_tensor_desc classifier;
    bool is_known = !type || type->kind == SV_JSON_NULL;
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            open->output = known[i].output;
            is_known = true;
        }
    if (!is_known)
        return sv_fail(
            err, SVIT_E_UNSUPPORTED,
            "%s: config.json: problem_type is '%.40s'; 'regression', "
            "'multi_label_classification' and 'single_label_classification' are accepted",
            open->weights, name ? name : "no text");
    if (open->output == SVIT_OUTPUT_AUTO && sv_open_find(open, "head.fc1.bias", &classifier) &&
        classifier.elements == 1)
        open->output = SVIT_OUTPUT_SIGMOID;
    return SVIT_OK;
}

bool sv_open_has_names(const sv_json_value *names, bool as_texts)
{
    if (!sv_json_is(names, SV_JSON_ARRAY) && !sv_json_is(names, SV_JSON_OBJECT))
        return false;
    const sv_json_value *member = names + 1;
    for (size_t i = 0; i < names->count; i++, member = member->after) {
        const char *name = sv_json_text(member);
        if (name ? strncmp(name, "LABEL_", 6) != 0 : !as_texts)
            return true;
    }
    return false;
}
