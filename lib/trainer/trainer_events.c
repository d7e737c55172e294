/* The history as TensorBoard's event file. A viewer keeps the file open, so epochs are appended; a
 * process writes the file anew at its first epoch, which repairs an end that a kill has torn. */
#include "trainer/events.h"
#include "trainer/trainer_internal.h"

#include <math.h>
#include <time.h>

/* Adds the record of one epoch, without values that it does not have. */
static void add_epoch(sv_trainer_text *text, const svit_trainer_event *row, double wall_time)
{
    const sv_event_scalar all[] = {{"loss/train", (float)row->train_loss},
                                   {"loss/validation", (float)row->val_loss},
                                   {"top1/train", (float)row->train_top1},
                                   {"top1/validation", (float)row->val_top1},
                                   {"top5/train", (float)row->train_top5},
                                   {"top5/validation", (float)row->val_top5},
                                   {"learning_rate", (float)row->learning_rate},
                                   {"images_per_second", (float)row->images_per_second},
                                   {"pflop", (float)row->pflop}};
    sv_event_scalar scalars[SV_EVENT_SCALARS];
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (isfinite(all[i].value))
            scalars[count++] = all[i];
    sv_events_add(text, wall_time, row->epoch, scalars, count);
}

/* Adds all epochs. They end one after the other, the last one now. */
static void add_all(sv_trainer_text *text, const svit_trainer *trainer, double now)
{
    double begin = now;
    for (uint64_t i = 0; i < trainer->progress.rows; i++)
        begin -= trainer->history[i].seconds;
    sv_events_begin(text, begin);
    for (uint64_t i = 0; i < trainer->progress.rows; i++) {
        begin += trainer->history[i].seconds;
        add_epoch(text, &trainer->history[i], begin);
    }
}

static svit_status write_text(svit_trainer *trainer, const sv_trainer_text *text, svit_error *err)
{
    if (text->failed)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for the events of a run");
    sv_trainer_text path = {.context = trainer->context};
    SVIT_TRY(sv_trainer_path(&path, trainer->config.folder, SV_TRAINER_EVENTS_FILE, err));
    svit_status status = trainer->has_events
                             ? svit_file_append(path.data, text->data, text->length, err)
                             : svit_file_replace(path.data, text->data, text->length, err);
    sv_trainer_text_free(&path);
    return status;
}

svit_status sv_trainer_events_write(svit_trainer *trainer, svit_error *err)
{
    if (!trainer->config.tensorboard)
        return SVIT_OK;
    sv_trainer_text text = {.context = trainer->context};
    double now = (double)time(NULL);
    if (trainer->has_events)
        add_epoch(&text, &trainer->history[trainer->progress.rows - 1], now);
    else
        add_all(&text, trainer, now);
    svit_status status = write_text(trainer, &text, err);
    sv_trainer_text_free(&text);
    if (status == SVIT_OK)
        trainer->has_events = 1;
    return status;
}
