/* The history, one row for each epoch: in memory, in history.csv and in checkpoints. */
#include "trainer/trainer_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The columns after `epoch`. Those with `in_csv` are in history.csv, in this order, and then
 * `pflop`, which follows from the epoch and is not stored. */
static const struct {
    const char *name;
    size_t offset;
    int32_t in_csv;
} COLUMNS[] = {
    {"train_loss", offsetof(svit_trainer_event, train_loss), 1},
    {"train_top1", offsetof(svit_trainer_event, train_top1), 1},
    {"train_top5", offsetof(svit_trainer_event, train_top5), 1},
    {"val_loss", offsetof(svit_trainer_event, val_loss), 1},
    {"val_top1", offsetof(svit_trainer_event, val_top1), 1},
    {"val_top5", offsetof(svit_trainer_event, val_top5), 1},
    {"lr", offsetof(svit_trainer_event, learning_rate), 1},
    {"images_per_second", offsetof(svit_trainer_event, images_per_second), 1},
    {"seconds", offsetof(svit_trainer_event, seconds), 1},
    {"eta_seconds", offsetof(svit_trainer_event, eta_seconds), 0},
};
enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS, DIGITS = 16 };

/* Characters of a row in a checkpoint: the bits of each column, and the best epoch, as 16
 * hexadecimal digits each. */
enum { PACKED_ROW = (COLUMN_COUNT + 1) * DIGITS };

static double column_of(const svit_trainer_event *row, size_t column)
{
    double value;
    memcpy(&value, (const char *)row + COLUMNS[column].offset, sizeof value);
    return value;
}

/* 1e15 operations for that many images. */
static double pflop(const svit_trainer *trainer, uint64_t images)
{
    return 1e-15 * 3 * 2 * (double)trainer->multiply_adds * (double)images;
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
        memcpy(history, trainer->history, trainer->progress.rows * sizeof *history);
    sv_release(&trainer->context->allocator, trainer->history,
               trainer->history_capacity * sizeof *history);
    trainer->history = history;
    trainer->history_capacity = capacity;
    return SVIT_OK;
}

static void print_row(sv_trainer_text *text, const svit_trainer_event *row)
{
    char number[SV_TRAINER_NUMBER];
    sv_trainer_text_add(text, "%" PRIu64, row->epoch);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        double value = column_of(row, i);
        if (COLUMNS[i].in_csv)
            sv_trainer_text_add(text, ",%s", isnan(value) ? "" : sv_trainer_number(number, value));
    }
    sv_trainer_text_add(text, ",%s\n", sv_trainer_number(number, row->pflop));
}

svit_status sv_trainer_history_write(svit_trainer *trainer, svit_error *err)
{
    sv_trainer_text path = {.context = trainer->context};
    SVIT_TRY(sv_trainer_path(&path, trainer->config.folder, SV_TRAINER_HISTORY_FILE, err));
    sv_trainer_text text = {.context = trainer->context};
    sv_trainer_text_add(&text, "epoch");
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (COLUMNS[i].in_csv)
            sv_trainer_text_add(&text, ",%s", COLUMNS[i].name);
    sv_trainer_text_add(&text, ",pflop\n");
    for (uint64_t i = 0; i < trainer->progress.rows; i++)
        print_row(&text, &trainer->history[i]);
    svit_status status = text.failed
                             ? sv_fail(err, SVIT_E_MEMORY, "no memory for the history's text")
                             : svit_file_replace(path.data, text.data, text.length, err);
    sv_trainer_text_free(&text);
    sv_trainer_text_free(&path);
    return status;
}

void sv_trainer_history_pack(sv_trainer_text *text, const svit_trainer *trainer)
{
    sv_trainer_text_add(text, "%s", "");
    for (uint64_t i = 0; i < trainer->progress.rows; i++) {
        const svit_trainer_event *row = &trainer->history[i];
        for (size_t column = 0; column < COLUMN_COUNT; column++) {
            double value = column_of(row, column);
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            sv_trainer_text_add(text, "%016" PRIx64, bits);
        }
        sv_trainer_text_add(text, "%016" PRIx64, row->best_epoch);
    }
}

/* Reads 16 hexadecimal digits in lower case. Returns 0 if `text` does not begin with them. */
static int32_t unpack_u64(uint64_t *out, const char *text)
{
    static const char DIGIT[] = "0123456789abcdef";
    *out = 0;
    for (int i = 0; i < DIGITS; i++) {
        const char *found = text[i] ? strchr(DIGIT, text[i]) : NULL;
        if (!found)
            return 0;
        *out = *out << 4 | (uint64_t)(found - DIGIT);
    }
    return 1;
}

static int32_t unpack_row(svit_trainer_event *row, const char *text)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++, text += DIGITS) {
        uint64_t bits;
        if (!unpack_u64(&bits, text))
            return 0;
        memcpy((char *)row + COLUMNS[column].offset, &bits, sizeof bits);
    }
    return unpack_u64(&row->best_epoch, text);
}

svit_status sv_trainer_history_unpack(svit_trainer *trainer, const char *text, uint64_t rows,
                                      svit_error *err)
{
    if (strlen(text) != rows * PACKED_ROW)
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
        if (!unpack_row(&row, text + i * PACKED_ROW))
            return sv_fail(err, SVIT_E_FORMAT,
                           "the checkpoint's entry '" SV_TRAINER_HISTORY_KEY
                           "' is damaged at epoch %" PRIu64,
                           i + 1);
        row.pflop = pflop(trainer, (i + 1) * trainer->training_count);
        trainer->history[i] = row;
    }
    return SVIT_OK;
}

/* Returns the seconds to the end of the last epoch at the speed of the current one. */
static double eta(const svit_trainer *trainer)
{
    if (!trainer->timed_steps)
        return 0;
    double done = (double)(trainer->progress.epoch * trainer->steps + trainer->progress.position);
    double all = (double)trainer->config.epochs * (double)trainer->steps;
    double epochs_left = (double)(trainer->config.epochs - trainer->progress.epoch);
    return (all - done) * trainer->training_seconds / (double)trainer->timed_steps +
           epochs_left * trainer->validation_seconds;
}

/* Returns the learning rate of the last step. */
static double learning_rate(const svit_trainer *trainer)
{
    uint64_t steps = svit_optimizer_steps(trainer->optimizer);
    double rate = 0;
    if (steps)
        svit_learning_rate(&trainer->optimizer_config, steps - 1, &rate, NULL);
    return rate;
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
        .learning_rate = learning_rate(trainer),
        .images_per_second = trainer->training_seconds > 0
                                 ? (double)trainer->timed_samples / trainer->training_seconds
                                 : 0,
        .seconds = trainer->timed_steps ? sv_trainer_clock() - trainer->epoch_start : 0,
        .eta_seconds = eta(trainer),
        .best_epoch = progress->best_epoch,
        .pflop =
            pflop(trainer, progress->epoch * trainer->training_count + progress->train.samples),
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
