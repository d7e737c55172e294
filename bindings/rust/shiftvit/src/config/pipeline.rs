//! `PipelineConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::enums::Evaluation;
use crate::enums::Source;
use crate::parts::Augment;
use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// The configuration of a pipeline. The steps are, after those of `augment` that work on bytes:
    /// 1\. The source step brings the image to source_height x source_width.
    /// 2\. Bilinear interpolation without antialiasing resizes it to resize_height x resize_width.
    /// 3\. Training takes a random crop of output_height x output_width, mirrors it with
    /// flip_probability, rotates and zooms it at random and fills the border by reflection.
    /// Evaluation does what `evaluation` says.
    /// 4\. value = (byte \* scale - mean\[channel\]) / sqrt(variance\[channel\]).
    /// The values of a float image take the place of the bytes; its source step can only be
    /// `Source::Nearest`, unless the image already has the source size.
    /// Keras' ShiftViT example: 32 -\> 52 -\> crop of 48, flip 0.5, scale 1/255, mean 0, variance 1.
    /// Keras' ViT example: 32 -\> 72, no crop, flip 0.5, rotation 0.02, zoom 0.2, mean and variance of
    /// the training set.
    pub struct PipelineConfig: svit_pipeline_config, svit_pipeline_config_init {
        /// Pixels, 1..8192.
        source_height: u32;
        /// Pixels, 1..8192.
        source_width: u32;
        /// Pixels, output_height..8192.
        resize_height: u32;
        /// Pixels, output_width..8192.
        resize_width: u32;
        /// Pixels, 1..8192: the height of the model's input.
        output_height: u32;
        /// Pixels, 1..8192: the width of the model's input.
        output_width: u32;
        /// `Evaluation`.
        evaluation: Evaluation;
        /// True: one random crop offset for a batch, as in Keras; false: one for
        /// each image. Each image is mirrored by itself in both cases.
        per_batch: bool;
        /// `Source`.
        source_filter: Source;
        /// Of images, 1..1024; those of files have 1 (grey), 3 (RGB) or 4
        /// (RGBA). The in_channels of the model. Above SVIT_MAX_CHANNELS the
        /// source step is `Source::Nearest`, and there is no
        /// SVIT_AUGMENT_RESIZED_CROP.
        channels: u32;
        /// \[0, 1\]: probability of a left-right mirror.
        flip_probability: f64;
        /// Above 0: factor of the bytes.
        scale: f64;
        /// Of each channel, in units of byte \* scale; of images
        /// with more channels than this the first is that of all.
        mean: [f64; sys::SVIT_MAX_CHANNELS as usize];
        /// Above 0, likewise, in units of (byte \* scale)^2.
        variance: [f64; sys::SVIT_MAX_CHANNELS as usize];
        /// \[0, 1\]: largest random rotation either way, in full circles.
        rotation: f64;
        /// \[0, 1): training zooms height and width by random factors of their
        /// own in 1 - zoom..1 + zoom; factors above 1 zoom out.
        zoom: f64;
    }
    lists {
        /// Training alone: steps on bytes, then those
        /// on values, then those on batches.
        augment: Augment, augment_count;
    }
    held {
    }
}

json!(PipelineConfig, svit_pipeline_config_from_json, svit_pipeline_config_to_json);
