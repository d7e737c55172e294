//! Extractors: the features of images as they come.

use crate::call::{call, create, Handle};
use crate::config::{FeaturesConfig, PipelineConfig};
use crate::context::Context;
use crate::dataset::ImageShape;
use crate::error::{Error, Result};
use crate::model::{pointer, Model, ModelInner};
use crate::text;
use shiftvit_sys as sys;
use std::sync::Arc;

/// Computes the features of images one call after the other, with memory for a batch: what
/// [`Features::compute`](crate::Features::compute) computes of a data set. It may move between threads, and one at a
/// time uses it. It follows changes of the weights, and is created anew after a change of the pipeline.
///
/// ```
/// # use shiftvit::{Context, Dataset, Extractor, Features, FeaturesConfig, ImageShape, Metric, Model, Split};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/models/cifar10.safetensors");
/// # let context = Context::new()?;
/// let model = Model::load(&context, path)?;
/// let config = FeaturesConfig { batch: 1, ..FeaturesConfig::default() };
/// let known = Features::compute(&model, &Dataset::synthetic(&context, 1, Split::Train, 20)?, None, &config)?;
/// let mut extractor = Extractor::new(&model, None, &config)?;
/// let seen = extractor.extract(&[0; 32 * 32 * 3], ImageShape { height: 32, width: 32, channels: 3 })?;
/// assert_eq!(known.nearest(&seen, 1, Metric::Cosine)?.0.len(), 1);
/// # Ok::<(), shiftvit::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<shiftvit::Extractor>(); // One thread at a time.
/// ```
pub struct Extractor {
    pub(crate) raw: Handle<sys::svit_extractor>,
    model: Arc<ModelInner>,
    image_channels: usize,
    _contexts: Vec<Context>,
}

// SAFETY: docs/threading.md: an extractor belongs to no thread; without Sync one thread at a time uses it.
unsafe impl Send for Extractor {}

impl Extractor {
    /// An extractor of features of the evaluation of a pipeline; `None`: that of the model.
    pub fn new(
        model: &Model,
        pipeline: Option<&PipelineConfig>,
        config: &FeaturesConfig,
    ) -> Result<Self> {
        let pipeline = pipeline.map(PipelineConfig::to_raw).transpose()?;
        let prepared = config.to_raw()?;
        let image_channels = model.config()?.in_channels as usize;
        let _reader = model.0.lock.read()?;
        // SAFETY: the model is alive, the extractor keeps it so, and the structs are complete.
        let raw = create(|out, err| unsafe {
            sys::svit_extractor_create(out, model.raw(), pointer(&pipeline), &prepared.raw, err)
        })?;
        let _contexts = config.context.iter().cloned().collect();
        Ok(Extractor { raw, model: model.0.clone(), image_channels, _contexts })
    }

    /// The channels of a feature.
    pub fn channels(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_extractor_channels(self.raw.get()) }
    }

    /// Rows and columns of an image's patches if each is a sample, otherwise `(1, 1)`.
    pub fn grid(&self) -> Result<(usize, usize)> {
        let (mut tokens, mut height, mut width) = (0, 0, 0);
        // SAFETY: the handle is alive, and so are the variables.
        call(|err| unsafe {
            let raw = self.raw.get();
            sys::svit_extractor_grid(raw, &mut tokens, &mut height, &mut width, err)
        })?;
        Ok((height, width))
    }

    /// Computes the features `[n, rows, columns, channels]` of n images of one size, `pixels[n, height, width,
    /// channels]`: one for each image, or one for each of its patches.
    pub fn extract(&mut self, pixels: &[u8], shape: ImageShape) -> Result<Vec<f32>> {
        let (n, mut out) = self.room(pixels.len(), shape)?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the arrays have the features of n images.
        call(|err| unsafe {
            let (raw, pixels) = (self.raw.get(), pixels.as_ptr());
            let ImageShape { height, width, .. } = shape;
            sys::svit_extract_u8(raw, pixels, n, height, width, out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// Does the same for floats, whose values take the place of bytes: 255 is white.
    pub fn extract_f32(&mut self, images: &[f32], shape: ImageShape) -> Result<Vec<f32>> {
        let (n, mut out) = self.room(images.len(), shape)?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the arrays have the features of n images.
        call(|err| unsafe {
            let (raw, images) = (self.raw.get(), images.as_ptr());
            let ImageShape { height, width, .. } = shape;
            sys::svit_extract_f32(raw, images, n, height, width, out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// The number of images in an array, and room for their features.
    fn room(&self, elements: usize, shape: ImageShape) -> Result<(usize, Vec<f32>)> {
        let ImageShape { height, width, channels } = shape;
        if channels != self.image_channels {
            return Err(Error::argument(format!(
                "the images have {} channels; the model has {}",
                channels, self.image_channels
            )));
        }
        let image = text::product("an image", &[height, width, channels])?;
        let n = text::rows("images", elements, image)?;
        let (rows, columns) = self.grid()?;
        Ok((n, text::zeros("features", &[n, rows, columns, self.channels()])?))
    }
}
