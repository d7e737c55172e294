/* What the files of this folder share. */
#ifndef SV_LOAD_INTERNAL_H
#define SV_LOAD_INTERNAL_H

#include "autograd/parameter_file.h"
#include "config/config.h"
#include "models/load/name_map.h"
#include "models/model.h"

#include <shiftvit/load.h>

/* position_resize.c: how position embeddings in a file with the map's names are interpolated. */
sv_interpolation sv_position_interpolation(const sv_name_map *map, const sv_safetensors *file);

/* out[out_height, out_width, c] = in[height, width, c], interpolated along each axis. `temporary`
 * has out_width * height * c elements. */
void sv_position_resize(float *out, size_t out_height, size_t out_width, const float *in,
                        size_t height, size_t width, size_t c, sv_interpolation interpolation,
                        float *temporary);

/* Beside SVIT_LOAD_*: the patch embedding of a file may be for images of three channels where the
 * model's have another number; it is summed or repeated as timm does. */
enum { SV_LOAD_ADAPT_CHANNELS = 1 << 16 };

/* What parameters take of a tensor. */
typedef struct sv_taken {
    bool any;
    size_t shared; /* elements of those that share it (SV_RULE_SHARE) */
} sv_taken;

/* An adapter of LoRA: a second file, whose tensors replace parameters, or are the factors of
 * products that are added to tensors of the first one. What it replaces may be absent from the
 * first file, or have another shape there. */
typedef struct sv_adapter {
    const char *path;
    sv_safetensors *file; /* NULL: there is none */
    double alpha, rank;   /* as stated; rank 0: of its tensors, which may have several */
    bool stabilised;      /* the factor is alpha / sqrt(rank), otherwise alpha / rank */
    sv_name_map map;
    bool *taken; /* [tensors of the file] whether a parameter takes the tensor */
} sv_adapter;

/* One file that is read. */
typedef struct sv_load {
    const sv_allocator *allocator;
    const sv_safetensors *file;
    const char *path;
    sv_name_map map;
    sv_interpolation interpolation; /* of a position embedding of another grid */
    sv_stored_grid grid;       /* of a position embedding, as the caller or the file states it */
    const sv_adapter *adapter; /* NULL: there is none */
    sv_taken *taken;           /* [tensors of the file] */
    bool adapts_channels;      /* SV_LOAD_ADAPT_CHANNELS */
} sv_load;

/* load_tensor.c: reads the tensors of a parameter into the flat array; NULL: checks their shape and
 * types alone. If their shape is not the parameter's, *fits is false and nothing is read;
 * SVIT_E_FORMAT names both shapes then, unless `may_differ`. */
svit_status sv_load_parameter(const sv_load *load, real *flat, const sv_parameter *parameter,
                              sv_name_match *match, bool may_differ, bool *fits, svit_error *err);

/* load.c: reads the parameters of `model` from an open file into `flat`, as svit_model_load_into
 * does; NULL: into the model's weights, which are allocated once all tensors are known to fit.
 * With an adapter, which may be NULL, they are those that it makes of them. */
svit_status sv_load_open_file(svit_model *model, real *flat, const sv_safetensors *file,
                              const char *path, const sv_name_map *map, const sv_adapter *adapter,
                              uint32_t flags, svit_load_report *report, svit_error *err);

/* load_adapter.c: notes that a parameter takes a tensor of the adapter's file. */
void sv_adapter_take(const sv_adapter *adapter, const sv_safetensors_entry *entry);

/* Adds the product of the adapter, if there is one, to `values`, which are those of tensor `i` of a
 * match. SVIT_E_FORMAT names a pair of factors that do not fit it. */
svit_status sv_adapter_add(const sv_load *load, float *values, const sv_parameter *parameter,
                           const sv_name_match *match, size_t i, svit_error *err);

/* load_part.c: changes the shape of a whole tensor to that of the part that the match takes, which
 * may be all of it. Returns false if the tensor has no such part. */
bool sv_load_part_shape(sv_tensor_desc *desc, const sv_name_match *match);

/* Moves the elements of that part to the begin of values[whole->elements]. */
void sv_load_part(float *values, const sv_tensor_desc *whole, const sv_name_match *match);

/* open_options.c */
extern const sv_config_type sv_open_options_type;

/* report.c: clears the counts of a report, which may be NULL, and its text. SVIT_E_VERSION: its
 * struct_size is too small, or it sets a field of a later version. */
svit_status sv_report_begin(svit_load_report *report, svit_error *err);

/* Appends the line "word name" to the text of a report, which may be NULL, as far as it fits, and
 * adds its bytes to `needed`. */
void sv_report_add(svit_load_report *report, const char *word, const char *name);

#endif
