/* safetensors files, on disk and in memory. Reading checks every size and offset; writing replaces
 * the file atomically. */
#ifndef SV_SAFETENSORS_H
#define SV_SAFETENSORS_H

#include "base/files/mapping.h"
#include "config/json.h"
#include "io/byte_source.h"
#include "tensor/tensor_desc.h"

typedef struct sv_safetensors sv_safetensors;

/* A tensor of an open file. */
typedef struct sv_safetensors_entry {
    const char *name; /* borrowed until the file is closed; SV_JSON_NUL for a NUL character */
    sv_tensor_desc desc;
    uint64_t offset; /* of the data, from the start of the file */
    uint64_t bytes;  /* of the data: sv_tensor_desc_bytes(&desc) */
    size_t part;     /* of a file that sv_safetensors_join makes: which of its files has the data */
} sv_safetensors_entry;

/* Opens a file and checks its whole header: offsets without holes or overlaps, shapes that match
 * the bytes of data, unique names, and `__metadata__` of strings. It reads the files that the
 * format's reference implementation reads, except for keys that occur twice, which the format
 * forbids, and for entries and types in forms that it does not have. The message of SVIT_E_FORMAT
 * names the file, the tensor and the defect. */
svit_status sv_safetensors_open(sv_safetensors **out, const sv_allocator *allocator,
                                const char *path, svit_error *err);

/* Opens the bytes of such a file, data[bytes], which are borrowed until the file is closed. `data`
 * is not NULL. Messages call them `name`. */
svit_status sv_safetensors_open_memory(sv_safetensors **out, const sv_allocator *allocator,
                                       const char *name, const void *data, size_t bytes,
                                       svit_error *err);

/* Opens several files, whose tensors have different names, as one that messages call `name`. It has
 * no metadata and cannot be mapped. */
svit_status sv_safetensors_join(sv_safetensors **out, const sv_allocator *allocator,
                                const char *name, const char *const *paths, size_t count,
                                svit_error *err);

/* Closes the file and frees its entries. NULL is allowed. */
void sv_safetensors_close(sv_safetensors *file);

/* The number of tensors. */
size_t sv_safetensors_count(const sv_safetensors *file);

/* The tensor at `index`, in the order of the data. NULL if there is none. */
const sv_safetensors_entry *sv_safetensors_at(const sv_safetensors *file, size_t index);

/* The tensor of that name, by binary search. NULL if there is none. */
const sv_safetensors_entry *sv_safetensors_find(const sv_safetensors *file, const char *name);

enum { SV_PREFIX_HINT = 128 };

/* Writes to `text` the end of a message that no tensor has the name `wanted`: "; the names of all
 * its tensors begin with 'PREFIX'", where PREFIX ends with a dot. Writes "" if there is no such
 * prefix, if `wanted` begins with it, or if the file has fewer than two tensors. Returns `text`. */
const char *sv_safetensors_prefix_hint(char text[SV_PREFIX_HINT], const sv_safetensors *file,
                                       const char *wanted);

/* The value of a metadata key, borrowed until the file is closed. NULL if there is none. */
const char *sv_safetensors_metadata(const sv_safetensors *file, const char *key);

/* SVIT_E_FORMAT unless the tensor is F32, F16, BF16, F64 or I8, which are read as float32, and its
 * descriptor holds its whole shape. */
svit_status sv_safetensors_check_f32(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                     svit_error *err);

/* Reads a tensor into out[entry->desc.elements], converting F16, BF16, F64 (rounded) and I8.
 * SVIT_E_FORMAT for other types. */
svit_status sv_safetensors_read_f32(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                    float *out, svit_error *err);

/* Reads the entry->bytes bytes of a tensor's data unconverted. */
svit_status sv_safetensors_read_bytes(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                      void *out, svit_error *err);

/* Maps the whole file, which may be closed afterwards. A tensor's data is at its entry's offset.
 * SVIT_E_UNSUPPORTED for memory. */
svit_status sv_safetensors_map(const sv_safetensors *file, sv_mapping *out, svit_error *err);

/* A tensor to be written. */
typedef struct sv_safetensors_tensor {
    const char *name;
    const sv_tensor_desc *desc; /* of a type that sv_convert_from_f32 writes */
    const void *source;         /* for the fill function */
} sv_safetensors_tensor;

/* Copies the tensor's elements, before their conversion, to out[tensor->desc->elements]. */
typedef void (*sv_safetensors_fill)(float *out, const sv_safetensors_tensor *tensor, void *user);

/* Replaces `path` atomically by a file of `metadata`, the JSON of an object of strings, and the
 * tensors in the order given. `fill` is called for one tensor after the other. The header is parsed
 * and compared before anything is written. */
svit_status sv_safetensors_write(const sv_allocator *allocator, const char *path,
                                 const char *metadata, const sv_safetensors_tensor *tensors,
                                 size_t count, sv_safetensors_fill fill, void *user,
                                 svit_error *err);

/* The same to a file or to memory. */
svit_status sv_safetensors_write_to(const sv_allocator *allocator, const sv_byte_target *target,
                                    const char *metadata, const sv_safetensors_tensor *tensors,
                                    size_t count, sv_safetensors_fill fill, void *user,
                                    svit_error *err);

#endif
