/* The options of a training run. */
#include "training/train_option.h"
#include "training/mpi_place.h"

const train_options train_defaults = {.program = PROGRAM_INIT,
                                      .data = DATA_OPTION_INIT,
                                      .config = {.opens = "--init-from", .takes_training = 1},
                                      .epochs = -1,
                                      .batch = -1,
                                      .patience = -1,
                                      .lr = -1,
                                      .lora = -1,
                                      .lora_alpha = -1,
                                      .weight_decay = -1,
                                      .checkpoint_seconds = -1,
                                      .compute = -1,
                                      .schedule = -1,
                                      .keep = -1,
                                      .memory = -1};

const char *const train_schedules[] = {"constant", "warmup-cosine",   "linear",    "one-cycle",
                                       "step",     "cosine-restarts", "piecewise", NULL};
const char *const train_keeps[] = {"last", "best", NULL};
const char *const train_computes[] = {"auto", "f32", "bf16", NULL};
const char *const train_memories[] = {"store", "blocks", "stages", NULL};

enum {
    KEY_EPOCHS = 'e',
    KEY_BATCH = 'b',
    KEY_LR = 'l',
    KEY_OUT = 'o',
    KEY_RESUME = 'r',
    KEY_WEIGHT_DECAY = 0x300,
    KEY_SCHEDULE,
    KEY_PATIENCE,
    KEY_KEEP,
    KEY_COMPUTE,
    KEY_MEMORY,
    KEY_CHECKPOINT_SECONDS,
    KEY_OVERWRITE,
    KEY_INIT_FROM,
    KEY_FREEZE,
    KEY_LORA,
    KEY_LORA_ALPHA,
    KEY_MPI
};

static const struct option_line option_list[] = {
    {"epochs", KEY_EPOCHS, "N", 0, "Train for N epochs"},
    {"batch", KEY_BATCH, "N", 0, "Take N images in a step"},
    {"lr", KEY_LR, "X", 0, "Learning rate, the maximum of the schedule"},
    {"weight-decay", KEY_WEIGHT_DECAY, "X", 0, "Weight decay"},
    {"schedule", KEY_SCHEDULE, "NAME", 0,
     "constant, warmup-cosine, linear, one-cycle, step, cosine-restarts or piecewise"},
    {"patience", KEY_PATIENCE, "N", 0,
     "Stop after N epochs without a better validation top-1, with the losses binary and mse "
     "without a lower validation loss (0: never)"},
    {"keep", KEY_KEEP, "WHICH", 0, "Keep the last or the best weights"},
    {"compute", KEY_COMPUTE, "TYPE", 0, "auto (default), f32 or bf16; auto is f32"},
    {"memory", KEY_MEMORY, "NAME", 0,
     "Activations that the forward pass saves: store (default): all; blocks: the input of each "
     "block; stages: the input of each segment of layers. The others are recomputed, which takes "
     "less memory and more time and has the same result"},
    {"out", KEY_OUT, "DIR", 0,
     "Write model.safetensors, checkpoint.safetensors, history.csv, curves.png and run.json to "
     "DIR (default run), which must not hold another run"},
    {"overwrite", KEY_OVERWRITE, NULL, 0,
     "Replace the run that DIR holds. Its files stay until the first checkpoint of the new run; "
     "other files stay"},
    {"resume", KEY_RESUME, "DIR", 0,
     "Continue the run in DIR with the options of that run. With --epochs N beyond those of a run, "
     "finished or not, it is extended: the schedules constant, step and cosine-restarts go on, "
     "another one stays at its last rate, mostly 0, unless --schedule NAME computes a schedule "
     "over all epochs or --lr gives a constant rate"},
    {"init-from", KEY_INIT_FROM, "FILE", 0,
     "Start from this model: a file, a run's folder, or a checkpoint of timm, OpenCLIP or "
     "transformers. Without --preset, the model and its preprocessing are those of FILE, it gets a "
     "classifier for the classes of the data, and the settings follow from the number of images; "
     "other options change them. With --preset or a model in --config, the weights alone are "
     "taken; a classifier of other classes starts anew"},
    {"freeze", KEY_FREEZE, "PATTERN", 0,
     "Keep the parameters whose names match PATTERN (* stands for any characters, ? for one) as "
     "they are; up to 16 times. The backward pass ends at the lowest layer that is trained"},
    {"lora", KEY_LORA, "RANK", 0,
     "With --init-from: train adapters of this rank on the attention of a ViT, and its head; the "
     "other parameters stay as they are. model.safetensors has the adapters merged"},
    {"lora-alpha", KEY_LORA_ALPHA, "A", 0,
     "The adapters' product counts A / RANK times (default RANK)"},
    {"mpi", KEY_MPI, "NAME", 1,
     "Train together with the other processes that mpirun has started; each batch is divided among "
     "them, and the result is the same for any number of them. NAME: openmpi, mpich or auto "
     "(default), the one whose mpirun it is. Gradients are added in 16 leaves unless the setting "
     "`leaves` is given"},
    {"checkpoint-seconds", KEY_CHECKPOINT_SECONDS, "S", 0,
     "Write a checkpoint every S seconds within an epoch (default 60; 0: only after epochs)"},
    {NULL, 0, NULL, 0, NULL},
};

