/* Name maps: which tensors of a file hold a parameter, where the file's names are not the model's.
 */
#ifndef SV_NAME_MAP_H
#define SV_NAME_MAP_H

#include "autograd/parameter.h"
#include "io/safetensors.h"

/* Bytes of a tensor's name that a rule makes, with its end. */
enum { SV_TENSOR_NAME = 160 };

/* How a rule makes the parameter of the tensors. */
typedef enum sv_rule_kind {
    SV_RULE_PLAIN,      /* the tensors one after the other on the first axis */
    SV_RULE_TRANSPOSED, /* one tensor [in, out] of a weight [out, in] */
    SV_RULE_PART,       /* a part of one tensor */
    SV_RULE_SHARE, /* the attention's share of a linear map that it has with an MLP, or the rest */
    SV_RULE_BLOCK, /* of one tensor the element of an axis that the number of '*' says, which is
                           that of the block */
    SV_RULE_ZERO   /* the parameter is 0; if `tensors` has a name, only if the file has that
                           tensor */
} sv_rule_kind;

/* Which part of a tensor a rule takes: elements `first` to `end` - 1 of the axis, if that is
 * divided into `of` equal ones. A rule SV_RULE_BLOCK has the axis alone; the part then lacks that
 * axis. With SV_RULE_SHARE the attention has `of` times the length of a matrix's other axis, at the
 * end of axis 0 or the begin of axis 1, and `first` is 1 for its share, 0 for the rest; the share
 * of a vector is as long as the parameter. */
typedef struct sv_rule_part {
    size_t axis, first, end, of;
} sv_rule_part;

/* A rule for the parameter `name`, or for all parameters whose names begin with `name` and a dot:
 * the rest of such a name is appended to the names of the tensors. One '*' in `name` stands for a
 * number, which takes the place of the '*' in the names of the tensors. With SV_RULE_PLAIN the name
 * of a tensor after the first may begin with SV_OPTIONAL_TENSOR: where the file lacks it, zeros
 * with the shape of the first take its place. */
#define SV_OPTIONAL_TENSOR '?'
/* After that a name may begin with this, which stands for one of the map's names of a block. */
#define SV_ANY_LAYER '~'
typedef struct sv_name_rule {
    const char *name;
    const char *const *tensors; /* [count] */
    size_t count;               /* 0: SV_RULE_ZERO for every file */
    sv_rule_kind kind;
    sv_rule_part part; /* of SV_RULE_PART, SV_RULE_SHARE and SV_RULE_BLOCK */
} sv_name_rule;

/* How a position embedding of another grid is interpolated, by PyTorch's definitions. */
typedef enum sv_interpolation {
    SV_BICUBIC_ANTIALIASED, /* Keys, a = -0.5 */
    SV_BICUBIC,             /* a = -0.75 */
    SV_BILINEAR_ANTIALIASED
} sv_interpolation;

/* The interpolation in the models of a file that has a tensor of this name and rank. */
typedef struct sv_interpolation_rule {
    const char *tensor;
    size_t rank;
    sv_interpolation interpolation;
} sv_interpolation_rule;

/* The rules are tried in their order, each with every prefix before the tensors' names; the first
 * whose first tensor the file has is taken. A parameter without a rule has its own name. */
typedef struct sv_name_map {
    const char *name; /* of a built-in map; NULL: made of the caller's JSON */
    const sv_name_rule *rules;
    size_t rule_count;
    const char *const *prefixes; /* NULL-terminated */
    const char *const *layers;   /* NULL-terminated: what SV_ANY_LAYER stands for; NULL: nothing */
    const char *const *ignored;  /* NULL-terminated globs of tensors that no model uses */
    const char *const
        *beside; /* the same of what stands beside an encoder, whose names begin with the
                                    first prefix; NULL: nothing */
    const char *const *also_ignored; /* further ones; NULL: none */
    /* Names that a tensor of every file with these names has or ends with, NULL-terminated; NULL in
     * a map made of JSON. */
    const char *const *anchors;
    const char *witness; /* a tensor that stands beside each anchor, whose name others have, too;
                            NULL: the anchors are enough */
    /* Of position embeddings, unless one of `interpolations` applies. These end with a tensor NULL;
     * NULL: there are none. */
    sv_interpolation interpolation;
    const sv_interpolation_rule *interpolations;
    void *memory; /* of a map made of JSON */
    size_t bytes;
    sv_json *json;
} sv_name_map;

/* Where a rule meets the name of a parameter: the digits that its '*' stands for, and what follows
 * the rule in the name. */
typedef struct sv_rule_place {
    const char *digits;
    size_t digit_count;
    const char *rest;
} sv_rule_place;

/* The tensors of a file that make up one parameter. `place` points into the name of the parameter,
 * which lives longer. */
typedef struct sv_name_match {
    const sv_safetensors *file;
    const char *const *tensors; /* the names in the rule */
    const char *prefix, *layer;
    sv_rule_place place;
    size_t count; /* of the tensors; 0: the parameter is 0 */
    sv_rule_kind kind;
    sv_rule_part part;           /* of 0: `first` is the element of the axis that is taken */
    size_t elements;             /* of the parameter, for a share of a vector; 0: it is not known */
    char wanted[SV_TENSOR_NAME]; /* the name of the first tensor that is looked for and missing */
} sv_name_match;

/* Finds the built-in map "timm", "huggingface" or "openclip", or parses `text` as a JSON object of
 * rules. NULL: the model's own names. SVIT_E_ARGUMENT names what is not accepted, SVIT_E_FORMAT
 * what is no JSON. Release it with sv_name_map_free. */
svit_status sv_name_map_open(sv_name_map *out, const sv_allocator *allocator, const char *text,
                             svit_error *err);
void sv_name_map_free(const sv_allocator *allocator, sv_name_map *map);

/* Finds the tensors of the parameter `*parameter`. Returns false if the file lacks one:
 * match->wanted names it. The match keeps `file` and `parameter`, which outlive it. */
bool sv_name_map_find(sv_name_match *match, const sv_name_map *map, const sv_safetensors *file,
                      const char *const *parameter);

/* Tensor `i` of a match, below its count. NULL, which the first is never: zeros take its place. */
const sv_safetensors_entry *sv_name_match_at(const sv_name_match *match, size_t i);

/* The tensor of `file` whose name is that of tensor `i` of a match with `ending` in the place of
 * its ".weight", where `file` may have other names than the match's file: those of any rule that
 * makes the parameter in the same manner. NULL: there is none. */
const sv_safetensors_entry *sv_name_map_beside(const sv_name_map *map, const sv_safetensors *file,
                                               const char *parameter, const sv_name_match *match,
                                               size_t i, const char *ending);

/* Whether zeros take the place of tensors that the file lacks. */
bool sv_name_match_has_zeros(const sv_name_match *match);

/* The shape of the tensors of a match, joined on the first axis. False: there are none, their other
 * axes differ, or the shape overflows, as that of empty tensors with 2^62 rows does. */
bool sv_name_match_shape(sv_tensor_desc *out, const sv_name_match *match);

/* Writes the name that the first rule of one tensor gives a parameter, or its own name. */
void sv_name_map_tensor(char out[SV_TENSOR_NAME], const sv_name_map *map, const char *parameter);

/* Whether no model uses the tensor of this name, with or without one of the prefixes. */
bool sv_name_map_ignores(const sv_name_map *map, const char *tensor);

/* The built-in maps (builtin_maps.c); NULL past the end. */
const sv_name_map *sv_builtin_name_map(size_t index);

#endif
