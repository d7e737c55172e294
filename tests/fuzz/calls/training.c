/* Operations of optimisers and checkpoints. */
#include "calls.h"

#include <string.h>

static const char *const keys[] = {"learning_rate", "momentum", "weight_decay", "clip_norm",
                                   "nothing"};

static svit_optimizer_config random_config(void)
{
    static const char *const patterns[] = {"*", "head*", "nothing"};
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.kind = (int32_t)calls_choose(5);
    config.ema = (int32_t)calls_choose(5);
    config.ema_momentum = calls_choose(4) / 4.0;
    config.schedule = (int32_t)calls_choose(8);
    config.total_steps = calls_choose(6);
    config.warmup_steps = calls_choose(3);
    config.lookahead = calls_choose(3);
    config.clip_norm = calls_choose(2);
    config.layer_decay = calls_choose(4) ? 1 : 0.5;
    config.step_size = calls_choose(3);
    config.restart_steps = calls_choose(3);
    config.swa_every = calls_choose(3);
    config.group_count = calls_choose(4) ? 0 : 1 + calls_choose(2);
    for (uint32_t i = 0; i < config.group_count; i++) {
        strcpy(config.groups[i].pattern, patterns[calls_choose(3)]);
        config.groups[i].lr_scale = calls_choose(3) / 2.0;
        config.groups[i].trainable = (int32_t)calls_choose(2);
        config.groups[i].rule = (int32_t)calls_choose(4);
    }
    config.point_count = config.schedule == SVIT_SCHEDULE_PIECEWISE ? calls_choose(3) : 0;
    for (uint32_t i = 0; i < config.point_count; i++)
        config.points[i] = (svit_schedule_point){i, calls_choose(3) / 2.0};
    return config;
}

static void create(void)
{
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.kind = (int32_t)calls_choose(4);
    CREATE(optimizers, svit_optimizer_free,
           svit_optimizer_create(OUT(optimizers), ANY(models), &config, ERR));
}

static void create_random(void)
{
    const svit_optimizer_config config = random_config();
    CREATE(optimizers, svit_optimizer_free,
           svit_optimizer_create(OUT(optimizers), ANY(models), &config, ERR));
}

static void step(void)
{
    svit_optimizer *optimizer = ANY(optimizers);
    const uint64_t before = svit_optimizer_steps(optimizer);
    if (TRY(svit_step(optimizer, ANY(sessions), ERR)))
        FUZZ_CHECK(svit_optimizer_steps(optimizer) == before + 1);
}

static void swap_ema(void)
{
    TRY(svit_optimizer_swap_ema(ANY(optimizers), ERR));
}

static void set_f64(void)
{
    TRY(svit_optimizer_set_f64(ANY(optimizers), keys[calls_choose(5)], calls_choose(5) / 2.0 - 0.5,
                               ERR));
}

static void set_parameter_f64(void)
{
    static const char *const patterns[] = {"*", "head*", "nothing"};
    TRY(svit_optimizer_set_parameter_f64(ANY(optimizers), patterns[calls_choose(3)],
                                         calls_choose(2) ? "lr_scale" : keys[calls_choose(5)],
                                         calls_choose(5) / 2.0 - 0.5, ERR));
}

/* A value that is read lies within its bounds. */
static void get_f64(void)
{
    const svit_optimizer *optimizer = ANY(optimizers);
    const char *key = keys[calls_choose(5)];
    double value, low, high;
    if (TRY(svit_optimizer_get_f64(optimizer, key, &value, ERR)) &&
        TRY(svit_optimizer_bounds(optimizer, key, &low, &high, ERR)))
        FUZZ_CHECK(value >= low && value <= high);
}

static void learning_rate(void)
{
    const svit_optimizer_config config = random_config();
    double rate;
    TRY(svit_learning_rate(&config, calls_choose(8), &rate, ERR));
}

static void save(void)
{
    static const char *const notes[] = {"note"}, *const values[] = {"a text"};
    const svit_session *session = calls_choose(3) ? ANY(sessions) : NULL;
    const svit_optimizer *optimizer = calls_choose(3) ? ANY(optimizers) : NULL;
    TRY(svit_checkpoint_save(calls_file("checkpoint"), ANY(models), optimizer, session, notes,
                             values, calls_choose(2), ERR));
}

static void open_checkpoint(void)
{
    CREATE(checkpoints, svit_checkpoint_free,
           svit_checkpoint_open(OUT(checkpoints), fuzz_context(), calls_file("checkpoint"), ERR));
}

static void open_model(void)
{
    CREATE(checkpoints, svit_checkpoint_free,
           svit_checkpoint_open(OUT(checkpoints), fuzz_context(), calls_file("model"), ERR));
}

static void restore(void)
{
    svit_session *session = calls_choose(3) ? ANY(sessions) : NULL;
    svit_optimizer *optimizer = calls_choose(3) ? ANY(optimizers) : NULL;
    TRY(svit_checkpoint_restore(ANY(checkpoints), ANY(models), optimizer, session, ERR));
}

static void read_values(void)
{
    uint64_t value;
    const svit_checkpoint *checkpoint = ANY(checkpoints);
    fuzz_check_text(svit_checkpoint_value(checkpoint, calls_choose(2) ? "note" : "nothing"));
    TRY(svit_checkpoint_get_u64(checkpoint, calls_choose(2) ? "note" : "step", &value, ERR));
}

static const calls_operation operations[] = {
    create,          create_random,     step,    step,          swap_ema,
    set_f64,         set_parameter_f64, get_f64, learning_rate, save,
    open_checkpoint, open_model,        restore, read_values};
const calls_table calls_of_training = CALLS_TABLE(operations);
