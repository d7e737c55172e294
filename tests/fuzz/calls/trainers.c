/* Operations of trainers, with a folder and without. */
#include "calls.h"

static svit_trainer_config random_config(void)
{
    svit_trainer_config config;
    svit_trainer_config_init(&config, sizeof config);
    config.epochs = calls_choose(4);
    config.batch = calls_choose(5);
    config.accumulate = calls_choose(4) ? 1 : calls_choose(3);
    config.patience = calls_choose(3);
    config.prefetch = calls_choose(2);
    config.keep = (int32_t)calls_choose(2);
    config.loss = (int32_t)calls_choose(4);
    config.existing = (int32_t)calls_choose(3);
    config.memory = (int32_t)calls_choose(4);
    config.sampling = (int32_t)calls_choose(3);
    config.tta = (int32_t)calls_choose(4);
    config.leaves = calls_choose(4);
    config.compute = calls_choose(4) ? 0 : (int32_t)calls_choose(3);
    config.tensorboard = (int32_t)calls_choose(2);
    config.folder = calls_choose(2) ? calls_file("run") : NULL;
    return config;
}

static void create(void)
{
    const svit_trainer_config config = random_config();
    const svit_pipeline_config pipeline = small_pipeline();
    svit_optimizer_config optimizer;
    svit_optimizer_config_init(&optimizer, sizeof optimizer);
    optimizer.kind = (int32_t)calls_choose(4);
    optimizer.ema = (int32_t)calls_choose(4);
    CREATE(trainers, svit_trainer_free,
           svit_trainer_create(OUT(trainers), fuzz_context(), ANY(models), ANY(datasets),
                               calls_choose(2) ? ANY(datasets) : NULL, &config,
                               calls_choose(2) ? &optimizer : NULL, &pipeline, ERR));
}

static void create_plain(void)
{
    svit_trainer_config config;
    svit_trainer_config_init(&config, sizeof config);
    config.epochs = 2;
    config.batch = 2;
    config.folder = calls_file("run");
    config.existing = (int32_t)calls_choose(3);
    const svit_pipeline_config pipeline = small_pipeline();
    CREATE(trainers, svit_trainer_free,
           svit_trainer_create(OUT(trainers), fuzz_context(), ANY(models), ANY(datasets), NULL,
                               &config, NULL, &pipeline, ERR));
}

static void resume(void)
{
    TRY(svit_trainer_resume(ANY(trainers), ERR));
}

static void checkpoint(void)
{
    TRY(svit_trainer_checkpoint(ANY(trainers), ERR));
}

static void step(void)
{
    svit_trainer_event event;
    TRY(svit_trainer_step(ANY(trainers), &event, sizeof event, ERR));
}

/* Stops the run after *user events. */
static int32_t stop_at(const svit_trainer_event *event, void *user)
{
    (void)event;
    unsigned *left = user;
    return (int32_t)((*left)-- == 0);
}

static void run(void)
{
    unsigned calls_left = calls_choose(5);
    TRY(svit_trainer_run(ANY(trainers), stop_at, &calls_left, ERR));
}

static svit_status loss(svit_loss_call *call, void *user, svit_error *err)
{
    (void)user;
    float mean;
    const svit_status status = svit_mean_squared_error(call->logits, call->logits, call->n,
                                                       call->classes, &mean, call->dlogits, err);
    call->loss = mean;
    return call->n == 1 ? svit_error_set(err, SVIT_E_ARGUMENT, "a batch of 1") : status;
}

static void set_loss(void)
{
    TRY(svit_trainer_set_loss(ANY(trainers), calls_choose(2) ? loss : NULL, NULL, ERR));
}

static void history(void)
{
    svit_trainer_event event;
    const svit_trainer *trainer = ANY(trainers);
    const size_t index = calls_choose(4), count = svit_trainer_history_count(trainer);
    FUZZ_CHECK(TRY(svit_trainer_history(trainer, index, &event, sizeof event, ERR)) ==
               (index < count));
}

/* The trainer's optimiser belongs to it. */
static void set_learning_rate(void)
{
    svit_optimizer *optimizer = svit_trainer_optimizer(ANY(trainers));
    TRY(svit_optimizer_set_f64(optimizer, "learning_rate", calls_choose(3) / 100.0, ERR));
}

static const calls_operation operations[] = {
    create, create_plain, resume,   checkpoint, step,
    step,   run,          set_loss, history,    set_learning_rate};
const calls_table calls_of_trainers = CALLS_TABLE(operations);
