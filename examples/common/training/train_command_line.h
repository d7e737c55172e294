/* The command line of shiftvit-train, and the stored options that come before it. */
#ifndef EXAMPLE_TRAIN_COMMAND_LINE_H
#define EXAMPLE_TRAIN_COMMAND_LINE_H

#include "training/run_file.h"
#include "training/train_option.h"

/* Parses the command line. With --resume all options of the run come first, with the run.json of
 * another run in --config and without --data those of its data; those of the command line override
 * them. Ends the program if they do not go together. Free *stored, which the options refer to, with
 * run_file_free. */
void train_command_line(train_options *out, run_file *stored, int argc, char **argv);

#endif
