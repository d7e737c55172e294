/* From the tensors of a file to one parameter: joined, transposed, permuted or interpolated. */
#include "autograd/parameter_file.h"
#include "base/size.h"
#include "models/load/load_internal.h"

#include <math.h>
#include <string.h>

/* How the elements of a parameter follow from those of its tensors, which are read one after the
 * other. */
typedef enum change {
    CHANGE_NONE,
    CHANGE_TRANSPOSE,  /* [in, out] to [out, in] */
    CHANGE_PATCH,      /* a convolution [out, in, size, size] to [out, size * size * in] */
    CHANGE_INTERPOLATE /* a position embedding of another grid */
} change;

/* The tensor whose shape tensor `i` of the match has: itself, or the first if zeros take its place.
 */
static const sv_safetensors_entry *shape_source(const sv_name_match *match, size_t i)
{
    const sv_safetensors_entry *entry = sv_name_match_at(match, i);
    return entry ? entry : sv_name_match_at(match, 0);
}

/* The dimensions without those of length 1 at both ends. */
typedef struct core {
    const int64_t *shape;
    size_t rank;
} core;

static core core_of(const sv_tensor_desc *desc)
{
    core c = {desc->shape, desc->rank};
    while (c.rank > 0 && c.shape[0] == 1) {
        c.shape++;
        c.rank--;
    }
    while (c.rank > 0 && c.shape[c.rank - 1] == 1)
        c.rank--;
    return c;
}

static bool same_core(const sv_tensor_desc *a, const sv_tensor_desc *b)
{
    core x = core_of(a), y = core_of(b);
    return x.rank == y.rank && memcmp(x.shape, y.shape, x.rank * sizeof *x.shape) == 0;
}

enum { COLOURS = 3 };

/* Whether the tensor is the convolution of a patch embedding with the parameter's patch size, and
 * with its channels or, if these are adapted, with three. */
static bool is_patch(const sv_load *load, const sv_tensor_desc *file, const sv_parameter *parameter)
{
    const int64_t size = (int64_t)parameter->patch_size;
    return size > 0 && file->rank == 4 && file->shape[0] == parameter->desc.shape[0] &&
           (file->shape[1] == (int64_t)parameter->patch_channels ||
            (load->adapts_channels && file->shape[1] == COLOURS)) &&
           file->shape[2] == size && file->shape[3] == size;
}

static bool is_transposed(const sv_tensor_desc *file, const sv_tensor_desc *parameter)
{
    return file->rank == 2 && parameter->rank == 2 && file->shape[0] == parameter->shape[1] &&
           file->shape[1] == parameter->shape[0];
}

/* The grid of a file's position embedding of `rows` rows; {0, 0}: there is none. */
static sv_stored_grid grid_of(const sv_load *load, const sv_parameter *parameter, size_t rows)
{
    const size_t patches = rows - parameter->grid_prefix,
                 side = (size_t)lround(sqrt((double)patches));
    if (load->grid.height > 0 && load->grid.height * load->grid.width == patches)
        return load->grid;
    if (load->grid.height == 0 && patches == parameter->grid_height * parameter->grid_width)
        return (sv_stored_grid){parameter->grid_height, parameter->grid_width};
    if (load->grid.height == 0 && side * side == patches)
        return (sv_stored_grid){side, side};
    return (sv_stored_grid){0, 0};
}

/* The rows of a tensor [1, .., rows, c]; 0: it has another shape. */
static size_t rows_of(const sv_tensor_desc *file, int64_t c)
{
    if (file->rank < 2 || file->shape[file->rank - 1] != c)
        return 0;
    for (size_t i = 0; i + 2 < file->rank; i++)
        if (file->shape[i] != 1)
            return 0;
    return (size_t)file->shape[file->rank - 2];
}

/* Whether a position embedding can be interpolated; *grid becomes that of the file. */
static bool is_position(sv_stored_grid *grid, const sv_load *load, const sv_parameter *parameter,
                        const sv_tensor_desc *file)
{
    const size_t rows = rows_of(file, parameter->desc.shape[parameter->desc.rank - 1]);
    if (parameter->grid_height == 0 || rows <= parameter->grid_prefix)
        return false;
    *grid = grid_of(load, parameter, rows);
    return grid->height > 0;
}

