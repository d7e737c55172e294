/* safetensors files: read with every size and offset checked, written by atomic replacement. */
#ifndef SV_SAFETENSORS_H
#define SV_SAFETENSORS_H

#include "base/file.h"
#include "base/json.h"
#include "base/mapping.h"
#include "tensor/tensor_desc.h"

typedef struct sv_safetensors sv_safetensors;

/* A tensor of an open file. */
typedef struct sv_safetensors_entry {
    const char *name; /* borrowed until the file is closed */
    sv_tensor_desc desc;
    uint64_t offset; /* of the data, from the start of the file */
    uint64_t bytes;  /* of the data: sv_tensor_desc_bytes(&desc) */
} sv_safetensors_entry;

/* Opens a file and checks its whole header: sizes, offsets without holes or overlaps, shapes of at
 * most 8 dimensions whose product fits the bytes, duplicate names, `__metadata__` of strings.
 * SVIT_E_FORMAT names the file, the tensor and what is wrong. */
svit_status sv_safetensors_open(sv_safetensors **out, const sv_allocator *allocator,
                                const char *path, svit_error *err);
void sv_safetensors_close(sv_safetensors *file);

size_t sv_safetensors_count(const sv_safetensors *file);
const sv_safetensors_entry *sv_safetensors_at(const sv_safetensors *file, size_t index);
const sv_safetensors_entry *sv_safetensors_find(const sv_safetensors *file, const char *name);

/* The value of a metadata key; NULL where there is none. Borrowed until the file is closed. */
const char *sv_safetensors_metadata(const sv_safetensors *file, const char *key);

/* Whether a tensor is of a type that is read as float32: F32, F16 or BF16. SVIT_E_FORMAT. */
svit_status sv_safetensors_check_f32(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                     svit_error *err);

/* Reads a tensor as float32, F16 and BF16 converted; SVIT_E_FORMAT for other types.
 * `elements` is that of the entry. */
svit_status sv_safetensors_read_f32(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                    float *out, svit_error *err);

/* Reads the entry->bytes bytes of a tensor as they stand. */
svit_status sv_safetensors_read_bytes(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                      void *out, svit_error *err);

/* Maps the whole file, which may be closed then; a tensor lies at its entry's offset. */
svit_status sv_safetensors_map(const sv_safetensors *file, sv_mapping *out, svit_error *err);

/* A tensor to be written. */
typedef struct sv_safetensors_tensor {
    const char *name;
    const sv_tensor_desc *desc; /* SV_DTYPE_F32 */
    const void *source;         /* for the fill function */
} sv_safetensors_tensor;

/* Copies the tensor's elements to out[tensor->desc->elements]. */
typedef void (*sv_safetensors_fill)(float *out, const sv_safetensors_tensor *tensor, void *user);

/* Writes a file: metadata (the JSON of an object of strings), then the tensors, each filled into a
 * buffer of its own size in turn. The header is read back and compared before anything is written.
 * Atomic replacement of `path`. */
svit_status sv_safetensors_write(const sv_allocator *allocator, const char *path,
                                 const char *metadata, const sv_safetensors_tensor *tensors,
                                 size_t count, sv_safetensors_fill fill, void *user,
                                 svit_error *err);

#endif
