//! `LoaderConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::enums::Sampling;
use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// The configuration of a loader, copied at creation.
    pub struct LoaderConfig: svit_loader_config, svit_loader_config_init {
        /// Samples in a batch, 1..65536; the last of an epoch may have fewer.
        batch: u32;
        /// Of the order and the augmentation.
        seed: u64;
        /// True: a new order in each epoch; false: the order of the dataset.
        shuffle: bool;
        /// True: the training pipeline; false: the evaluation pipeline.
        augment: bool;
        /// Batches that are prepared ahead, 0..16; 0: each batch is
        /// prepared on the calling thread.
        prefetch: u32;
        /// `Sampling`, with `shuffle`.
        sampling: Sampling;
        /// 0\..65536: parts of a batch, of which a rank makes some (reducer.h); 0:
        /// one.
        leaves: u32;
        /// 0\..ranks - 1: which part of each batch the loader makes: the images of
        /// the leaves from `sys::svit_partition_begin`(leaves, ranks, rank) on and before
        /// that of rank + 1. They have the bits that they have in a whole batch,
        /// also where Mixup and CutMix take partners from other ranks.
        rank: u32;
        /// 1\..leaves: loaders that share the batches; 1: the loader makes whole
        /// ones.
        /// Gradients of several ranks are added by raw calls (`svit_reducer` of
        /// [`sys`](crate::sys)).
        ranks: u32;
        /// With `shuffle`: 0: an epoch is a permutation of all samples; else
        /// the shards of the dataset (`Dataset::shards`) are read in random
        /// order, and a sample less than this many places from its own in that
        /// order. A dataset without shards is one shard.
        shuffle_window: u32;
    }
    lists {
    }
    held {
    }
}

json!(LoaderConfig, svit_loader_config_from_json, svit_loader_config_to_json);
