/* The command line of shiftvit-train, and the stored options that come before it. */
#include "training/train_command_line.h"

#include <stdlib.h>

/* Fails if the command line gives what a resumed run has already. */
static svit_status check_resume(train_options *options)
{
    const char *given = options->out                   ? "--out"
                        : options->init_from           ? "--init-from"
                        : options->config.preset_given ? "--preset"
                                                       : NULL;
    return given ? program_fail(&options->program, SVIT_E_ARGUMENT,
                                "--resume goes on with the run of '%s', in its folder and with its "
                                "model; %s is accepted without --resume",
                                options->resume, given)
                 : SVIT_OK;
}

static int has_data(const train_options *options)
{
    return options->data.spec != train_defaults.data.spec;
}

static svit_status read_stored(run_file *stored, train_options *options, int argc, char **argv)
{
    struct program *program = &options->program;
    if (options->resume) {
        TRY(check_resume(options));
        return run_file_read(stored, program, options->resume, argc, argv);
    }
    if (!options->config.file)
        return SVIT_OK;
    const run_file_given given = {options->init_from != NULL, has_data(options),
                                  options->config.preset_given};
    return run_file_read_start(stored, program, options->config.file, &given, argc, argv);
}

static svit_status parse(train_options *options, run_file *stored, int argc, char **argv)
{
    *options = train_defaults;
    options->is_begun = 1;
    program_parse(&train_table, argc, argv, options);
    TRY(read_stored(stored, options, argc, argv));
    const int has_more = stored->arguments != NULL;
    *options = train_defaults;
    program_parse(&train_table, has_more ? stored->argument_count : argc,
                  has_more ? stored->arguments : argv, options);
    if (options->resume && !has_data(options))
        return program_fail(&options->program, SVIT_E_ARGUMENT,
                            "the run of '%s' has not stored where its data is; --data is needed",
                            options->resume);
    if (options->init_from && !has_data(options))
        return program_fail(&options->program, SVIT_E_ARGUMENT,
                            "--init-from needs --data SPEC, the images to fine-tune on, such as "
                            "folder:DIR (--data procedural: synthetic ones)");
    return SVIT_OK;
}

void train_command_line(train_options *out, run_file *stored, int argc, char **argv)
{
    svit_status status = parse(out, stored, argc, argv);
    if (status != SVIT_OK)
        exit(program_exit(&out->program, status));
    out->config.repeats_rule = stored->begins_by_rule;
    if (out->resume) {
        out->out = out->resume;
        out->resumed_training = stored->training;
        out->resumed_drawn = &stored->drawn;
    }
    if (!out->out)
        out->out = "run";
}
