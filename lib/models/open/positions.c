/* What the tensors tell of the tokens of a ViT: which there are before the patches, which have
 * learnt positions, and the grid of those. */
#include "models/load/load_internal.h"
#include "models/open/open_internal.h"

#include <math.h>
#include <string.h>

/* The tokens before the patches: *prefix becomes their number, *registers that of the registers. */
static svit_status state_tokens(sv_open *open, size_t *prefix, size_t *registers, svit_error *err)
{
    sv_tensor_desc shape;
    const bool class_token = sv_open_has(open, "cls_token"),
               distilled = !open->distillation_is_register && sv_open_has(open, "dist_token");
    /* transformers' distillation token is found as a register, too. */
    if (distilled && sv_open_has(open, "reg_token") &&
        !sv_open_is_named(open, "reg_token", "distillation_token"))
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: registers beside a distillation token are not computed", open->weights);
    *registers = 0;
    if (!distilled && sv_open_find(open, "reg_token", &shape) && shape.rank >= 2)
        *registers = (size_t)shape.shape[shape.rank - 2];
    *prefix = class_token + distilled + *registers;
    SVIT_TRY(sv_open_state_shape(
        open, "class_token", class_token ? SVIT_CLASS_TOKEN_PRESENT : SVIT_CLASS_TOKEN_NONE, err));
    SVIT_TRY(sv_open_state_shape(open, "distilled", distilled, err));
    return sv_open_state_shape(open, "register_tokens", *registers, err);
}

/* Rows and columns of patches. */
typedef struct grid {
    double height, width; /* 0: not known */
} grid;

static grid patches_of(const sv_open *open, double height, double width)
{
    const double patch = sv_facts_value(&open->facts, "patch_size", 0);
    return patch > 0 ? (grid){floor(height / patch), floor(width / patch)} : (grid){0, 0};
}

static grid grid_of_input(const sv_open *open)
{
    return patches_of(open, sv_facts_value(&open->facts, "input_height", 0),
                      sv_facts_value(&open->facts, "input_width", 0));
}

/* The grid of the positions as the caller or a file states it, or that of the input. */
static grid stated_grid(const sv_open *open)
{
    const grid own = {sv_facts_value(&open->facts, "position_height", 0),
                      sv_facts_value(&open->facts, "position_width", 0)};
    if (own.height > 0 && own.width > 0)
        return own;
    return open->image[0] > 0 ? patches_of(open, open->image[0], open->image[1])
                              : grid_of_input(open);
}

/* Whether only the input tells a grid, by the caller or the preprocessor, and the file may have
 * another one, from which its positions are interpolated. */
static bool is_input_alone(const sv_open *open)
{
    return sv_facts_find(&open->facts, "input_height") && open->image[0] <= 0 &&
           !sv_facts_find(&open->facts, "position_height");
}

/* Whether the registers are named as in transformers and DINOv2's own code, where the class token
 * has a position and they have none. */
static bool registers_have_none(const sv_open *open)
{
    return sv_open_is_named(open, "reg_token", "register_tokens");
}

/* Whether tokens of this kind may have the positions. Of a grid whose size nothing states, a square
 * proves only what is usual: that N * N rows belong to the patches of a model that has other tokens
 * has to be stated, for the other tokens and a grid that is no square may have as many. */
static bool may_have_positions(const sv_open *open, size_t kind, bool is_stated)
{
    const sv_fact *fact = sv_facts_find(&open->facts, "position_tokens");
    const bool is_patches = fact && fact->value == SVIT_POSITION_PATCHES;
    if (fact && fact->is_final)
        return fact->value == (double)kind;
    if (is_stated)
        return true;
    if (kind == SVIT_POSITION_CLASS_PATCHES || registers_have_none(open))
        return kind == SVIT_POSITION_CLASS_PATCHES && registers_have_none(open);
    return is_patches == (kind == SVIT_POSITION_PATCHES);
}

/* The positions of a file. */
typedef struct positions {
    size_t rows;
    size_t others[3]; /* by SVIT_POSITION_*: rows that belong to no patch */
} positions;

/* Finds the kind of tokens whose positions fill `wanted`, or a square if its size is 0. Returns the
 * grid; its height is 0 if there is none. */
