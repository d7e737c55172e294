//! Data sets of arrays and of functions.

use super::{Dataset, ImageShape, Owner};
use crate::call::{create, Pinned};
use crate::context::Context;
use crate::error::Result;
use crate::samples::SampleFunction;
use crate::text;
use shiftvit_sys as sys;
use std::os::raw::c_void;
use std::ptr;

impl Dataset {
    /// Images in memory, `pixels[count, height, width, channels]`, with `labels[count]` below `classes`.
    pub fn from_pixels(
        context: &Context,
        pixels: Vec<u8>,
        labels: Vec<i32>,
        shape: ImageShape,
        classes: usize,
    ) -> Result<Self> {
        text::exact("pixels", pixels.len(), &shape.of(labels.len()))?;
        let ImageShape { height, width, channels } = shape;
        // SAFETY: the arrays have the shapes that are passed, and stay until the data set has ended.
        let raw = create(|out, err| unsafe {
            let (count, context) = (labels.len(), context.raw());
            let (pixels, labels) = (pixels.as_ptr(), labels.as_ptr());
            sys::svit_dataset_memory(
                out, context, pixels, labels, count, height, width, channels, classes, err,
            )
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Bytes(pixels, labels)))
    }

    /// Images in memory with `targets[count, columns]`, finite numbers.
    pub fn from_pixels_with_targets(
        context: &Context,
        pixels: Vec<u8>,
        targets: Vec<f32>,
        shape: ImageShape,
        columns: usize,
    ) -> Result<Self> {
        let count = text::rows("targets", targets.len(), columns)?;
        text::exact("pixels", pixels.len(), &shape.of(count))?;
        let ImageShape { height, width, channels } = shape;
        // SAFETY: the arrays have the shapes that are passed, and stay until the data set has ended.
        let raw = create(|out, err| unsafe {
            let context = context.raw();
            let (pixels, targets) = (pixels.as_ptr(), targets.as_ptr());
            sys::svit_dataset_memory_targets(
                out, context, pixels, targets, count, height, width, channels, columns, err,
            )
        })?;
        Ok(Dataset::adopt(context, raw, Owner::BytesWithTargets(pixels, targets)))
    }

    /// Images of floats in memory, which take the place of bytes: with the scale 1/255, 255 is white.
    pub fn from_floats(
        context: &Context,
        images: Vec<f32>,
        labels: Vec<i32>,
        shape: ImageShape,
        classes: usize,
    ) -> Result<Self> {
        text::exact("images", images.len(), &shape.of(labels.len()))?;
        let ImageShape { height, width, channels } = shape;
        // SAFETY: the arrays have the shapes that are passed, and stay until the data set has ended.
        let raw = create(|out, err| unsafe {
            let (count, context, targets) = (labels.len(), context.raw(), ptr::null());
            let (images, labels) = (images.as_ptr(), labels.as_ptr());
            sys::svit_dataset_memory_f32(
                out, context, images, labels, targets, count, height, width, channels, classes, err,
            )
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Floats(images, labels)))
    }

    /// Images of floats in memory with `targets[count, columns]`, finite numbers.
    pub fn from_floats_with_targets(
        context: &Context,
        images: Vec<f32>,
        targets: Vec<f32>,
        shape: ImageShape,
        columns: usize,
    ) -> Result<Self> {
        let count = text::rows("targets", targets.len(), columns)?;
        text::exact("images", images.len(), &shape.of(count))?;
        let ImageShape { height, width, channels } = shape;
        // SAFETY: the arrays have the shapes that are passed, and stay until the data set has ended.
        let raw = create(|out, err| unsafe {
            let (context, labels) = (context.raw(), ptr::null());
            let (images, targets) = (images.as_ptr(), targets.as_ptr());
            sys::svit_dataset_memory_f32(
                out, context, images, labels, targets, count, height, width, channels, columns, err,
            )
        })?;
        Ok(Dataset::adopt(context, raw, Owner::FloatsWithTargets(images, targets)))
    }

    /// Samples that a function writes: it gets an index and `pixels[height, width, channels]` and returns
    /// the label. Its error ends the call that reads, with `Status::Stopped` and that error as the
    /// source, or with the status of an [`Error`](crate::Error); a panic goes on there. It runs on the thread of the call and never twice at a time.
    ///
    /// It may read other data sets and models, for which it waits while other threads use them. To read its own
    /// data set, or a model that the running call trains, fails with `Status::State`. The functions of two
    /// data sets must not read each other's set: on two threads they would wait for each other for ever. So
    /// would a function that hands work on its own data set to another thread and joins it.
    pub fn from_function<F, E>(
        context: &Context,
        count: usize,
        shape: ImageShape,
        classes: usize,
        mut function: F,
    ) -> Result<Self>
    where
        F: FnMut(usize, &mut [u8]) -> Result<i32, E> + Send + 'static,
        E: Into<crate::BoxError>,
    {
        let ImageShape { height, width, channels } = shape;
        let elements = text::product("a sample", &[height, width, channels])?;
        let function = Pinned::new(SampleFunction {
            function: Box::new(move |index, pixels| function(index, pixels).map_err(Into::into)),
            elements,
        });
        let user = function.get().cast::<c_void>();
        let read = Some(crate::samples::read as _);
        // SAFETY: the function stays until the data set has ended, and `elements` is the size of a sample.
        let raw = create(|out, err| unsafe {
            let context = context.raw();
            sys::svit_dataset_callback(
                out, context, read, count, height, width, channels, classes, user, err,
            )
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Function(function)))
    }
}
