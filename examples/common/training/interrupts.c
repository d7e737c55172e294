/* Signals that end a training after its step, or within a validation. */
#include "training/interrupts.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t seen;

static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP}; /* Ctrl-C, kill, a closed terminal */
enum { SIGNAL_COUNT = sizeof SIGNALS / sizeof *SIGNALS };

/* Remembers the first signal. A second one, of whatever kind, ends the process as by default. */
static void remember(int signal_number)
{
    if (seen) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    seen = signal_number;
}

void interrupts_watch(void)
{
    /* Calls of the system that the signal meets go on: the training looks at `seen` after its step,
     * and none of its files has failed. */
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (sigaction(SIGNALS[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(SIGNALS[i], &action, NULL);
}

void interrupts_unwatch(void)
{
    struct sigaction old;
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (sigaction(SIGNALS[i], NULL, &old) == 0 && old.sa_handler == remember)
            signal(SIGNALS[i], SIG_DFL);
    seen = 0;
}

int32_t interrupts_seen(void *unused)
{
    (void)unused;
    return seen;
}