static grid find_grid(const positions *of, const sv_open *open, grid wanted, size_t *kind)
{
    const bool is_stated = wanted.height > 0 && wanted.width > 0;
    for (*kind = 0; *kind <= SVIT_POSITION_CLASS_PATCHES; ++*kind) {
        if (of->rows <= of->others[*kind] || !may_have_positions(open, *kind, is_stated))
            continue;
        const double patches = (double)(of->rows - of->others[*kind]), side = round(sqrt(patches));
        const grid found = is_stated ? wanted : (grid){side, side};
        if (found.height * found.width == patches)
            return found;
    }
    return (grid){0, 0};
}

/* The grid that transformers takes stored rows for where it interpolates them: a square, whatever
 * the image is. DINOv2, which alone has LayerScale beside positions, does so even for an image of
 * its own size unless that is a square, the others for another size. */
static grid grid_of_interpolation(const sv_open *open, grid found)
{
    const grid input = grid_of_input(open);
    const double side = round(sqrt(found.height * found.width));
    const bool is_own = input.height == found.height && input.width == found.width &&
                        !sv_open_has(open, "blocks.0.ls1.gamma");
    if (strcmp(open->map.name, "huggingface") != 0 || is_own ||
        sv_facts_find(&open->facts, "position_height") || side * side != found.height * found.width)
        return found;
    return (grid){side, side};
}

/* States the input of a grid that nothing states, and the grid of an input that is another one. */
static svit_status state_grid(sv_open *open, grid found, svit_error *err)
{
    const double patch = sv_facts_value(&open->facts, "patch_size", 0);
    const grid input = grid_of_input(open);
    if (patch <= 0)
        return SVIT_OK;
    if (!sv_facts_find(&open->facts, "input_height")) {
        SVIT_TRY(sv_open_state_shape(open, "input_height", (size_t)(found.height * patch), err));
        return sv_open_state_shape(open, "input_width", (size_t)(found.width * patch), err);
    }
    if (input.height != found.height || input.width != found.width) {
        sv_facts_assume(&open->facts, "position_height", found.height, SV_OPEN_TENSORS);
        sv_facts_assume(&open->facts, "position_width", found.width, SV_OPEN_TENSORS);
    }
    return SVIT_OK;
}

static svit_status fail_grid(const sv_open *open, const positions *of, svit_error *err)
{
    const grid wanted = stated_grid(open);
    const size_t prefix = of->others[SVIT_POSITION_ALL];
    const double patches = wanted.height * wanted.width;
    if (patches > 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: the position embedding has %zu rows; the %g x %g patches of the stated "
                       "image and the %zu tokens before them have %g to %g; position_height and "
                       "position_width tell another grid",
                       open->weights, of->rows, wanted.height, wanted.width, prefix, patches,
                       patches + (double)prefix);
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: the position embedding has %zu rows, which are no square with the %zu "
                   "tokens before it; input_height and input_width, or position_height and "
                   "position_width, tell the grid",
                   open->weights, of->rows, prefix);
}

svit_status sv_open_state_positions(sv_open *open, svit_error *err)
{
    sv_tensor_desc shape;
    size_t prefix = 0, registers = 0, kind;
    sv_facts_forget_zero(&open->facts, "position_height"); /* which states no grid */
    sv_facts_forget_zero(&open->facts, "position_width");
    SVIT_TRY(state_tokens(open, &prefix, &registers, err));
    if (!sv_open_find(open, "pos_embed", &shape) && open->has_positions)
        return sv_fail(err, SVIT_E_FORMAT, "%s: the position embedding is missing", open->weights);
    if (!sv_open_find(open, "pos_embed", &shape))
        return sv_open_state_shape(open, "position_tokens", SVIT_POSITION_NONE, err);
    const positions of = {.rows = shape.rank >= 2 ? (size_t)shape.shape[shape.rank - 2] : 0,
                          .others = {[SVIT_POSITION_ALL] = prefix,
                                     [SVIT_POSITION_PATCHES] = 0,
                                     [SVIT_POSITION_CLASS_PATCHES] = prefix - registers}};
    grid found = find_grid(&of, open, stated_grid(open), &kind);
    if (found.height == 0 && is_input_alone(open))
        found = find_grid(&of, open, (grid){0, 0}, &kind);
    if (found.height == 0)
        return fail_grid(open, &of, err);
    SVIT_TRY(sv_open_state_shape(open, "position_tokens", kind, err));
    return state_grid(open, grid_of_interpolation(open, found), err);
}
