/* The records of TensorBoard's event files. */
#include "trainer/events.h"

#include <string.h>

/* A message or record that is built in memory. */
typedef struct message {
    unsigned char data[2048];
    size_t length;
} message;

/* Wire types of protocol buffers. */
enum { WIRE_VARINT = 0, WIRE_64_BITS = 1, WIRE_BYTES = 2, WIRE_32_BITS = 5 };

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

/* TFRecord rotates and shifts checksums, so that a record may hold other records. */
static uint32_t masked_crc(const void *data, size_t bytes)
{
    uint32_t crc = sv_crc32c(data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_byte(message *out, unsigned char byte)
{
    if (out->length < sizeof out->data)
        out->data[out->length++] = byte;
}

static void put_little(message *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put_byte(out, (unsigned char)(value >> 8 * i));
}

static void put_varint(message *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_byte(out, (unsigned char)(value | 128));
    put_byte(out, (unsigned char)value);
}

static void put_key(message *out, unsigned field, unsigned wire)
{
    put_varint(out, field << 3 | wire);
}

static void put_bytes(message *out, unsigned field, const void *data, size_t bytes)
{
    put_key(out, field, WIRE_BYTES);
    put_varint(out, bytes);
    for (size_t i = 0; i < bytes; i++)
        put_byte(out, ((const unsigned char *)data)[i]);
}

static void put_double(message *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(out, field, WIRE_64_BITS);
    put_little(out, bits, 8);
}

static void put_scalar(message *summary, const sv_event_scalar *scalar)
{
    message value = {.length = 0};
    uint32_t bits;
    memcpy(&bits, &scalar->value, sizeof bits);
    put_bytes(&value, VALUE_TAG, scalar->tag, strlen(scalar->tag));
    put_key(&value, VALUE_SIMPLE_VALUE, WIRE_32_BITS);
    put_little(&value, bits, 4);
    put_bytes(summary, SUMMARY_VALUE, value.data, value.length);
}

static void add_record(sv_trainer_text *file, const message *event)
{
    message head = {.length = 0}, tail = {.length = 0};
    put_little(&head, event->length, 8);
    put_little(&head, masked_crc(head.data, head.length), 4);
    put_little(&tail, masked_crc(event->data, event->length), 4);
    sv_trainer_text_put(file, head.data, head.length);
    sv_trainer_text_put(file, event->data, event->length);
    sv_trainer_text_put(file, tail.data, tail.length);
}

void sv_events_begin(sv_trainer_text *file, double wall_time)
{
    static const char VERSION[] = "brain.Event:2";
    message event = {.length = 0};
    put_double(&event, EVENT_WALL_TIME, wall_time);
    put_bytes(&event, EVENT_FILE_VERSION, VERSION, strlen(VERSION));
    add_record(file, &event);
}

void sv_events_add(sv_trainer_text *file, double wall_time, uint64_t step,
                   const sv_event_scalar *scalars, size_t count)
{
    message event = {.length = 0}, summary = {.length = 0};
    put_double(&event, EVENT_WALL_TIME, wall_time);
    put_key(&event, EVENT_STEP, WIRE_VARINT);
    put_varint(&event, step);
    for (size_t i = 0; i < count; i++)
        put_scalar(&summary, &scalars[i]);
    put_bytes(&event, EVENT_SUMMARY, summary.data, summary.length);
    add_record(file, &event);
}
