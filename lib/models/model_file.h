/* What model files and checkpoints have in common: metadata, format version, configuration. */
#ifndef SV_MODEL_FILE_H
#define SV_MODEL_FILE_H

#include "io/safetensors.h"
#include "models/model.h"

/* Takes pairs of texts, which are valid during the call. */
typedef struct sv_metadata_sink {
    void (*put)(void *user, const char *key, const char *value);
    void *user;
} sv_metadata_sink;

/* Passes what a file says of a model to `sink`: configuration, class names, pipeline and output.
 * SVIT_E_ARGUMENT if a class name is not UTF-8. */
svit_status sv_model_properties(const sv_metadata_sink *sink, const svit_model *model,
                                svit_error *err);

/* Writes the members of a model's metadata into the JSON object that the writer has begun.
 * SVIT_E_ARGUMENT if a class name is not UTF-8. */
svit_status sv_model_metadata(sv_json_writer *metadata, const svit_model *model, svit_error *err);

/* SVIT_E_ARGUMENT if sv_model_metadata uses `key`. */
svit_status sv_model_metadata_key_check(const char *key, svit_error *err);

/* SVIT_E_VERSION if the file has a newer format than this library reads. */
svit_status sv_model_file_check_version(const sv_safetensors *file, const char *path,
                                        svit_error *err);

/* Whether a tensor of a file is none of the model's, but no mistake: of the optimiser in a
 * checkpoint, scales of I8 tensors, and buffers, which are integers, F64 or C64. */
bool sv_model_file_skips(const sv_parameter_table *table, const sv_safetensors *file,
                         const sv_safetensors_entry *entry);

/* Whether a tensor is a buffer that a state dict carries along, such as a counter or an index
 * table. */
bool sv_model_file_is_buffer(const sv_safetensors_entry *entry);

/* Reads the configuration in a file's metadata. SVIT_E_ARGUMENT if there is none, SVIT_E_FORMAT if
 * it is not valid. */
svit_status sv_model_file_config(svit_model_config *config, const sv_safetensors *file,
                                 const char *path, svit_error *err);

#endif
