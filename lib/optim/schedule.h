/* Learning-rate schedules. */
#ifndef SV_SCHEDULE_H
#define SV_SCHEDULE_H

#include "base/status.h"

#include <shiftvit/optimizer.h>

#include <stdbool.h>

/* Whether the schedule has a length, total_steps. */
bool sv_schedule_has_length(int32_t schedule);

/* Whether the schedule has a rate lr_start, from which it rises or to which it falls. */
bool sv_schedule_uses_start(int32_t schedule);

/* Checks the fields of the configuration's schedule, each of which is in its range. SVIT_E_ARGUMENT
 * names the one that does not fit. */
svit_status sv_schedule_check(const svit_optimizer_config *config, svit_error *err);

/* The learning rate of update number `step`, counted from 0, by the configuration's schedule. */
double sv_learning_rate(const svit_optimizer_config *config, uint64_t step);

#endif
