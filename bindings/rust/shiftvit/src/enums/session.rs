//! The choices of `session.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// What a session does.
    pub enum Mode {
        /// Inference.
        Infer = SVIT_MODE_INFER,
        /// Training, with dropout and a backward pass.
        Train = SVIT_MODE_TRAIN,
    }
}

enumeration! {
    /// The precision of matrix products. Weights, gradients, optimiser slots, sums, norms, GELU and
    /// softmax are float32 in all three. Results differ between CPUs by the rounding described here.
    pub enum Compute {
        /// Float32.
        F32 = SVIT_COMPUTE_F32,
        /// Rounds A and B to bfloat16 where the bfloat16 arithmetic of the CPU
        /// is used: AMX, AVX-512 BF16 of AMD, BFMMLA of 64-bit Arm. Elsewhere it
        /// rounds only the weights, in the forward pass and in the gradients of
        /// activations, which saves memory but no time.
        Bf16 = SVIT_COMPUTE_BF16,
        /// For inference only: rounds the weights to 8 bits with a scale for each
        /// output channel, and the activations with a scale for each row.
        Int8 = SVIT_COMPUTE_INT8,
    }
}

enumeration! {
    /// Activation checkpointing (Chen et al. 2016): which activations a training forward saves. The
    /// others are recomputed in the backward pass with the same dropout masks. Logits and gradients are
    /// the same bits with all three.
    pub enum Memory {
        /// All that the backward pass reads.
        Store = SVIT_MEMORY_STORE,
        /// Of each transformer or shift block, its input.
        RecomputeBlocks = SVIT_MEMORY_RECOMPUTE_BLOCKS,
        /// Of each segment of consecutive layers, the input of the
        /// first; segments are chosen for the smallest session.
        RecomputeStages = SVIT_MEMORY_RECOMPUTE_STAGES,
    }
}

enumeration! {
    /// Test-time augmentation: the logits of an image are the mean over several versions of it. With a
    /// text head the embeddings are averaged, and a predictor computes the similarities from their mean.
    /// The logits of a masked autoencoder are the pixels of patches, so that it takes `Tta::None`
    /// alone.
    pub enum Tta {
        /// The image alone.
        None = SVIT_TTA_NONE,
        /// The image and its left-right mirror.
        Flip = SVIT_TTA_FLIP,
        /// These two, and the two of the image moved by one pixel up and left
        /// and of the image moved by one pixel down and right, where the first
        /// two count twice as much as the other four (Jordan 2024).
        FlipShift = SVIT_TTA_FLIP_SHIFT,
    }
}
