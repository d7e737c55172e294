/* What the files of models and checkpoints have in common. */
#ifndef SV_MODEL_FILE_H
#define SV_MODEL_FILE_H

#include "io/safetensors.h"
#include "models/model.h"

/* Puts the members of a model's metadata into an object that is open. */
svit_status sv_model_metadata(sv_json_writer *metadata, const svit_model *model, svit_error *err);

/* Fails where `key` is one that sv_model_metadata uses. */
svit_status sv_model_metadata_key_check(const char *key, svit_error *err);

/* Fails where the file says that it was made by a newer library. */
svit_status sv_model_file_check_version(const sv_safetensors *file, const char *path,
                                        svit_error *err);

/* Reads the configuration of a file; SVIT_E_ARGUMENT where it has none. */
svit_status sv_model_file_config(svit_model_config *config, const sv_safetensors *file,
                                 const char *path, svit_error *err);

#endif