/* Finds out how the tensors become the parameter; false: they do not fit. */
static bool find_change(change *out, sv_stored_grid *grid, const sv_load *load,
                        const sv_parameter *parameter, const sv_name_match *match,
                        const sv_tensor_desc *file)
{
    const sv_tensor_desc *desc = &parameter->desc;
    *out = CHANGE_NONE;
    if (match->kind == SV_RULE_TRANSPOSED) {
        *out = CHANGE_TRANSPOSE;
        return is_transposed(file, desc);
    }
    if (is_position(grid, load, parameter, file)) {
        if (grid->height != parameter->grid_height || grid->width != parameter->grid_width)
            *out = CHANGE_INTERPOLATE;
        return true;
    }
    if (same_core(file, desc))
        return true;
    *out = CHANGE_PATCH;
    return is_patch(load, file, parameter);
}

/* out[o, i] = in[i, o] */
static void transpose(float *out, const float *in, const sv_tensor_desc *to)
{
    const size_t rows = (size_t)to->shape[0], columns = (size_t)to->shape[1];
    for (size_t o = 0; o < rows; o++)
        for (size_t i = 0; i < columns; i++)
            out[o * columns + i] = in[i * rows + o];
}

/* The weight of a channel at one place of a filter in[channels, area]. As timm adapts filters of
 * three colours, one channel has their sum, and `wanted` channels repeat them, 3 / wanted times as
 * strong. */
static float channel_weight(const float *in, size_t channels, size_t area, size_t wanted,
                            size_t channel)
{
    if (channels == wanted)
        return in[channel * area];
    if (wanted == 1)
        return in[0] + in[area] + in[2 * area];
    return in[channel % channels * area] * ((float)channels / (float)wanted);
}

/* out[o, a, i] = in[o, i, a], a being a pixel of the patch and i one of `wanted` channels */
static void permute_patch(float *out, const float *in, const sv_tensor_desc *from, size_t wanted)
{
    const size_t rows = (size_t)from->shape[0], channels = (size_t)from->shape[1];
    const size_t area = (size_t)from->shape[2] * (size_t)from->shape[3];
    for (size_t o = 0; o < rows; o++)
        for (size_t a = 0; a < area; a++)
            for (size_t i = 0; i < wanted; i++)
                *out++ = channel_weight(in + o * channels * area + a, channels, area, wanted, i);
}

/* The rows of other tokens are kept, those of the patches interpolated. `out` has room for the
 * embedding and for sv_position_resize's temporary after it. */
static void interpolate(float *out, const float *in, const sv_parameter *parameter,
                        sv_stored_grid grid, sv_interpolation interpolation)
{
    const size_t c = (size_t)parameter->desc.shape[parameter->desc.rank - 1];
    const size_t prefix = parameter->grid_prefix * c;
    memcpy(out, in, prefix * sizeof *out);
    sv_position_resize(out + prefix, parameter->grid_height, parameter->grid_width, in + prefix,
                       grid.height, grid.width, c, interpolation, out + parameter->desc.elements);
}

/* Elements that `apply` writes or uses. Returns false if the number overflows. */
static bool changed_elements(size_t *out, change how, const sv_parameter *parameter,
                             sv_stored_grid grid)
{
    size_t temporary = 0;
    *out = parameter->desc.elements;
    if (how != CHANGE_INTERPOLATE)
        return true;
    const size_t factors[] = {grid.height, parameter->grid_width,
                              (size_t)parameter->desc.shape[parameter->desc.rank - 1]};
    return sv_size_product(&temporary, factors, 3) && sv_size_add(out, *out, temporary);
}

static void apply(const sv_load *load, float *out, const float *in, change how,
                  const sv_parameter *parameter, const sv_tensor_desc *file, sv_stored_grid grid)
{
    if (how == CHANGE_TRANSPOSE)
        transpose(out, in, &parameter->desc);
    else if (how == CHANGE_PATCH)
        permute_patch(out, in, file, parameter->patch_channels);
    else
        interpolate(out, in, parameter, grid, load->interpolation);
}

/* Reads the tensors one after the other, each as an adapter changes it. */
static svit_status read_all(const sv_load *load, float *out, const sv_parameter *parameter,
                            const sv_name_match *match, svit_error *err)
{
    for (size_t i = 0; i < match->count; i++) {
        const sv_safetensors_entry *entry = sv_name_match_at(match, i);
        const size_t elements = shape_source(match, i)->desc.elements;
        if (entry) {
            SVIT_TRY(sv_parameter_read_tensor(out, entry, load->file, load->path, err));
            SVIT_TRY(sv_adapter_add(load, out, parameter, match, i, err));
        } else {
            memset(out, 0, elements * sizeof *out);
        }
        out += elements;
    }
    return SVIT_OK;
}

