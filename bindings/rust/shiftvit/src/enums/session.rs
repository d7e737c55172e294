//! The choices of `session.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// Inference, or training with dropout and a backward pass.
    pub enum Mode {
        /// `SVIT_MODE_INFER` in C.
        Infer = SVIT_MODE_INFER,
        /// `SVIT_MODE_TRAIN` in C.
        Train = SVIT_MODE_TRAIN,
    }
}

enumeration! {
    /// The precision of matrix products. Weights, gradients, optimiser slots, sums, norms, GELU and
    /// softmax are float32 in all three. Results differ between CPUs by the rounding described here.
    ///
    /// `Compute::Bf16` rounds A and B to bfloat16 where the CPU has bfloat16 dot products (AMX,
    /// AVX-512 BF16). Elsewhere it rounds only the weights, in the forward pass and in the gradients of
    /// activations, which saves memory but no time. `Compute::Int8`, for inference only, rounds the
    /// weights to 8 bits with a scale for each output channel. Where the CPU has int8 dot products (AMX,
    /// AVX-512 VNNI), it also rounds the activations, with a scale for each row.
    pub enum Compute {
        /// `SVIT_COMPUTE_F32` in C.
        F32 = SVIT_COMPUTE_F32,
        /// `SVIT_COMPUTE_BF16` in C.
        Bf16 = SVIT_COMPUTE_BF16,
        /// `SVIT_COMPUTE_INT8` in C.
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
