/* The library for C++17: handles that free themselves, and failures as exceptions or as results.
 *
 * A class holds one handle of the C interface and has all functions that take it, whose comments
 * in the C header say what arguments mean; arrays and texts stay pointers. Objects can be moved and
 * not copied. An object without a handle is false; its functions get NULL, which the library
 * refuses or answers with 0. Configurations are made and read by
 * functions, too; everything else stays C.
 *
 * A function that can fail returns `result`. That is void, and failures are thrown as
 * shiftvit::error. If exceptions are off, or SHIFTVIT_NO_EXCEPTIONS is defined before this header
 * is included, it is shiftvit::status instead, which is false after a failure and has the message.
 * If a function fails, its object is as before, unless the comment in the C header says otherwise.
 * A program may have sources of both kinds. */
#ifndef SHIFTVIT_SHIFTVIT_HPP
#define SHIFTVIT_SHIFTVIT_HPP

/* clang-format off */
#include <shiftvit/handle.hpp>    /* status or error, and the owner of a handle */
#include <shiftvit/config.hpp>    /* defaults, presets and JSON of configurations */
#include <shiftvit/data.hpp>      /* context, folder_lock, dataset, loader */
#include <shiftvit/image.hpp>     /* image, and what a pipeline makes of one */
#include <shiftvit/network.hpp>   /* model, session, optimizer, checkpoint */
#include <shiftvit/inference.hpp> /* predictor, extractor, features */
#include <shiftvit/training.hpp>  /* trainer, evaluate, evaluate_logits, metrics */
/* clang-format on */

#endif
