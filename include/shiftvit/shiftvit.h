/* The whole public API: train and run small vision transformers (ShiftViT, ViT, SL-ViT,
 * MLP-Mixer) on CPUs.
 *
 * The headers stand in reading order, each with what it declares. A program that only classifies
 * images needs predictor.h; one that trains needs dataset.h, model.h and trainer.h. Unless a
 * comment says otherwise:
 *  - A function that can fail returns svit_status and takes an svit_error as its last argument,
 *    which _init functions lack. It returns SVIT_E_ARGUMENT if a required pointer is NULL, and
 *    SVIT_E_MEMORY if there is not enough memory. A failed call writes no outputs and leaves its
 *    handles usable.
 *  - One thread at a time may use a handle. Different handles may be used at the same time.
 *  - Arrays belong to the caller, are row-major, and their sizes are in elements. Images are NHWC.
 *  - A handle keeps alive what it was created from, so handles may be freed in any order.
 *  - A configuration struct is filled by its init function first; then the caller sets fields. */
#ifndef SHIFTVIT_SHIFTVIT_H
#define SHIFTVIT_SHIFTVIT_H

/* clang-format off */
#include <shiftvit/version.h>    /* the version, at compile time and at run time */
#include <shiftvit/status.h>     /* status codes, the error record, constants by name */
#include <shiftvit/allocator.h>  /* memory functions that a program may supply */
#include <shiftvit/parallel.h>   /* tasks on threads of the program */
#include <shiftvit/context.h>    /* threads, allocator, log and GEMM backend; folder locks */
#include <shiftvit/image.h>      /* images: files, resizing, patches */
#include <shiftvit/pipeline.h>   /* preprocessing and augmentation: bytes to model input */
#include <shiftvit/dataset.h>    /* labelled images from files, memory or callbacks */
#include <shiftvit/loader.h>     /* shuffled, augmented batches of a dataset */
#include <shiftvit/model.h>      /* model configuration, parameters and files */
#include <shiftvit/onnx.h>       /* models as ONNX files, for other runtimes */
#include <shiftvit/load.h>       /* weights of timm, Hugging Face and OpenCLIP; parts of files */
#include <shiftvit/reducer.h>    /* what adds gradients of several processes in a fixed order */
#include <shiftvit/session.h>    /* forward and backward passes on preallocated memory */
#include <shiftvit/loss.h>       /* cross-entropy, softmax and accuracy on plain arrays */
#include <shiftvit/metrics.h>    /* confusion matrix, F1, average precision, errors of numbers */
#include <shiftvit/optimizer.h>  /* parameter updates, learning-rate schedules, weight averages */
#include <shiftvit/checkpoint.h> /* the whole state of a training run in one file */
#include <shiftvit/trainer.h>    /* the training loop: epochs, validation, early stopping */
#include <shiftvit/features.h>   /* what a layer computes for a dataset; heads trained on it */
#include <shiftvit/predictor.h>  /* classification with one model file */
#include <shiftvit/file.h>       /* atomic replacement of a file */
#include <shiftvit/benchmark.h>  /* the speed of a matrix product */
/* clang-format on */

#endif
