/* The history, one row for each epoch: in memory, in history.csv and in checkpoints. */
#include "base/files/file.h"
#include "base/threads/thread.h"
#include "optim/schedule.h"
#include "session/optimizer_handle.h"
#include "trainer/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The columns of history.csv between `epoch` and `pflop`, then two that only checkpoints have, and
 * `pflop`, which checkpoints of older libraries lack. */
static const size_t COLUMNS[] = {
    offsetof(svit_trainer_event, train_loss),    offsetof(svit_trainer_event, train_top1),
    offsetof(svit_trainer_event, train_top5),    offsetof(svit_trainer_event, val_loss),
    offsetof(svit_trainer_event, val_top1),      offsetof(svit_trainer_event, val_top5),
    offsetof(svit_trainer_event, learning_rate), offsetof(svit_trainer_event, images_per_second),
    offsetof(svit_trainer_event, seconds),       offsetof(svit_trainer_event, eta_seconds),
    offsetof(svit_trainer_event, best_epoch),    offsetof(svit_trainer_event, pflop)};
static const char CSV_HEAD[] = "epoch,train_loss,train_top1,train_top5,val_loss,val_top1,val_top5,"
                               "lr,images_per_second,seconds,pflop\n";

/* Characters of a row in a checkpoint: the bits of each column as 16 hexadecimal digits. */
enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS, CSV_COLUMNS = COLUMN_COUNT - 3 };
enum { DIGITS = 16 };
enum { CSV_ROW = (CSV_COLUMNS + 2) * SV_TRAINER_NUMBER }; /* bytes of the longest row */

/* The bits of one column of a row. Every column has 8 bytes. */
static uint64_t bits_of(const svit_trainer_event *row, size_t column)
{
    uint64_t bits;
    memcpy(&bits, (const char *)row + COLUMNS[column], sizeof bits);
    return bits;
}

/* Returns the operations of training on `images` images, of which `early` are smaller, in units of
 * 1e15. A multiply-add counts as 2 operations, and the forward and backward together as 3 forwards.
 */
static double pflop(const svit_trainer *trainer, uint64_t images, uint64_t early)
{
    /* Signed numbers become real ones in less code, and none is so large that they differ. */
    const int64_t whole = (int64_t)(images - early), small = (int64_t)early;
    return 1e-15 * 3 * 2 *
           ((double)(int64_t)trainer->early_multiply_adds * (double)small +
            (double)(int64_t)trainer->multiply_adds * (double)whole);
}

svit_status sv_trainer_history_reserve(svit_trainer *trainer, size_t rows, svit_error *err)
{
    if (rows <= trainer->history_capacity)
        return SVIT_OK;
    size_t capacity = 2 * rows + 16;
    svit_trainer_event *history;
    SVIT_TRY(sv_allocate_array(&trainer->context->allocator, (void **)&history, capacity,
                               sizeof *history, "the history", err));
    if (trainer->progress.rows)
        memcpy(history, trainer->history, (size_t)trainer->progress.rows * sizeof *history);
    sv_release(&trainer->context->allocator, trainer->history,
               trainer->history_capacity * sizeof *history);
    trainer->history = history;
    trainer->history_capacity = capacity;
    return SVIT_OK;
}

const char *sv_trainer_number(char out[SV_TRAINER_NUMBER], double value)
{
    static const char ASCII[] = "0123456789+-einfa";
    snprintf(out, SV_TRAINER_NUMBER, "%.9g", value);
    char *point = out + strspn(out, ASCII), *after = point + strcspn(point, ASCII);
    if (after > point) {
        *point = '.';
        memmove(point + 1, after, strlen(after) + 1);
    }
    return out;
}

/* Writes a row of history.csv. */
static svit_status write_row(sv_replacement *file, const svit_trainer_event *row, svit_error *err)
{
    char text[CSV_ROW], number[SV_TRAINER_NUMBER];
    int length = snprintf(text, sizeof text, "%" PRIu64, row->epoch);
    for (size_t i = 0; i < CSV_COLUMNS; i++) {
        double value;
        memcpy(&value, (const char *)row + COLUMNS[i], sizeof value);
        length += snprintf(text + length, sizeof text - (size_t)length, ",%s",
                           isnan(value) ? "" : sv_trainer_number(number, value));
    }
    length += snprintf(text + length, sizeof text - (size_t)length, ",%s\n",
                       sv_trainer_number(number, row->pflop));
    return sv_replacement_write(file, text, (size_t)length, err);
}

svit_status sv_trainer_history_write(svit_trainer *trainer, svit_error *err)
{
    const sv_allocator *allocator = &trainer->context->allocator;
    char path[SV_TRAINER_PATH];
    sv_replacement *file;
    SVIT_TRY(sv_replacement_begin(&file, allocator,
                                  sv_trainer_path(path, trainer, SV_TRAINER_HISTORY_FILE), err));
    svit_status status = sv_replacement_write(file, CSV_HEAD, strlen(CSV_HEAD), err);
    for (uint64_t i = 0; i < trainer->progress.rows && status == SVIT_OK; i++)
        status = write_row(file, &trainer->history[i], err);
    return sv_replacement_end(allocator, file, status, err);
}

char *sv_trainer_history_pack(const svit_trainer *trainer)
{
    const size_t values = (size_t)trainer->progress.rows * COLUMN_COUNT;
    char *text = sv_allocate(&trainer->context->allocator, values * DIGITS + 1);
    if (text)
        text[0] = '\0';
    for (size_t i = 0; text && i < values; i++)
        snprintf(text + i * DIGITS, DIGITS + 1, "%016" PRIx64,
                 bits_of(&trainer->history[i / COLUMN_COUNT], i % COLUMN_COUNT));
    return text;
}

