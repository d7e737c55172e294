//! Feature sets: what a layer of a model computes for many images, with their labels.

use crate::call::{call, create, Handle};
use crate::config::{FeaturesConfig, PipelineConfig};
use crate::context::Context;
use crate::dataset::Dataset;
use crate::enums::Metric;
use crate::error::Result;
use crate::model::{pointer, Model};
use crate::text;
use shiftvit_sys as sys;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;
use std::slice;

/// Features `[count, channels]` with labels. Any number of threads may read it.
/// [`Model::fit_head`](crate::Model::fit_head) trains a classifier on it.
pub struct Features {
    raw: Handle<sys::svit_features>,
    _contexts: Vec<Context>,
}

// SAFETY: features.h: any number of threads may read a set, and changes take `&mut self`.
unsafe impl Send for Features {}
// SAFETY: as above.
unsafe impl Sync for Features {}

impl Features {
    fn adopt(context: &Context, raw: Handle<sys::svit_features>) -> Self {
        Features { raw, _contexts: vec![context.clone()] }
    }

    /// Computes the features of all images of a data set, with the evaluation of a pipeline; `None`: that of
    /// the model.
    pub fn compute(
        model: &Model,
        dataset: &Dataset,
        pipeline: Option<&PipelineConfig>,
        config: &FeaturesConfig,
    ) -> Result<Self> {
        let pipeline = pipeline.map(PipelineConfig::to_raw).transpose()?;
        let prepared = config.to_raw()?;
        let _readers = model.0.lock.read_with([&dataset.0.reads])?;
        // SAFETY: the handles are alive, and the structs are complete.
        let raw = create(|out, err| unsafe {
            let (model, dataset) = (model.raw(), dataset.raw());
            sys::svit_features_compute(out, model, dataset, pointer(&pipeline), &prepared.raw, err)
        })?;
        // The set may keep either context, whose log has to live as long.
        let mut features = Features::adopt(model.context(), raw);
        features._contexts.extend(config.context.clone());
        Ok(features)
    }

    /// A set of copies of `values[count, channels]` and `labels[count]`, below `classes` or -1 for none.
    pub fn new(
        context: &Context,
        values: &[f32],
        labels: &[i32],
        channels: usize,
        classes: usize,
    ) -> Result<Self> {
        Features::copied(context, values, labels, channels, classes, &[])
    }

    /// Such a set of classes with names.
    pub fn with_class_names(
        context: &Context,
        values: &[f32],
        labels: &[i32],
        channels: usize,
        class_names: &[impl AsRef<str>],
    ) -> Result<Self> {
        let texts = text::texts("a class name", class_names)?;
        let names = text::pointers(&texts);
        Features::copied(context, values, labels, channels, names.len(), &names)
    }

    fn copied(
        context: &Context,
        values: &[f32],
        labels: &[i32],
        channels: usize,
        classes: usize,
        names: &[*const c_char],
    ) -> Result<Self> {
        let count = text::rows("values", values.len(), channels)?;
        text::exact("labels", labels.len(), &[count])?;
        // SAFETY: the context is alive, and the arrays have the lengths that are passed.
        let raw = create(|out, err| unsafe {
            let (context, values, labels) = (context.raw(), values.as_ptr(), labels.as_ptr());
            let names = if names.is_empty() { ptr::null() } else { names.as_ptr() };
            sys::svit_features_create(
                out, context, values, labels, count, channels, classes, names, err,
            )
        })?;
        Ok(Features::adopt(context, raw))
    }

