/* Adapters of LoRA in a model. */
#ifndef SV_MODEL_LORA_H
#define SV_MODEL_LORA_H

#include "models/model.h"

/* Creates a copy of the model without adapters, whose weights have the adapters' products added:
 * what is written where files have no adapters. It has the model's class names, pipeline, output
 * and frozen parameters. */
svit_status sv_model_merged(svit_model **out, const svit_model *model, svit_error *err);

static inline bool sv_model_has_lora(const svit_model *model)
{
    return model->config.lora_rank > 0;
}

#endif
