//! Loaders: shuffled and augmented batches of a dataset.

// Written by bindings/rust/generate from the C headers.

use crate::dataset::*;
use crate::pipeline::*;
use crate::status::*;
use std::os::raw::c_char;

// Which samples an epoch of a shuffled loader reads.

/// each sample once
pub const SVIT_SAMPLING_SHUFFLE: i32 = 0;
/// as many as the dataset has, in each class equally many: the
/// classes take turns, each in random order through its samples again
/// and again. Small classes repeat, and each reading of a sample is
/// augmented by itself; large ones are not read to their end
pub const SVIT_SAMPLING_BALANCED: i32 = 1;

/// A loader reads a dataset batch by batch, epoch after epoch. A thread of its own prepares batches
/// ahead. The contents of a batch depend only on the dataset, the configuration, the epoch and the
/// batch number. One thread at a time may use a loader.
#[repr(C)]
pub struct svit_loader {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// The configuration of a loader, copied at creation.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_loader_config {
    /// sizeof(svit_loader_config)
    pub struct_size: u32,
    /// samples in a batch, 1..65536; the last of an epoch may have fewer
    pub batch: u32,
    /// of the order and the augmentation
    pub seed: u64,
    /// 1: a new order in each epoch; 0: the order of the dataset
    pub shuffle: i32,
    /// 1: the training pipeline; 0: the evaluation pipeline
    pub augment: i32,
    /// batches that are prepared ahead, 0..16; 0: each batch is
    /// prepared on the calling thread
    pub prefetch: u32,
    /// SVIT_SAMPLING_\*, with `shuffle`
    pub sampling: i32,
    /// 0\..65536: parts of a batch, of which a rank makes some (reducer.h); 0:
    /// one
    pub leaves: u32,
    /// 0\..ranks - 1: which part of each batch the loader makes: the images of
    /// the leaves from svit_partition_begin(leaves, ranks, rank) on and before
    /// that of rank + 1. They have the bits that they have in a whole batch,
    /// also where Mixup and CutMix take partners from other ranks
    pub rank: u32,
    /// 1\..leaves: loaders that share the batches; 1: the loader makes whole
    /// ones
    pub ranks: u32,
    /// with `shuffle`: 0: an epoch is a permutation of all samples; else
    /// the shards of the dataset (svit_dataset_shards) are read in random
    /// order, and a sample less than this many places from its own in that
    /// order. A dataset without shards is one shard
    pub shuffle_window: u32,
}

extern "C" {
    /// Fills `config` with the defaults: batch 256, seed 0, no shuffling, no augmentation, 2 batches
    /// ahead, SVIT_SAMPLING_SHUFFLE, whole batches, permutations of all samples. `size` is
    /// sizeof(svit_loader_config) as the caller was compiled. Any thread may call it.
    pub fn svit_loader_config_init(config: *mut svit_loader_config, size: usize) -> svit_status;

    /// Fills `config` from a JSON object whose keys are the names of the fields; a missing one takes its
    /// default. Words: sampling "shuffle", "balanced". `config` is written only on success.
    /// SVIT_E_ARGUMENT names an unknown key or a value that is not accepted; SVIT_E_FORMAT means that
    /// the text is no JSON object. SVIT_E_VERSION: a struct of this `size` lacks a field that is not at
    /// its default. Any thread may call it.
    pub fn svit_loader_config_from_json(
        config: *mut svit_loader_config,
        size: usize,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes `config` as the JSON object that svit_loader_config_from_json reads. `buffer`, `capacity`
    /// and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is out of range.
    /// Any thread may call it.
    pub fn svit_loader_config_to_json(
        config: *const svit_loader_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a loader that stands before batch 0 of epoch 0. It keeps the dataset alive and copies the
    /// configurations. `config` may be NULL for the defaults. The caller owns \*out and frees it with
    /// svit_loader_free. SVIT_E_ARGUMENT names the field that is out of range, or the channels of
    /// dataset and pipeline that differ. SVIT_E_UNSUPPORTED: a dataset with targets, or whose labels are
    /// known by reading its images alone, has no balanced sampling; float images have no antialiased
    /// source step and no augmentation that works on bytes.
    pub fn svit_loader_create(
        out: *mut *mut svit_loader,
        dataset: *mut svit_dataset,
        pipeline: *const svit_pipeline_config,
        config: *const svit_loader_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Ends the loader's thread and frees the loader. NULL is allowed.
    pub fn svit_loader_free(loader: *mut svit_loader);

    /// Returns the height of an image in a batch, in pixels; 0 for NULL.
    pub fn svit_loader_height(loader: *const svit_loader) -> usize;

    /// Returns the width of an image in a batch, in pixels; 0 for NULL.
    pub fn svit_loader_width(loader: *const svit_loader) -> usize;

    /// Returns the number of batches in an epoch; 0 for NULL.
    pub fn svit_loader_batches(loader: *const svit_loader) -> u64;

    /// Copies the next batch into images\[batch, height, width, channels\] and labels\[batch\], and its
    /// number of samples into \*n. At the end of an epoch \*n is 0, and the next call starts the
    /// following epoch. With several ranks \*n counts the rank's images, and is 0 also for a batch of
    /// which it has none; svit_loader_batches tells where the epoch ends. If a call fails, because an
    /// image cannot be read or a callback stops (SVIT_E_STOPPED), the loader stays at this batch and
    /// \*n as it is; what the arrays then hold is undefined. SVIT_E_ARGUMENT: a sample of floats
    /// has a value that svit_pipeline_apply_evaluation_f32 does not accept. SVIT_E_STATE: there are no
    /// labels (svit_loader_has_targets).
    pub fn svit_loader_next(
        loader: *mut svit_loader,
        images: *mut f32,
        labels: *mut i32,
        n: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Copies the next batch as svit_loader_next does, with targets\[batch, classes\] in place of labels:
    /// the targets of the dataset, or 1 for the label and 0 for the other classes, mixed as the images
    /// are by Mixup and CutMix. It works with every dataset and pipeline.
    pub fn svit_loader_next_targets(
        loader: *mut svit_loader,
        images: *mut f32,
        targets: *mut f32,
        n: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns 1 if svit_loader_next cannot be used, because the dataset has targets or the pipeline
    /// mixes images; otherwise, and for NULL, 0.
    pub fn svit_loader_has_targets(loader: *const svit_loader) -> i32;

    /// Moves the loader before `batch` of `epoch`, both from 0. `batch` may be svit_loader_batches, the
    /// end of the epoch. SVIT_E_ARGUMENT: `batch` is beyond it, or `epoch` is 2^52 or more.
    pub fn svit_loader_seek(
        loader: *mut svit_loader,
        epoch: u64,
        batch: u64,
        err: *mut svit_error,
    ) -> svit_status;
}
