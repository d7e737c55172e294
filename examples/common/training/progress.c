/* Shows the progress of training on stderr: a bar on a terminal, plain lines elsewhere. */
#include "training/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE_CAPACITY = 512, MAX_BAR = 30 };

double progress_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

char *progress_duration(char text[24], double seconds)
{
    if (!isfinite(seconds) || seconds < 0 || seconds > 3.6e8) {
        snprintf(text, 24, "?");
        return text;
    }
    unsigned whole = (unsigned)(seconds + 0.5);
    if (whole < 60)
        snprintf(text, 24, "%u s", whole);
    else if (whole < 3600)
        snprintf(text, 24, "%u:%02u", whole / 60, whole % 60);
    else
        snprintf(text, 24, "%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

/* Returns the columns of the terminal, or 0 if stderr is not a terminal. */
static size_t terminal_columns(void)
{
    struct winsize size;
    if (!isatty(STDERR_FILENO))
        return 0;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Writes " top-1 12.34 %", or nothing for NaN, which means that the run has no such measure. */
static const char *fraction_text(char text[32], const char *name, double value)
{
    text[0] = '\0';
    if (!isnan(value))
        snprintf(text, 32, " %s %.2f %%", name, 100 * value);
    return text;
}

static void step_text(char *text, size_t capacity, const svit_trainer_event *event)
{
    char eta[24], top1[32] = "";
    if (!isnan(event->train_top1))
        snprintf(top1, sizeof top1, "  top-1 %5.2f %%", 100 * event->train_top1);
    snprintf(text, capacity, "loss %.4f%s  %.0f images/s  ETA %s", event->train_loss, top1,
             event->images_per_second, progress_duration(eta, event->eta_seconds));
}

static void bar_text(char *text, size_t width, uint64_t step, uint64_t steps)
{
    size_t filled = steps ? (size_t)(step * width / steps) : 0;
    memset(text, ' ', width);
    memset(text, '=', filled);
    if (filled > 0 && filled < width)
        text[filled - 1] = '>';
    text[width] = '\0';
}

static void draw_bar(const svit_trainer_event *event, size_t columns)
{
    char head[96];
    char tail[160];
    char bar[MAX_BAR + 1];
    char line[LINE_CAPACITY];
    snprintf(head, sizeof head, "epoch %" PRIu64 "/%" PRIu64, event->epoch, event->epochs);
    step_text(tail, sizeof tail, event);
    size_t taken = strlen(head) + strlen(tail) + sizeof " [] 0000/0000  ";
    size_t width = columns > taken + 5 ? columns - taken : 0;
    bar_text(bar, width > MAX_BAR ? MAX_BAR : width, event->step, event->steps);
    snprintf(line, sizeof line, "%s [%s] %" PRIu64 "/%" PRIu64 "  %s", head, bar, event->step,
             event->steps, tail);
    fprintf(stderr, "\r\033[K%.*s", (int)columns - 1, line);
}

void progress_step(struct progress *self, const svit_trainer_event *event)
{
    size_t columns = terminal_columns();
    double now = progress_clock();
    uint64_t quarter = event->steps ? event->step * 4 / event->steps : 0;
    if (columns > 0 && (now - self->drawn >= 0.1 || event->step == event->steps)) {
        draw_bar(event, columns);
        self->drawn = now;
    } else if (columns == 0 && quarter > self->quarter && quarter < 4) {
        char text[160];
        step_text(text, sizeof text, event);
        fprintf(stderr, "epoch %" PRIu64 "/%" PRIu64 "  step %" PRIu64 "/%" PRIu64 "  %s\n",
                event->epoch, event->epochs, event->step, event->steps, text);
        self->quarter = quarter;
    }
}

void progress_epoch(struct progress *self, const svit_trainer_event *event)
{
    char seconds[24];
    char eta[24];
    char validation[96] = "", top1[32], top5[32];
    self->quarter = 0;
    if (isfinite(event->val_loss))
        snprintf(validation, sizeof validation, "  val: loss %.4f%s%s", event->val_loss,
                 fraction_text(top1, "top-1", event->val_top1),
                 fraction_text(top5, "top-5", event->val_top5));
    progress_clear();
    fprintf(stderr,
            "epoch %" PRIu64 "/%" PRIu64 "  train: loss %.4f%s%s%s  %.0f images/s  %s  ETA %s\n",
            event->epoch, event->epochs, event->train_loss,
            fraction_text(top1, "top-1", event->train_top1),
            fraction_text(top5, "top-5", event->train_top5), validation, event->images_per_second,
            progress_duration(seconds, event->seconds), progress_duration(eta, event->eta_seconds));
}

void progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}
