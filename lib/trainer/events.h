/* TensorBoard's event files: records of scalars, one record for each epoch. A record is the length
 * of its data, a checksum of the length, the data, and a checksum of the data, all little-endian
 * (TFRecord). The data is an Event message in the encoding of protocol buffers
 * (tensorflow/core/util/event.proto). Five fields of it are written here; a library for the whole
 * encoding would be larger than the trainer. */
#ifndef SV_EVENTS_H
#define SV_EVENTS_H

#include "trainer/trainer_support.h"

enum { SV_EVENT_TAG = 32, SV_EVENT_SCALARS = 16 };

/* One value of an epoch. */
typedef struct sv_event_scalar {
    const char *tag; /* "loss/train"; at most SV_EVENT_TAG bytes */
    float value;
} sv_event_scalar;

/* Appends the record that a file begins with: the version of the format. Times are in seconds since
 * 1970. */
void sv_events_begin(sv_trainer_text *file, double wall_time);

/* Appends a record of up to SV_EVENT_SCALARS scalars at a step. */
void sv_events_add(sv_trainer_text *file, double wall_time, uint64_t step,
                   const sv_event_scalar *scalars, size_t count);

/* CRC-32C (Castagnoli 1993), as RFC 3720 has it. */
uint32_t sv_crc32c(const void *data, size_t bytes);

#endif
