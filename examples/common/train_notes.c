/* What shiftvit-train says about its settings before it begins. */
#include "train_notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void note_average(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
                  size_t images)
{
    const double steps = ceil((double)images / trainer->batch) * trainer->epochs;
    const double rest = pow(optimizer->ema_momentum, steps);
    if ((optimizer->ema == SVIT_EMA_PLAIN || optimizer->ema == SVIT_EMA_KERAS) && rest > 0.1)
        fprintf(
            stderr,
            "after %.0f steps the average of the weights (ema_momentum %g) still has %.0f %% of "
            "those at the start; --set ema=none trains without it\n",
            steps, optimizer->ema_momentum, 100 * rest);
}

void note_rule(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
               size_t images, int has_adapters)
{
    int frozen = 0;
    for (uint32_t i = 0; i < optimizer->group_count; i++)
        frozen |= !optimizer->groups[i].trainable;
    fprintf(stderr,
            "settings for %zu images: %s trained, learning rate %g, layer decay %g, %" PRIu32
            " epochs in batches of %" PRIu32 ", %s; --lr, --epochs, --batch, --freeze, --lora and "
            "--set (groups, layer_decay, ema, augment) change them\n",
            images,
            has_adapters ? "adapters and head are"
            : frozen     ? "what is not frozen is"
                         : "everything is",
            optimizer->learning_rate, optimizer->layer_decay, trainer->epochs, trainer->batch,
            optimizer->ema == SVIT_EMA_NONE ? "no average of the weights"
                                            : "an average of the weights");
}