    /// Reads a set from a safetensors file.
    pub fn load(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = text::path(path.as_ref())?;
        // SAFETY: the context is alive, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_features_load(out, context.raw(), path.as_ptr(), err)
        })?;
        Ok(Features::adopt(context, raw))
    }

    /// Writes the set as a safetensors file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = text::path(path.as_ref())?;
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe { sys::svit_features_save(self.raw(), path.as_ptr(), err) })
    }

    pub(crate) fn raw(&self) -> *mut sys::svit_features {
        self.raw.get()
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_features_count(self.raw()) }
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_features_channels(self.raw()) }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_features_classes(self.raw()) }
    }

    /// The class names; empty if there are none.
    pub fn class_names(&self) -> Vec<String> {
        // SAFETY: the handle is alive, and its names change only by `&mut self`.
        unsafe { text::all(|label| sys::svit_features_class_name(self.raw(), label)) }
    }

    /// The features `[count, channels]`.
    pub fn values(&self) -> &[f32] {
        // SAFETY: the array has this size and stays until the set is appended to, which takes `&mut self`.
        unsafe {
            let values = sys::svit_features_values(self.raw());
            slice::from_raw_parts(values, self.len() * self.channels())
        }
    }

    /// The labels `[count]`, -1 for none.
    pub fn labels(&self) -> &[i32] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts(sys::svit_features_labels(self.raw()), self.len()) }
    }

    /// The name of the layer; "" if it is unknown.
    pub fn layer(&self) -> String {
        // SAFETY: the handle is alive, and the text stays.
        unsafe { text::copied(sys::svit_features_layer(self.raw())) }.unwrap_or_default()
    }

    /// A description of the model, with a fingerprint of its weights; "" if it is unknown.
    pub fn model(&self) -> String {
        // SAFETY: the handle is alive, and the text stays.
        unsafe { text::copied(sys::svit_features_model(self.raw())) }.unwrap_or_default()
    }

    /// Appends the samples of another set. Classes are matched by their names.
    pub fn append(&mut self, other: &Features) -> Result<()> {
        // SAFETY: the handles are alive, and two, since one is borrowed alone.
        call(|err| unsafe { sys::svit_features_append(self.raw(), other.raw(), err) })
    }

    /// The probabilities `[n, classes]` of `queries[n, channels]` by their k nearest neighbours in this set.
    pub fn knn(&self, queries: &[f32], k: usize, temperature: f64) -> Result<Vec<f32>> {
        let n = text::rows("queries", queries.len(), self.channels())?;
        let mut out = text::zeros("probabilities", &[n, self.classes()])?;
        // SAFETY: the handle is alive, and the arrays have n rows.
        call(|err| unsafe {
            let (raw, queries) = (self.raw(), queries.as_ptr());
            sys::svit_features_knn(raw, queries, n, k, temperature, out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// Rows and columns of an image's patches if each is a sample, otherwise `(1, 1)`.
    pub fn grid(&self) -> Result<(usize, usize)> {
        let (mut tokens, mut height, mut width) = (0, 0, 0);
        // SAFETY: the handle is alive, and so are the variables.
        call(|err| unsafe {
            sys::svit_features_grid(self.raw(), &mut tokens, &mut height, &mut width, err)
        })?;
        Ok((height, width))
    }

    /// The numbers `[n, k]` of the k samples that are nearest to each of `queries[n, channels]`, and their
    /// similarities or distances.
    pub fn nearest(
        &self,
        queries: &[f32],
        k: usize,
        metric: Metric,
    ) -> Result<(Vec<usize>, Vec<f32>)> {
        let n = text::rows("queries", queries.len(), self.channels())?;
        let shape = [n, k.min(self.len())];
        let mut indices = text::zeros("indices", &shape)?;
        let mut distances = text::zeros("distances", &shape)?;
        // SAFETY: the handle is alive; the queries have n rows; a k above the samples writes nothing.
        call(|err| unsafe {
            let (raw, queries) = (self.raw(), queries.as_ptr());
            let (indices, distances) = (indices.as_mut_ptr(), distances.as_mut_ptr());
            sys::svit_features_nearest(raw, queries, n, k, metric.raw(), indices, distances, err)
        })?;
        Ok((indices, distances))
    }

    /// `count` samples that cover this set: again and again the one farthest from those chosen before.
    pub fn coreset(&self, count: usize) -> Result<Self> {
        // SAFETY: the handle is alive.
        let raw =
            create(|out, err| unsafe { sys::svit_features_coreset(out, self.raw(), count, err) })?;
        Ok(Features { raw, _contexts: self._contexts.clone() })
    }
}
