/* Checks, before any work, that what a program writes replaces nothing that it reads. */
#ifndef EXAMPLE_OUTPUT_CHECK_H
#define EXAMPLE_OUTPUT_CHECK_H

#include "program/program.h"

/* Fails with SVIT_E_ARGUMENT if `out`, which the option `out_name` names, is the file of
 * `other_name`: an input, or another output. Both names are those of the message, such as "--out"
 * and "--model". A path that is NULL passes. */
svit_status output_check(struct program *self, const char *out_name, const char *out,
                         const char *other_name, const char *other);

/* Checks that a file can be written there: its folder is there and may be written to, and the path
 * is no folder, pipe or device. Work whose result cannot be kept is not begun. */
svit_status output_check_place(struct program *self, const char *out_name, const char *out);

/* Does that for a picture. Fails with SVIT_E_ARGUMENT if a file is there that is neither empty nor
 * a picture that these programs have drawn: a photograph, or a file of another kind. */
svit_status output_check_picture(struct program *self, const char *out_name, const char *out);

/* Does that for a picture whose folder need not exist. `accepted` ends the message. */
svit_status output_check_drawn(struct program *self, const char *out_name, const char *out,
                               const char *accepted);

/* Does what output_check_place does, but `out` may be `may_be`, from --model or NULL, if that is a
 * model in one file and, in a run, its last weights. Fails if a file is there that is neither empty
 * nor of the kind that is written: ".safetensors" or ".onnx". */
svit_status output_check_replaced(struct program *self, const char *out_name, const char *out,
                                  const char *ending, const char *may_be);

/* Checks the file of --data, and of a list train.csv those beside it that are its other splits. */
svit_status output_check_data(struct program *self, const char *out_name, const char *out,
                              const char *spec);

/* Checks all files that a model is read from, which `source_name` names: "IN", "--model" or
 * "--base". `source` is a file or folder that svit_model_open takes, or NULL. */
svit_status output_check_source(struct program *self, const char *out_name, const char *out,
                                const char *source_name, const char *source);

/* Checks that a run in `folder` replaces no file that its start is read from, which `source_name`
 * names: "--init-from" or "--base". `source` is as above. */
svit_status output_check_start(struct program *self, const char *folder, const char *source_name,
                               const char *source);

/* Checks that --overwrite can replace what has the name of a file of a run in `folder`, which need
 * not exist, of its events only if the run writes them: that it is a file, and curves.png a picture
 * that these programs have drawn. */
svit_status output_check_run(struct program *self, const char *folder, int tensorboard);

/* Does what output_check_source does for --model. */
svit_status output_check_model(struct program *self, const char *out_name, const char *out,
                               const char *model);

/* Checks the files of the images of a data set. */
svit_status output_check_images(struct program *self, const char *out_name, const char *out,
                                const svit_dataset *images);

#endif
