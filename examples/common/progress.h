/* Progress of a training run on stderr: a bar on a terminal, plain lines elsewhere. */
#ifndef EXAMPLE_PROGRESS_H
#define EXAMPLE_PROGRESS_H

#include <shiftvit/trainer.h>

/* Zero-initialised before the first event. */
struct progress {
    double drawn;     /* when the bar was last drawn, seconds of the monotonic clock */
    uint64_t quarter; /* of the epoch, the last that had its line */
};

/* Shows a step: at most ten times a second on a terminal, at the quarters of an epoch elsewhere. */
void progress_step(struct progress *self, const svit_trainer_event *event);

/* Shows a finished epoch; this line stays. */
void progress_epoch(struct progress *self, const svit_trainer_event *event);

/* Takes a bar away, so that messages have a line of their own. */
void progress_clear(void);

/* seconds as 59 s, 12:34 or 1:02:03 into text[24]; returns text. */
char *progress_duration(char text[24], double seconds);

/* Seconds of the monotonic clock. */
double progress_clock(void);

#endif