static bool unpack_row(svit_trainer_event *row, const char *text, size_t columns)
{
    for (size_t column = 0; column < columns; column++, text += DIGITS) {
        char digits[DIGITS + 1] = "";
        uint64_t bits;
        memcpy(digits, text, DIGITS);
        if (!sv_trainer_read_digits(&bits, digits, 16))
            return false;
        memcpy((char *)row + COLUMNS[column], &bits, sizeof bits);
    }
    return true;
}

svit_status sv_trainer_history_unpack(svit_trainer *trainer, const char *text, uint64_t rows,
                                      uint64_t early, svit_error *err)
{
    const size_t length = strlen(text);
    const size_t columns = COLUMN_COUNT - (length == rows * (COLUMN_COUNT - 1) * DIGITS);
    if (length != rows * columns * DIGITS)
        return sv_fail(err, SVIT_E_FORMAT,
                       "the checkpoint's entry '" SV_TRAINER_HISTORY_KEY "' does not have %" PRIu64
                       " epochs",
                       rows);
    SVIT_TRY(sv_trainer_history_reserve(trainer, (size_t)rows, err));
    for (uint64_t i = 0; i < rows; i++) {
        svit_trainer_event row = {.struct_size = sizeof row,
                                  .kind = SVIT_EVENT_EPOCH,
                                  .epoch = i + 1,
                                  .epochs = trainer->config.epochs,
                                  .step = trainer->steps,
                                  .steps = trainer->steps};
        const uint64_t count = trainer->training_count;
        row.pflop = pflop(trainer, (i + 1) * count, (i < early ? i + 1 : early) * count);
        if (!unpack_row(&row, text + i * columns * DIGITS, columns))
            return sv_fail(err, SVIT_E_FORMAT,
                           "the checkpoint's entry '" SV_TRAINER_HISTORY_KEY
                           "' is damaged at epoch %" PRIu64,
                           i + 1);
        trainer->history[i] = row;
    }
    return SVIT_OK;
}

/* Returns the steps that are left, in units of one of the current epoch: steps of larger images are
 * more of them, by their arithmetic. */
static double steps_left(const svit_trainer *trainer)
{
    const uint64_t steps = trainer->steps, epoch = trainer->progress.epoch;
    const double done = (double)(epoch * steps + trainer->progress.position);
    const double all = (double)trainer->config.epochs * (double)steps;
    if (!sv_trainer_is_early(trainer, epoch))
        return all - done;
    const double early = (double)(sv_trainer_early_epochs(trainer) * steps);
    return early - done +
           (all - early) * (double)trainer->multiply_adds / (double)trainer->early_multiply_adds;
}

/* Returns the seconds to the end of the last epoch at the speed of the current one. Of that, `done`
 * validations are over. Without a step in this process, the speed is not known. */
static double eta(const svit_trainer *trainer, uint64_t done)
{
    if (!trainer->timed_steps)
        return 0;
    double epochs_left = (double)(trainer->config.epochs - trainer->progress.epoch - done);
    return steps_left(trainer) * trainer->training_seconds / (double)trainer->timed_steps +
           epochs_left * trainer->validation_seconds;
}

/* The learning rate of the last step, which the program may have set. A resumed run has that of its
 * settings until it makes a step. */
static double last_rate(const sv_optim *optim)
{
    if (optim->steps == 0)
        return 0;
    return optim->rate >= 0 ? optim->rate : sv_learning_rate(&optim->config, optim->steps - 1);
}

void sv_trainer_describe(const svit_trainer *trainer, svit_trainer_event *event, int32_t kind)
{
    const sv_progress *progress = &trainer->progress;
    double samples = progress->train.samples ? (double)progress->train.samples : 1;
    *event = (svit_trainer_event){
        .struct_size = sizeof *event,
        .kind = kind,
        .epoch = progress->epoch + 1,
        .epochs = trainer->config.epochs,
        .step = progress->position,
        .steps = trainer->steps,
        .train_loss = progress->train.loss / samples,
        .train_top1 = sv_objective_top1(&trainer->objective, &progress->train),
        .train_top5 = sv_objective_top5(&trainer->objective, &progress->train),
        .val_loss = NAN,
        .val_top1 = NAN,
        .val_top5 = NAN,
        .learning_rate = last_rate(trainer->optimizer->core),
        .images_per_second = trainer->training_seconds > 0
                                 ? (double)trainer->timed_samples / trainer->training_seconds
                                 : 0,
        .seconds = sv_clock_seconds() - trainer->epoch_start,
        .eta_seconds = eta(trainer, kind == SVIT_EVENT_EPOCH),
        .best_epoch = progress->best_epoch,
        .pflop = pflop(trainer, progress->epoch * trainer->training_count + progress->train.samples,
                       progress->early),
    };
}

SVIT_API size_t svit_trainer_history_count(const svit_trainer *trainer)
{
    return trainer ? (size_t)trainer->progress.rows : 0;
}

SVIT_API svit_status svit_trainer_history(const svit_trainer *trainer, size_t index,
                                          svit_trainer_event *event, size_t size, svit_error *err)
{
    SV_REQUIRE(trainer);
    SV_REQUIRE(event);
    if (index >= trainer->progress.rows)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "index is %zu; the history has %" PRIu64 " rows, from 0", index,
                       trainer->progress.rows);
    return sv_config_export(event, size, &trainer->history[index], sizeof *event,
                            "svit_trainer_event", err);
}
