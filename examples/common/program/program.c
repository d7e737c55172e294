/* What all programs share: common options, a context, messages and the exit status. */
#include "program/program.h"
#include "program/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    KEY_THREADS = 't',
    KEY_SEED = 's',
    KEY_JSON = 'j',
    KEY_QUIET = 'q',
    KEY_GEMM = 0x500,
    KEY_PIN
};

static const struct option_line options[] = {
    {"threads", KEY_THREADS, "N", 0, "Use N threads, 0 to 1024 (0, the default: every CPU)"},
    {"pin", KEY_PIN, NULL, 0, "Pin each thread but the first to a CPU of its own"},
    {"gemm", KEY_GEMM, "NAME", 0,
     "GEMM backend for float32: tile, cblas or amx (default: the best one for this CPU)"},
    {"seed", KEY_SEED, "N", 0, "Seed of all random numbers, 0 to 2^63 - 1 (default 0)"},
    {"json", KEY_JSON, NULL, 0, "Print results as JSON, one object a line"},
    {"quiet", KEY_QUIET, NULL, 0, "Print errors only, no progress and no notes"},
    {NULL, 0, NULL, 0, NULL},
};

static int parse_option(int key, char *text, struct option_state *state)
{
    struct program *self = state->input;
    switch (key) {
    case KEY_THREADS:
        self->threads = (uint32_t)option_unsigned(state, "--threads", text, 0, 1024);
        return 0;
    case KEY_PIN:
        self->pin = 1;
        return 0;
    case KEY_GEMM:
        self->gemm = text;
        return 0;
    case KEY_SEED:
        self->seed = option_unsigned(state, "--seed", text, 0, INT64_MAX);
        self->seed_given = 1;
        return 0;
    case KEY_JSON:
        self->json = 1;
        return 0;
    case KEY_QUIET:
        self->quiet = 1;
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

const struct option_table program_table = {options, parse_option, NULL, NULL, NULL, NULL};

/* Ends the process with a failure if the results could not be written, for example to a full disk
 * or a closed pipe. ferror is needed too, because an earlier write that failed has emptied the
 * buffer, and fclose would then succeed. */
static void close_stdout(void)
{
    int failed = ferror(stdout);
    if (fclose(stdout) == 0 && !failed)
        return;
    fprintf(stderr, "%s: cannot write the results to standard output\n", option_program_name);
    _exit(STATUS_FAILED);
}

/* A standard stream that the parent has closed would be the next file that is opened, and messages
 * would go into it. /dev/null takes its place; what is written to standard output still fails. */
static void keep_streams(void)
{
#ifndef _WIN32
    for (int file = 0; file <= 2; file++)
        if (fcntl(file, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", file == 2 ? O_WRONLY : O_RDONLY);
#endif
}

/* A write beyond the limit of file sizes (ulimit -f) fails then, as one to a full disk does. By
 * default the system ends the process without a word. */
static void ignore_size_signal(void)
{
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN);
#endif
}

void program_parse(const struct option_table *table, int argc, char **argv, void *input)
{
    static int watched;
    keep_streams();
    ignore_size_signal();
    if (!watched)
        watched = atexit(close_stdout) == 0;
    options_parse(table, argc, argv, input, svit_version_string(), STATUS_USAGE);
}

/* What the library's messages say of its functions, structs and their fields, and what a program
 * says there. The first that a message has is replaced. */
static const char *const ADVICE[][2] = {
    {"svit_session_layer_name lists them", "shiftvit-features --list-layers lists them"},
    {"svit_session_layer_name of a session without input_layer lists them",
     "shiftvit-features --list-layers lists them"},
    {"svit_model_replace_head gives it one", "shiftvit-train --init-from gives it one"},
    {"svit_model_set_trainable changes that",
     "--freeze, or trainable in groups, of fewer is accepted"},
    {"svit_model_replace_head gives it another number",
     "shiftvit-train --init-from gives it another classifier"},
    {"svit_model_set_output says what it predicts", "shiftvit-train --init-from gives it classes"},
    {"svit_model_parameter_name lists them", "shiftvit-info lists them"},
    {"svit_model_preset_name lists", "--list-presets prints"},
    {"svit_model_load_with_config takes yours", "--preset or --config states one"},
    {", as svit_dataset_match_classes makes them", ", in the same order"},
    {"svit_dataset_match_classes takes the model's order, svit_model_replace_head a new classifier",
     "the model's order is accepted"},
    {"and svit_binary_cross_entropy and svit_mean_squared_error take one output",
     "and shiftvit-train takes one with --set loss=binary or loss=mse"},
    {"preprocessing is wanted, but the model has no pipeline; svit_model_set_pipeline gives it one",
     "--preprocessing: the model's file does not say how images become its input; --preset NAME, "
     "or "
     "--config with the run.json of a run, does"},
    {"svit_model_set_pipeline gives it one",
     "--preset NAME, or --config with the run.json of a run, gives it one"},
    {"set a pipeline on the model and use svit_predictor_create_from_model",
     "--preset NAME gives the preset's"},
    {"svit_onnx_options.output is 'probabilities', but the model predicts numbers; 'logits' is "
     "accepted",
     "--probabilities: the model predicts numbers, which are written without the option"},
    {"tokens is 'class'; layer", "--pool is 'class'; layer"},
    {"tokens 'mean' is accepted", "--pool mean is accepted"},
    {"; another can be chosen then", "; shiftvit-eval --accept chooses another"},
    {"svit_pipeline_config: ", ""},
    {"svit_pipeline_config.", ""},
};

static void print_message(const char *kind, const char *message)
{
    for (size_t i = 0; i < sizeof ADVICE / sizeof *ADVICE; i++) {
        const char *found = strstr(message, ADVICE[i][0]);
        if (found) {
            fprintf(stderr, "%s: %s%.*s%s%s\n", option_program_name, kind, (int)(found - message),
                    message, ADVICE[i][1], found + strlen(ADVICE[i][0]));
            return;
        }
    }
    fprintf(stderr, "%s: %s%s\n", option_program_name, kind, message);
}

static void log_message(void *user, int32_t level, const char *message)
{
    const struct program *self = user;
    if (!self->quiet)
        print_message(level == SVIT_LOG_WARNING ? "warning: " : "", message);
}

svit_status program_open(struct program *self)
{
    svit_context_config config;
    TRY(svit_context_config_init(&config, sizeof config));
    config.threads = self->threads;
    config.pin = self->pin;
    config.gemm = self->gemm;
    config.log = log_message;
    config.log_user = self;
    config.stop = self->stop;
    return svit_context_create(&self->context, &config, &self->err);
}

/* The message of the failure: that of the error, or as a whole what program_fail gave it. */
static const char *whole_message(char *shown, const struct program *self)
{
    svit_error cut = {.struct_size = sizeof cut};
    if (strlen(self->message) < sizeof cut.message)
        return self->err.message;
    svit_error_set(&cut, SVIT_E_STATE, self->message);
    const int is_it = strcmp(cut.message, self->err.message) == 0;
    return is_it ? shown_text(shown, self->message) : self->err.message;
}

int program_exit(struct program *self, svit_status status)
{
    char shown[SHOWN_CAPACITY];
    svit_context_free(self->context);
    self->context = NULL;
    if (status == SVIT_OK)
        return STATUS_DONE;
    const char *message = whole_message(shown, self);
    if (!self->is_mute)
        print_message("", message[0] != '\0' ? message : svit_status_name(status));
    return status == SVIT_E_ARGUMENT ? STATUS_USAGE : STATUS_FAILED;
}

svit_status program_fail(struct program *self, svit_status status, const char *format, ...)
{
    char message[sizeof self->message]; /* the arguments may have the last one */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    memcpy(self->message, message, sizeof message);
    return svit_error_set(&self->err, status, message); /* cuts it between characters */
}

void program_note_unused(const struct program *self, const char *name, const char *why)
{
    if (!self->quiet)
        fprintf(stderr, "%s: warning: %s has no effect: %s\n", option_program_name, name, why);
}

uint64_t option_unsigned(const struct option_state *state, const char *name, const char *text,
                         uint64_t min, uint64_t max)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min || value > max)
        option_error(state, "%s: '%s' is no whole number from %" PRIu64 " to %" PRIu64, name, text,
                     min, max);
    return value;
}

int decimal_read(double *value, const char *text)
{
    char *end = NULL;
    const char *digits = text + (text[0] == '-');
    if (!strchr(".0123456789", digits[0]) || text[strspn(text, "0123456789.eE+-")] != '\0')
        return 0;
    *value = strtod(text, &end);
    const int is_small = *value == 0 && strcspn(text, "123456789") < strcspn(text, "eE");
    return end != text && *end == '\0' && isfinite(*value) && !is_small;
}

double option_real(const struct option_state *state, const char *name, const char *text, double min,
                   double max)
{
    double value;
    if (!decimal_read(&value, text) || value < min || value > max)
        option_error(state, "%s: '%s' is no number from %g to %g", name, text, min, max);
    return value;
}

int has_ending(const char *path, const char *ending)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ending) == 0;
}

const char *option_png(const struct option_state *state, const char *name, const char *text)
{
    if (!has_ending(text, ".png"))
        option_error(state, "%s: '%s' does not end in .png; pictures are PNG files", name, text);
    return text;
}

const char *option_ending(const struct option_state *state, const char *name, const char *text,
                          const char *ending, const char *other)
{
    if (has_ending(text, ending) || (other && has_ending(text, other)))
        return text;
    option_error(state, "%s: '%s' does not end in %s%s%s", name, text, ending, other ? " or " : "",
                 other ? other : "");
    return text;
}

const char *const compute_names[] = {"f32", "bf16", "int8", NULL};
const char *const tta_names[] = {"none", "flip", "flip-shift", NULL};

int32_t option_choice(const struct option_state *state, const char *name, const char *text,
                      const char *const *choices)
{
    char accepted[256] = "";
    for (int32_t i = 0; choices[i]; i++) {
        if (strcmp(text, choices[i]) == 0)
            return i;
        size_t used = strlen(accepted);
        snprintf(accepted + used, sizeof accepted - used, "%s%s", i ? ", " : "", choices[i]);
    }
    option_error(state, "%s: '%s' is none of %s", name, text, accepted);
    return 0;
}
