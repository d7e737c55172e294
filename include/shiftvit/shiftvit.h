/* The whole public API: train and run small vision transformers on CPUs. */
#ifndef SHIFTVIT_SHIFTVIT_H
#define SHIFTVIT_SHIFTVIT_H

#include <shiftvit/allocator.h>
#include <shiftvit/benchmark.h>
#include <shiftvit/checkpoint.h>
#include <shiftvit/context.h>
#include <shiftvit/dataset.h>
#include <shiftvit/file.h>
#include <shiftvit/image.h>
#include <shiftvit/loader.h>
#include <shiftvit/loss.h>
#include <shiftvit/model.h>
#include <shiftvit/optimizer.h>
#include <shiftvit/pipeline.h>
#include <shiftvit/predictor.h>
#include <shiftvit/session.h>
#include <shiftvit/status.h>
#include <shiftvit/trainer.h>

#endif
