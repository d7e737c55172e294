//! Models: configuration, parameters, class names and preprocessing.

use crate::call::{call, create, Handle};
use crate::config::{ModelConfig, PipelineConfig};
use crate::context::Context;
use crate::enums::Output;
use crate::error::{Result, Status};
use crate::field::{try_filled, Field};
use crate::lock::ModelLock;
use crate::text;
use shiftvit_sys as sys;
use std::ptr;
use std::sync::Arc;

/// What a model and its sessions, optimisers, trainers and predictors share.
pub(crate) struct ModelInner {
    raw: Handle<sys::svit_model>,
    pub(crate) lock: ModelLock,
    pub(crate) context: Context,
}

// SAFETY: docs/threading.md: any number of readers or one writer; `lock` sees to that.
unsafe impl Send for ModelInner {}
// SAFETY: as above.
unsafe impl Sync for ModelInner {}

impl ModelInner {
    pub(crate) fn raw(&self) -> *mut sys::svit_model {
        self.raw.get()
    }
}

/// A configuration with its parameters, class names and preprocessing.
///
/// Any number of threads may read it. Sessions, optimisers, trainers and predictors of a model stay valid
/// without it. Their calls and those of the model wait for each other where one of them changes the
/// weights: a forward never sees half of a step.
///
/// What changes a model otherwise takes it by `&mut`. A new head, more classes and adapters are refused with
/// `Status::State` while sessions, optimisers, trainers or predictors of it exist.
pub struct Model(pub(crate) Arc<ModelInner>);

impl ModelConfig {
    /// The configuration of a preset; [`presets`](Self::presets) lists them.
    pub fn preset(name: &str) -> Result<Self> {
        let name = text::text("preset", name)?;
        let raw = try_filled(|config, size, err| {
            // SAFETY: the struct has the size that is passed, and the text ends with a NUL.
            unsafe { sys::svit_model_config_preset(config, size, name.as_ptr(), err) }
        })?;
        Self::from_raw(&raw)
    }

    /// The names of all presets.
    pub fn presets() -> Vec<String> {
        // SAFETY: the function returns static texts, and NULL past the end.
        unsafe { text::all(|index| sys::svit_model_preset_name(index)) }
    }

    /// The multiply-adds of one image, of a forward pass and of a forward and a backward pass.
    pub fn multiply_adds(&self) -> Result<(u64, u64)> {
        let prepared = self.to_raw()?;
        let (mut forward, mut training) = (0, 0);
        // SAFETY: the struct is complete.
        call(|err| unsafe {
            sys::svit_model_multiply_adds(&prepared.raw, &mut forward, &mut training, err)
        })?;
        Ok((forward, training))
    }
}

impl Model {
    /// A model with random initial weights, which depend on the configuration and the seed alone.
    pub fn new(context: &Context, config: &ModelConfig, seed: u64) -> Result<Self> {
        let prepared = config.to_raw()?;
        Model::created(context, |out, err| {
            // SAFETY: the context is alive, and the struct is complete.
            unsafe { sys::svit_model_create(out, context.raw(), &prepared.raw, seed, err) }
        })
    }

    pub(crate) fn created(
        context: &Context,
        function: impl FnOnce(*mut *mut sys::svit_model, *mut sys::svit_error) -> i32,
    ) -> Result<Self> {
        let raw = create(function)?;
        Ok(Model(Arc::new(ModelInner {
            raw,
            lock: ModelLock::default(),
            context: context.clone(),
        })))
    }

    pub(crate) fn raw(&self) -> *mut sys::svit_model {
        self.0.raw()
    }

    /// The context that the model was created with.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The configuration.
    pub fn config(&self) -> Result<ModelConfig> {
        let raw = try_filled(|config, size, err| {
            // SAFETY: the handle is alive, and the struct has the size that is passed.
            unsafe { sys::svit_model_get_config(self.raw(), config, size, err) }
        })?;
        ModelConfig::from_raw(&raw)
    }

    /// The number of logits of an image.
    pub(crate) fn num_classes(&self) -> Result<usize> {
        let raw: sys::svit_model_config = try_filled(|config, size, err| {
            // SAFETY: the handle is alive, and the struct has the size that is passed.
            unsafe { sys::svit_model_get_config(self.raw(), config, size, err) }
        })?;
        Ok(raw.num_classes as usize)
    }

    /// The class names, in the order of the labels; empty if the model has none.
    pub fn classes(&self) -> Vec<String> {
        // SAFETY: the handle is alive, and its class names change only by `&mut self`.
        unsafe { text::all(|label| sys::svit_model_class_name(self.raw(), label)) }
    }

