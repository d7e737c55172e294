/* Learning rate and weight decay as functions of the update number. */
#ifndef SV_SCHEDULE_H
#define SV_SCHEDULE_H

#include <shiftvit/optimizer.h>

/* Returns the learning rate of update number `step`, from 0. `config` must be legal. */
double sv_learning_rate(const svit_optimizer_config *config, uint64_t step);

/* Returns the factor d of the weight decay `w -= d * w` in update number `step`. */
double sv_decay(const svit_optimizer_config *config, uint64_t step);

#endif
