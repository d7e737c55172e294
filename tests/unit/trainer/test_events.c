/* Checks TensorBoard's event files: checksums, records and messages are read by a reader of the
 * test's own, and a resumed run repairs a torn file. */
#include "trainer/trainer.h"
#include "trainer_support.h"

#define EVENTS "events.out.tfevents.shiftvit"

/* The vectors of RFC 3720, and the check value of the catalogues of CRCs. */
START_TEST(test_checksum)
{
    unsigned char bytes[32] = {0};
    ck_assert_uint_eq(sv_crc32c("123456789", 9), 0xE3069283u);
    ck_assert_uint_eq(sv_crc32c(bytes, 32), 0x8A9136AAu);
    memset(bytes, 0xff, 32);
    ck_assert_uint_eq(sv_crc32c(bytes, 32), 0x62A8AB43u);
    for (unsigned char i = 0; i < 32; i++)
        bytes[i] = i;
    ck_assert_uint_eq(sv_crc32c(bytes, 32), 0x46DD794Eu);
}
END_TEST

static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* Requires the masked checksum of data[bytes] at `at`. */
static void check_masked(const unsigned char *at, const unsigned char *data, size_t bytes)
{
    uint32_t rotated = (uint32_t)little(at, 4) - 0xa282ead8u;
    ck_assert_uint_eq(rotated << 15 | rotated >> 17, sv_crc32c(data, bytes));
}

static uint64_t read_varint(const unsigned char **at)
{
    uint64_t value = 0;
    int shift = 0;
    do
        value |= (uint64_t)(**at & 127) << shift;
    while (shift += 7, *(*at)++ & 128);
    return value;
}

/* An Event message. */
typedef struct event_message {
    double wall_time;
    uint64_t step;
    char version[32];
    struct {
        char tag[33];
        float value;
    } scalars[16];
    size_t count;
} event_message;

static void read_scalar(event_message *out, const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        uint64_t key = read_varint(&at);
        if (key == (1 << 3 | 2)) {
            size_t length = (size_t)read_varint(&at);
            memcpy(out->scalars[out->count].tag, at, length);
            at += length;
        } else {
            ck_assert_uint_eq(key, 2 << 3 | 5);
            const uint32_t bits = (uint32_t)little(at, 4);
            memcpy(&out->scalars[out->count].value, &bits, 4);
            at += 4;
        }
    }
    out->count++;
}

static event_message read_event(const unsigned char *at, const unsigned char *end)
{
    event_message out;
    memset(&out, 0, sizeof out);
    while (at < end) {
        uint64_t key = read_varint(&at);
        if (key == (1 << 3 | 1)) {
            const uint64_t bits = little(at, 8);
            memcpy(&out.wall_time, &bits, 8);
            at += 8;
        } else if (key == (2 << 3 | 0)) {
            out.step = read_varint(&at);
        } else if (key == (3 << 3 | 2)) {
            size_t length = (size_t)read_varint(&at);
            memcpy(out.version, at, length);
            at += length;
        } else {
            ck_assert_uint_eq(key, 5 << 3 | 2);
            const unsigned char *next = at;
            size_t length = (size_t)read_varint(&next);
            for (at = next + length; next < at;) {
                ck_assert_uint_eq(read_varint(&next), 1 << 3 | 2);
                size_t bytes = (size_t)read_varint(&next);
                read_scalar(&out, next, next + bytes);
                next += bytes;
            }
        }
    }
    return out;
}

/* Reads the records of the run's file. Returns their number. */
static size_t read_events(event_message *events, size_t capacity)
{
    size_t bytes, count = 0;
    char *data = fit_read(fit_path(&folder, EVENTS), &bytes);
    const unsigned char *at = (const unsigned char *)data, *end = at + bytes;
    while (at < end) {
        ck_assert_uint_lt(count, capacity);
        size_t length = (size_t)little(at, 8);
        ck_assert_uint_le(length + 16, (size_t)(end - at));
        check_masked(at + 8, at, 8);
        check_masked(at + 12 + length, at + 12, length);
        events[count++] = read_event(at + 12, at + 12 + length);
        at += 16 + length;
    }
    free(data);
    return count;
}

static float find_value(const event_message *of, const char *tag)
{
    for (size_t i = 0; i < of->count; i++)
        if (strcmp(of->scalars[i].tag, tag) == 0)
            return of->scalars[i].value;
    ck_abort_msg("there is no '%s'", tag);
    return 0;
}

/* Works up to the end of the next epoch. */
static void run_epoch(svit_trainer *trainer)
{
    svit_trainer_event event;
    do
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    while (event.kind == SVIT_EVENT_STEP);
}

START_TEST(test_a_run_writes_its_history)
{
    plan p = plan_make(3);
    event_message events[4];
    p.trainer.tensorboard = 1;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    run_epoch(trainer);
    ck_assert_uint_eq(read_events(events, 4), 2);
    svit_trainer_free(trainer);
    /* A kill has torn the end of the file. */
    WORKS(svit_file_append(fit_path(&folder, EVENTS), "\3\0\0\0torn", 8, err));
    p.trainer.existing = SVIT_EXISTING_RESUME;
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert_uint_eq(read_events(events, 4), 4);
    ck_assert_str_eq(events[0].version, "brain.Event:2");
    for (size_t i = 1; i < 4; i++) {
        svit_trainer_event row;
        WORKS(svit_trainer_history(trainer, i - 1, &row, sizeof row, err));
        ck_assert_uint_eq(events[i].step, i);
        ck_assert_double_ge(events[i].wall_time, events[i - 1].wall_time);
        ck_assert(find_value(&events[i], "loss/train") == (float)row.train_loss);
        ck_assert(find_value(&events[i], "top1/validation") == (float)row.val_top1);
        ck_assert(find_value(&events[i], "learning_rate") == (float)row.learning_rate);
    }
    svit_trainer_free(trainer);
    svit_model_free(model);
    unlink(fit_path(&folder, EVENTS));
}
END_TEST

/* Another run without events in the same folder removes the file; a run without validation leaves
 * its values out. */
START_TEST(test_files_of_another_run)
{
    plan p = plan_make(1);
    event_message events[2];
    p.trainer.tensorboard = 1;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    run_epoch(trainer);
    ck_assert_uint_eq(read_events(events, 2), 2);
    for (size_t i = 0; i < events[1].count; i++)
        ck_assert_ptr_null(strstr(events[1].scalars[i].tag, "validation"));
    svit_trainer_free(trainer);
    p.trainer.tensorboard = 0;
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    trainer = open_trainer(model, &p, NULL);
    run_epoch(trainer);
    ck_assert_int_ne(access(fit_path(&folder, EVENTS), F_OK), 0);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("events");
    TCase *c = tcase_create("events");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_checksum);
    tcase_add_test(c, test_a_run_writes_its_history);
    tcase_add_test(c, test_files_of_another_run);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