    /// The names of the classes that are embeddings of texts; empty if the model has none.
    pub fn text_classes(&self) -> Vec<String> {
        // SAFETY: the handle is alive, and these names change only by `&mut self`.
        unsafe { text::all(|label| sys::svit_model_text_class_name(self.raw(), label)) }
    }

    /// Sets the class names, as many as there are classes, or removes them if there are none: `&[""; 0]`.
    pub fn set_classes(&mut self, names: &[impl AsRef<str>]) -> Result<()> {
        let texts = text::texts("a class name", names)?;
        let pointers = text::pointers(&texts);
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive, and the array has the length that is passed.
        call(|err| unsafe {
            sys::svit_model_set_classes(self.raw(), pointers.as_ptr(), pointers.len(), err)
        })
    }

    /// What predictors make of the logits.
    pub fn output(&self) -> Result<Output> {
        // SAFETY: the handle is alive, and its output changes only by `&mut self`.
        Output::from_raw(unsafe { sys::svit_model_output(self.raw()) })
    }

    /// States what predictors make of the logits. Those that exist keep what was stated when they were created.
    pub fn set_output(&mut self, output: Output) -> Result<()> {
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_model_set_output(self.raw(), output.raw(), err) })
    }

    /// Makes embeddings of texts `[names, num_classes]` the classes of predictors, by their cosine similarities with
    /// the model's logits, as CLIP does; none removes them: `&[""; 0]`.
    pub fn set_text_head(
        &mut self,
        embeddings: &[f32],
        names: &[impl AsRef<str>],
        logit_scale: f64,
        logit_bias: f64,
    ) -> Result<()> {
        let texts = text::texts("a class name", names)?;
        let pointers = text::pointers(&texts);
        let channels = if names.is_empty() { 0 } else { embeddings.len() / names.len() };
        text::exact("embeddings", embeddings.len(), &[names.len(), channels])?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive, and the arrays have the lengths that are passed.
        call(|err| unsafe {
            let (raw, values, names) = (self.raw(), embeddings.as_ptr(), pointers.as_ptr());
            let count = pointers.len();
            sys::svit_model_set_text_head(
                raw,
                values,
                names,
                count,
                channels,
                logit_scale,
                logit_bias,
                err,
            )
        })
    }

    /// The probability below which an image is none of the classes; 0 for never.
    pub fn threshold(&self) -> f64 {
        // SAFETY: the handle is alive, and the threshold, which a step of another thread removes, is atomic.
        unsafe { sys::svit_model_threshold(self.raw()) }
    }

    /// Sets that probability, which [`Predictor::labels`](crate::Predictor::labels) reads. Predictors that exist keep
    /// theirs.
    pub fn set_threshold(&mut self, threshold: f64) -> Result<()> {
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_model_set_threshold(self.raw(), threshold, err) })
    }

    /// The pipeline that turns an image into the model's input; `None` if the model has none.
    pub fn pipeline(&self) -> Result<Option<PipelineConfig>> {
        self.raw_pipeline()?.as_ref().map(PipelineConfig::from_raw).transpose()
    }

    pub(crate) fn raw_pipeline(&self) -> Result<Option<sys::svit_pipeline_config>> {
        let result = try_filled(|config, size, err| {
            // SAFETY: the handle is alive, and the struct has the size that is passed.
            unsafe { sys::svit_model_get_pipeline(self.raw(), config, size, err) }
        });
        match result {
            Ok(raw) => Ok(Some(raw)),
            Err(error) if error.status() == Status::State => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the pipeline, or removes it. Predictors that exist keep theirs.
    pub fn set_pipeline(&mut self, pipeline: Option<&PipelineConfig>) -> Result<()> {
        let prepared = pipeline.map(PipelineConfig::to_raw).transpose()?;
        let raw = pointer(&prepared);
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive, and the struct is complete.
        call(|err| unsafe { sys::svit_model_set_pipeline(self.raw(), raw, err) })
    }

    /// Gives the stem of a model with `Stem::Whitened` the whitening filters of images
    /// `[n, input_height, input_width, in_channels]`.
    pub fn whiten(&mut self, images: &[f32]) -> Result<()> {
        let config = self.config()?;
        let sides = [config.input_height, config.input_width, config.in_channels];
        let row = text::product("an image", &sides.map(|side| side as usize))?;
        let n = text::rows("images", images.len(), row)?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive, and the array has n images.
        call(|err| unsafe { sys::svit_model_whiten(self.raw(), images.as_ptr(), n, err) })
    }
}

/// The pointer of an optional configuration.
pub(crate) fn pointer<T>(prepared: &Option<crate::field::Prepared<T>>) -> *const T {
    prepared.as_ref().map_or(ptr::null(), |prepared| &prepared.raw)
}
