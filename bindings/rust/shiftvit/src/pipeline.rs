//! The steps of a pipeline on images of the caller's: what a session gets as its input.

use crate::call::call;
use crate::config::PipelineConfig;
use crate::context::Context;
use crate::dataset::ImageShape;
use crate::error::{Error, Result};
use crate::text;
use shiftvit_sys as sys;

impl PipelineConfig {
    /// The height and the width of an evaluated image: the output size, or with `Evaluation::Keep` the resized
    /// size.
    pub fn evaluation_size(&self) -> Result<(usize, usize)> {
        let prepared = self.to_raw()?;
        let (mut height, mut width) = (0, 0);
        // SAFETY: the struct is complete.
        call(|err| unsafe {
            sys::svit_pipeline_evaluation_size(&prepared.raw, &mut height, &mut width, err)
        })?;
        Ok((height, width))
    }

    /// Applies the steps of evaluation to n images `pixels[n, height, width, channels]` of this shape and returns
    /// the input of a model, `[n, height, width, channels]` in the size of [`evaluation_size`].
    ///
    /// [`evaluation_size`]: Self::evaluation_size
    pub fn apply_evaluation(
        &self,
        context: &Context,
        pixels: &[u8],
        shape: ImageShape,
    ) -> Result<Vec<f32>> {
        let (prepared, ImageShape { height, width, .. }) = (self.to_raw()?, shape);
        let n = self.images("pixels", pixels.len(), shape)?;
        let mut out = self.inputs(n)?;
        // SAFETY: the context is alive, the struct is complete, and the arrays have n images.
        call(|err| unsafe {
            let (context, config) = (context.raw(), &prepared.raw);
            let (pixels, out) = (pixels.as_ptr(), out.as_mut_ptr());
            sys::svit_pipeline_apply_evaluation(context, config, pixels, n, height, width, out, err)
        })?;
        Ok(out)
    }

    /// Does the same for floats, whose values take the place of bytes: with the scale 1/255, 255 is white.
    pub fn apply_evaluation_f32(
        &self,
        context: &Context,
        images: &[f32],
        shape: ImageShape,
    ) -> Result<Vec<f32>> {
        let (prepared, ImageShape { height, width, .. }) = (self.to_raw()?, shape);
        let n = self.images("images", images.len(), shape)?;
        let mut out = self.inputs(n)?;
        // SAFETY: the context is alive, the struct is complete, and the arrays have n images.
        call(|err| unsafe {
            let (context, config) = (context.raw(), &prepared.raw);
            let (images, out) = (images.as_ptr(), out.as_mut_ptr());
            sys::svit_pipeline_apply_evaluation_f32(
                context, config, images, n, height, width, out, err,
            )
        })?;
        Ok(out)
    }

    /// Applies the source step alone to one image `pixels[height, width, channels]` and returns the image
    /// `[source_height, source_width, channels]`, which training and evaluation resize.
    pub fn apply_source(
        &self,
        context: &Context,
        pixels: &[u8],
        shape: ImageShape,
    ) -> Result<Vec<u8>> {
        let (prepared, ImageShape { height, width, .. }) = (self.to_raw()?, shape);
        self.images("pixels", pixels.len(), shape)?;
        text::exact("pixels", pixels.len(), &[height, width, shape.channels])?;
        self.evaluation_size()?; // Checks the fields, and so the size of the array.
        let sides = [self.source_height, self.source_width, self.channels];
        let mut out = text::zeros("the image", &sides.map(|side| side as usize))?;
        // SAFETY: the context is alive, the struct is complete, and the arrays have the shapes of the two images.
        call(|err| unsafe {
            let (context, config) = (context.raw(), &prepared.raw);
            let (pixels, out) = (pixels.as_ptr(), out.as_mut_ptr());
            sys::svit_pipeline_apply_source(context, config, pixels, height, width, out, err)
        })?;
        Ok(out)
    }

    /// The number of images in an array. The library reads as many channels as the pipeline has.
    fn images(&self, name: &str, elements: usize, shape: ImageShape) -> Result<usize> {
        let ImageShape { height, width, channels } = shape;
        if channels != self.channels as usize {
            return Err(Error::argument(format!(
                "the images have {} channels; the pipeline has {}",
                channels, self.channels
            )));
        }
        text::rows(name, elements, text::product("an image", &[height, width, channels])?)
    }

    /// The array for n evaluated images.
    fn inputs(&self, n: usize) -> Result<Vec<f32>> {
        let (height, width) = self.evaluation_size()?;
        text::zeros("the input", &[n, height, width, self.channels as usize])
    }
}