/* What a checkpoint is matters where --init-from opens one, and a preset says it instead. */
static const struct option_rule rules[] = {
    {"name", {"init-from"}, "preset"},
    {"prefix", {"init-from"}, "preset"},
    {"base", {"init-from"}, "preset"},
    {"explain", {"init-from"}, "preset"},
    {NULL, {NULL}, NULL},
};

static int parse_text(int key, char *text, const struct option_state *state, train_options *self)
{
    switch (key) {
    case KEY_SCHEDULE:
        self->schedule = option_choice(state, "--schedule", text, train_schedules);
        return 0;
    case KEY_KEEP:
        self->keep = option_choice(state, "--keep", text, train_keeps);
        return 0;
    case KEY_COMPUTE:
        self->compute = option_choice(state, "--compute", text, train_computes);
        return 0;
    case KEY_MEMORY:
        self->memory = option_choice(state, "--memory", text, train_memories);
        return 0;
    case KEY_OUT:
        if (!text[0])
            option_error(state, "--out: the folder has no name");
        self->out = text;
        return 0;
    case KEY_RESUME:
        if (!text[0])
            option_error(state, "--resume: the folder has no name");
        self->resume = text;
        return 0;
    case KEY_MPI:
        self->mpi = mpi_names[option_choice(state, "--mpi", text ? text : "auto", mpi_names)];
        return 0;
    case KEY_OVERWRITE:
        self->overwrite = 1;
        return 0;
    case KEY_INIT_FROM:
        self->init_from = text;
        return 0;
    case KEY_FREEZE:
        if (self->freeze_count == SVIT_MAX_GROUPS)
            option_error(state, "--freeze: at most %d patterns are accepted", SVIT_MAX_GROUPS);
        self->freeze[self->freeze_count++] = text;
        return 0;
    case OPTION_END:
        if (self->is_begun && self->config.file)
            return 0;
        option_check_rules(state, rules);
        if (self->lora >= 0 && self->resume)
            option_error(state, "--lora: a resumed run has the adapters that it began with");
        if (self->lora >= 0 && !self->init_from)
            option_error(state, "--lora adapts the weights of a model; --init-from is needed");
        if (self->lora_alpha >= 0 && self->lora < 0)
            option_error(state, "--lora-alpha is of adapters; --lora is needed");
        if (self->resume && self->overwrite)
            option_error(
                state,
                "--overwrite replaces a run, --resume goes on with it: accepted is one of the two");
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static int parse_option(int key, char *text, struct option_state *state)
{
    train_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->config;
        state->child_inputs[1] = &self->data;
        state->child_inputs[2] = &self->on_bad;
        state->child_inputs[3] = &self->program;
        return 0;
    case KEY_EPOCHS:
        self->epochs = (int64_t)option_unsigned(state, "--epochs", text, 1, 1000000);
        return 0;
    case KEY_BATCH:
        self->batch = (int64_t)option_unsigned(state, "--batch", text, 1, 65536);
        return 0;
    case KEY_LR:
        self->lr = option_real(state, "--lr", text, 0, 1000);
        return 0;
    case KEY_LORA:
        self->lora = (int64_t)option_unsigned(state, "--lora", text, 1, 65536);
        return 0;
    case KEY_LORA_ALPHA:
        self->lora_alpha = option_real(state, "--lora-alpha", text, 0, 1e6);
        return 0;
    case KEY_WEIGHT_DECAY:
        self->weight_decay = option_real(state, "--weight-decay", text, 0, 1000);
        return 0;
    case KEY_PATIENCE:
        self->patience = (int64_t)option_unsigned(state, "--patience", text, 0, 1000000);
        return 0;
    case KEY_CHECKPOINT_SECONDS:
        self->checkpoint_seconds = option_real(state, "--checkpoint-seconds", text, 0, 1e9);
        return 0;
    default:
        return parse_text(key, text, state, self);
    }
}

static const struct option_child children[] = {{&checkpoint_table, "The model:"},
                                               {&data_training_table, "The data:"},
                                               {&bad_table, NULL},
                                               {&program_table, "Common options:"},
                                               {NULL, NULL}};
const struct option_table train_table = {
    option_list,
    parse_option,
    NULL,
    "Trains a model, validates it after each epoch, tests it at the end and saves it."
    "\vA preset brings its own training settings; options override them. Ctrl-C ends the run after "
    "the current step; --resume continues it. The last line on standard output has the loss and "
    "accuracy of the test.",
    children,
    NULL};
