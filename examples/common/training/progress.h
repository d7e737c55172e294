/* Shows the progress of training on stderr: a bar on a terminal, plain lines elsewhere. */
#ifndef EXAMPLE_PROGRESS_H
#define EXAMPLE_PROGRESS_H

#include <shiftvit/trainer.h>

/* The state of the display. Start from zero. */
struct progress {
    double drawn;     /* when the bar was last drawn, seconds of the monotonic clock */
    uint64_t quarter; /* the last quarter of the epoch that had its line */
};

/* Shows a step: at most ten times a second on a terminal, at the quarters of an epoch elsewhere. */
void progress_step(struct progress *self, const svit_trainer_event *event);

/* Shows a completed epoch on a line that stays. */
void progress_epoch(struct progress *self, const svit_trainer_event *event);

/* Erases the bar, so that a message has its own line. */
void progress_clear(void);

/* Writes a duration to text[24] as "59 s", "12:34" or "1:02:03" and returns `text`. */
char *progress_duration(char text[24], double seconds);

/* Returns the seconds of a clock that never goes back. */
double progress_clock(void);

#endif