/* Keeps the values of the file unless the model cannot have them. */
static svit_status keep(const sv_load *load, real *flat, const sv_parameter *parameter,
                        const float *values, svit_error *err)
{
    SVIT_TRY(sv_parameter_check_zeros(parameter, values, load->path, err));
    sv_parameter_import(parameter, flat, values);
    return SVIT_OK;
}

/* `whole` is the shape of the joined tensors, `file` that of the part of them that is taken. */
static svit_status read_changed(const sv_load *load, real *flat, const sv_parameter *parameter,
                                const sv_name_match *match, const sv_tensor_desc *whole,
                                const sv_tensor_desc *file, change how, sv_stored_grid grid,
                                svit_error *err)
{
    size_t changed = 0, elements = whole->elements;
    if (!changed_elements(&changed, how, parameter, grid))
        return sv_fail(err, SVIT_E_FORMAT, "%s: '%s' does not fit memory", load->path,
                       parameter->name);
    float *stored = NULL, *own = NULL;
    SVIT_TRY(sv_allocate_array(load->allocator, (void **)&stored, elements, sizeof *stored,
                               "a tensor of a file", err));
    svit_status status = read_all(load, stored, parameter, match, err);
    if (status == SVIT_OK)
        sv_load_part(stored, whole, match);
    if (status == SVIT_OK && how == CHANGE_NONE) {
        status = keep(load, flat, parameter, stored, err);
    } else if (status == SVIT_OK) {
        status = sv_allocate_array(load->allocator, (void **)&own, changed, sizeof *own,
                                   "a changed tensor of a file", err);
        if (status == SVIT_OK) {
            apply(load, own, stored, how, parameter, file, grid);
            status = keep(load, flat, parameter, own, err);
            sv_release(load->allocator, own, changed * sizeof *own);
        }
    }
    sv_release(load->allocator, stored, elements * sizeof *stored);
    return status;
}

static svit_status fail_shape(const sv_load *load, const sv_parameter *parameter,
                              const sv_name_match *match, const sv_tensor_desc *file,
                              svit_error *err)
{
    static const char *const taken[] = {[SV_RULE_TRANSPOSED] = ", and is transposed",
                                        [SV_RULE_PART] = ", of which a part is taken",
                                        [SV_RULE_SHARE] = ", of which a part is taken",
                                        [SV_RULE_BLOCK] = ", of which a part is taken",
                                        [SV_RULE_ZERO] = NULL};
    const char *how = taken[match->kind];
    char has[SV_SHAPE_TEXT], wants[SV_SHAPE_TEXT];
    return sv_fail(
        err, SVIT_E_FORMAT, "%s: tensor '%.64s' is %s%s; '%s' is %s%s", load->path,
        sv_name_match_at(match, 0)->name, sv_tensor_desc_text(has, file), how ? how : "",
        parameter->name, sv_tensor_desc_text(wants, &parameter->desc),
        parameter->grid_height > 0 ? " (position_height and position_width name its grid)" : "");
}

svit_status sv_load_parameter(const sv_load *load, real *flat, const sv_parameter *parameter,
                              sv_name_match *match, bool may_differ, bool *fits, svit_error *err)
{
    sv_tensor_desc whole, file;
    sv_stored_grid grid = {0, 0};
    change how;
    *fits = true;
    if (match->count == 0) {
        if (flat)
            memset(flat + parameter->offset, 0, parameter->desc.elements * sizeof *flat);
        return SVIT_OK;
    }
    match->elements = parameter->desc.elements;
    *fits = sv_name_match_shape(&whole, match);
    file = whole;
    *fits = *fits && sv_load_part_shape(&file, match) &&
            find_change(&how, &grid, load, parameter, match, &file);
    if (!*fits)
        return may_differ ? SVIT_OK : fail_shape(load, parameter, match, &whole, err);
    for (size_t i = 0; i < match->count; i++)
        SVIT_TRY(sv_safetensors_check_f32(load->file, shape_source(match, i), err));
    if (!flat)
        return SVIT_OK;
    return read_changed(load, flat, parameter, match, &whole, &file, how, grid, err);
}
