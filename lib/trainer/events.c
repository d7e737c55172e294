/* The history as TensorBoard's event file. A viewer keeps the file open, so epochs are appended; a
 * process writes the file anew at its first epoch, which repairs an end that a kill has torn.
 *
 * A record is the length of its data, a checksum of the length, the data, and a checksum of the
 * data, all little-endian (TFRecord). The data is an Event message in the encoding of protocol
 * buffers (tensorflow/core/util/event.proto). Times are in seconds since 1970. */
#include "base/files/file.h"
#include "io/protobuf_writer.h"
#include "trainer/checkpoint/checkpoint.h"

#include <math.h>
#include <time.h>

/* Field numbers of Event, Summary and Summary.Value. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE_VALUE = 2 };

uint32_t sv_crc32c(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* Appends the checksum of the last `bytes` bytes. TFRecord rotates and shifts checksums, so that a
 * record may hold other records. */
static void add_checksum(sv_protobuf_writer *file, size_t bytes)
{
    if (file->status != SVIT_OK)
        return;
    uint32_t crc = sv_crc32c(file->data + file->length - bytes, bytes);
    sv_protobuf_append_little(file, (crc >> 15 | crc << 17) + 0xa282ead8u, 4);
}

/* Appends the record of a message, and frees the message. */
static void add_record(sv_protobuf_writer *file, sv_protobuf_writer *event)
{
    sv_protobuf_append_little(file, event->length, 8);
    add_checksum(file, 8);
    sv_protobuf_append(file, event->data, event->length);
    add_checksum(file, event->length);
    if (event->status != SVIT_OK)
        file->status = event->status;
    sv_protobuf_free(event);
}

/* Appends the record that a file begins with: the version of the format. */
static void add_version(sv_protobuf_writer *file, double wall_time)
{
    sv_protobuf_writer event = sv_protobuf_make(file->allocator);
    sv_protobuf_put_double(&event, EVENT_WALL_TIME, wall_time);
    sv_protobuf_put_text(&event, EVENT_FILE_VERSION, "brain.Event:2");
    add_record(file, &event);
}

/* Appends the record of one epoch, without values that it does not have. */
static void add_epoch(sv_protobuf_writer *file, const svit_trainer_event *row, double wall_time)
{
    const struct {
        const char *tag;
        float value;
    } scalars[] = {{"loss/train", (float)row->train_loss},
                   {"loss/validation", (float)row->val_loss},
                   {"top1/train", (float)row->train_top1},
                   {"top1/validation", (float)row->val_top1},
                   {"top5/train", (float)row->train_top5},
                   {"top5/validation", (float)row->val_top5},
                   {"learning_rate", (float)row->learning_rate},
                   {"images_per_second", (float)row->images_per_second},
                   {"pflop", (float)row->pflop}};
    sv_protobuf_writer event = sv_protobuf_make(file->allocator);
    sv_protobuf_put_double(&event, EVENT_WALL_TIME, wall_time);
    sv_protobuf_put_integer(&event, EVENT_STEP, (int64_t)row->epoch);
    size_t summary = sv_protobuf_begin(&event, EVENT_SUMMARY);
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (!isfinite(scalars[i].value))
            continue;
        size_t value = sv_protobuf_begin(&event, SUMMARY_VALUE);
        sv_protobuf_put_text(&event, VALUE_TAG, scalars[i].tag);
        sv_protobuf_put_float(&event, VALUE_SIMPLE_VALUE, scalars[i].value);
        sv_protobuf_end(&event, value);
    }
    sv_protobuf_end(&event, summary);
    add_record(file, &event);
}

/* Appends all epochs. They end one after the other, the last one now. */
static void add_all(sv_protobuf_writer *file, const svit_trainer *trainer, double now)
{
    double begin = now;
    for (uint64_t i = 0; i < trainer->progress.rows; i++)
        begin -= trainer->history[i].seconds;
    add_version(file, begin);
    for (uint64_t i = 0; i < trainer->progress.rows; i++) {
        begin += trainer->history[i].seconds;
        add_epoch(file, &trainer->history[i], begin);
    }
}

svit_status sv_trainer_events_write(svit_trainer *trainer, svit_error *err)
{
    const uint64_t rows = trainer->progress.rows;
    /* An epoch whose end failed after its events were written is not written twice. */
    if (!trainer->config.tensorboard || trainer->event_rows == rows)
        return SVIT_OK;
    char path[SV_TRAINER_PATH];
    sv_trainer_path(path, trainer, SV_TRAINER_EVENTS_FILE);
    sv_protobuf_writer file = sv_protobuf_make(&trainer->context->allocator);
    double now = (double)time(NULL);
    if (trainer->event_rows > 0)
        add_epoch(&file, &trainer->history[rows - 1], now);
    else
        add_all(&file, trainer, now);
    svit_status status = file.status;
    if (status != SVIT_OK)
        sv_fail(err, status, "no memory for the events of a run");
    else if (trainer->event_rows > 0)
        status = svit_file_append(path, file.data, file.length, err);
    else
        status = sv_file_replace(&trainer->context->allocator, path, file.data, file.length, err);
    sv_protobuf_free(&file);
    /* After a failure the whole file is written anew, whatever was appended. */
    trainer->event_rows = status == SVIT_OK ? rows : 0;
    return status;
}
