/* What model files and checkpoints have in common: metadata, format version, configuration. */
#ifndef SV_MODEL_FILE_H
#define SV_MODEL_FILE_H

#include "io/safetensors.h"
#include "models/model.h"

/* Writes the members of a model's metadata into the JSON object that the writer has begun.
 * SVIT_E_ARGUMENT if a class name is not UTF-8. */
svit_status sv_model_metadata(sv_json_writer *metadata, const svit_model *model, svit_error *err);

/* SVIT_E_ARGUMENT if sv_model_metadata uses `key`. */
svit_status sv_model_metadata_key_check(const char *key, svit_error *err);

/* SVIT_E_VERSION if the file has a newer format than this library reads. */
svit_status sv_model_file_check_version(const sv_safetensors *file, const char *path,
                                        svit_error *err);

/* Reads the configuration in a file's metadata. SVIT_E_ARGUMENT if there is none, SVIT_E_FORMAT if
 * it is not valid. */
svit_status sv_model_file_config(svit_model_config *config, const sv_safetensors *file,
                                 const char *path, svit_error *err);

#endif
