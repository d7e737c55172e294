/* Learning-rate schedules. */
#ifndef SV_SCHEDULE_H
#define SV_SCHEDULE_H

#include "base/status.h"

#include <shiftvit/optimizer.h>

#include <stdbool.h>

/* Settings that not every schedule has. */
typedef enum sv_schedule_setting {
    SV_SCHEDULE_LENGTH = 1,    /* total_steps */
    SV_SCHEDULE_WARMUP = 2,    /* warmup_steps */
    SV_SCHEDULE_START = 4,     /* lr_start, from which the rate rises or to which it falls */
    SV_SCHEDULE_STEP_SIZE = 8, /* step_size and step_factor */
    SV_SCHEDULE_RESTARTS = 16, /* restart_steps and restart_factor */
    SV_SCHEDULE_POINTS = 32    /* points */
} sv_schedule_setting;

bool sv_schedule_uses(int32_t schedule, sv_schedule_setting setting);

/* Checks the fields of the configuration's schedule, each of which is in its range. SVIT_E_ARGUMENT
 * names the one that does not fit. */
svit_status sv_schedule_check(const svit_optimizer_config *config, svit_error *err);

/* The learning rate of update number `step`, counted from 0, by the configuration's schedule. */
double sv_learning_rate(const svit_optimizer_config *config, uint64_t step);

#endif
