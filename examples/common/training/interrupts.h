/* Signals that end a training after its step, or within a validation. */
#ifndef EXAMPLE_INTERRUPTS_H
#define EXAMPLE_INTERRUPTS_H

#include <stdint.h>

/* From now on the first Ctrl-C, SIGTERM or SIGHUP is remembered, and a second one ends the process
 * at once. A signal that the parent ignores, as nohup does, stays ignored. */
void interrupts_watch(void);

/* From now on each of them ends the process, and none has been seen. */
void interrupts_unwatch(void);

/* A svit_stop_function: the number of the signal that was remembered; 0: none. */
int32_t interrupts_seen(void *unused);

#endif
