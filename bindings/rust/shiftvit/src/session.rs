//! Sessions: the forward and backward passes of a model, on memory that is allocated in advance.

use crate::call::{call, create, Handle};
use crate::config::SessionConfig;
use crate::context::Context;
use crate::enums::Mode;
use crate::error::Result;
use crate::model::{Model, ModelInner};
use crate::text;
use shiftvit_sys as sys;
use std::sync::Arc;

/// The execution plan of a model. It may move between threads, and one at a time uses it; many sessions of
/// a model may run at once.
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<shiftvit::Session>(); // One thread at a time.
/// ```
pub struct Session {
    raw: Handle<sys::svit_session>,
    pub(crate) model: Arc<ModelInner>,
    _context: Option<Context>,
    classes: usize,
}

// SAFETY: docs/threading.md: a session belongs to no thread; without Sync one thread at a time uses it.
unsafe impl Send for Session {}

impl Session {
    /// Creates a session, whose memory is allocated now.
    pub fn new(model: &Model, config: &SessionConfig) -> Result<Self> {
        let prepared = config.to_raw()?;
        let classes = model.num_classes()?;
        let _reader = model.0.lock.read()?;
        // SAFETY: the model is alive, the session keeps it so, and the struct is complete.
        let raw = create(|out, err| unsafe {
            sys::svit_session_create(out, model.raw(), &prepared.raw, err)
        })?;
        Ok(Session { raw, model: model.0.clone(), _context: config.context.clone(), classes })
    }

    /// The bytes that a session would allocate.
    pub fn memory_needed(model: &Model, config: &SessionConfig) -> Result<u64> {
        let prepared = config.to_raw()?;
        let mut bytes = 0;
        let _reader = model.0.lock.read()?;
        // SAFETY: the model is alive, and the struct is complete.
        call(|err| unsafe {
            sys::svit_session_memory_needed(&mut bytes, model.raw(), &prepared.raw, err)
        })?;
        Ok(bytes)
    }

    pub(crate) fn raw(&self) -> *mut sys::svit_session {
        self.raw.get()
    }

    /// The bytes that the session holds.
    pub fn memory(&self) -> u64 {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_session_memory(self.raw()) }
    }

    /// The number of logits of an image.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The elements of one input: an image, or the output of `input_layer`.
    pub fn input_size(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_session_input_size(self.raw()) }
    }

    /// The number of training forwards so far.
    pub fn counter(&self) -> u64 {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_session_counter(self.raw()) }
    }

    /// Sets the number of training forwards, which selects the dropout masks.
    pub fn set_counter(&mut self, counter: u64) -> Result<()> {
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_session_set_counter(self.raw(), counter, err) })
    }

    /// Sets the mode and discards the saved activations.
    pub fn set_mode(&mut self, mode: Mode) -> Result<()> {
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_session_set_mode(self.raw(), mode.raw(), err) })
    }

    /// Computes `logits[n, classes]` of n inputs.
    pub fn forward_into(&mut self, images: &[f32], logits: &mut [f32]) -> Result<()> {
        let n = text::rows("images", images.len(), self.input_size())?;
        text::exact("logits", logits.len(), &[n, self.classes])?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the arrays have n rows.
        call(|err| unsafe {
            sys::svit_forward(self.raw(), images.as_ptr(), n, logits.as_mut_ptr(), err)
        })
    }

    /// The logits `[n, classes]` of n inputs.
    pub fn forward(&mut self, images: &[f32]) -> Result<Vec<f32>> {
        let n = text::rows("images", images.len(), self.input_size())?;
        let mut logits = text::zeros("logits", &[n, self.classes])?;
        self.forward_into(images, &mut logits)?;
        Ok(logits)
    }

    /// The logits in inference, and the attention weights of the last layer, `[n, heads, tokens, tokens]`.
    pub fn forward_attention(&mut self, images: &[f32]) -> Result<(Vec<f32>, Vec<f32>)> {
        let n = text::rows("images", images.len(), self.input_size())?;
        let (heads, tokens) = self.attention_size()?;
        let mut logits = text::zeros("logits", &[n, self.classes])?;
        let mut attention = text::zeros("attention", &[n, heads, tokens, tokens])?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the arrays have n rows.
        call(|err| unsafe {
            let (raw, images, out) = (self.raw(), images.as_ptr(), logits.as_mut_ptr());
            let elements = attention.len();
            sys::svit_forward_attention(raw, images, n, out, attention.as_mut_ptr(), elements, err)
        })?;
        Ok((logits, attention))
    }

    /// The number of attention heads and of tokens.
    pub fn attention_size(&self) -> Result<(usize, usize)> {
        let (mut heads, mut tokens) = (0, 0);
        // SAFETY: the handle is alive.
        call(|err| unsafe {
            sys::svit_session_attention_size(self.raw(), &mut heads, &mut tokens, err)
        })?;
        Ok((heads, tokens))
    }

    /// The names of the layers whose outputs [`forward_features`](Self::forward_features) computes.
    pub fn layers(&self) -> Vec<String> {
        // SAFETY: the handle is alive, and its names never change.
        unsafe { text::all(|index| sys::svit_session_layer_name(self.raw(), index)) }
    }

    /// The tokens and the channels of a layer's output for one image.
    pub fn layer_shape(&self, layer: &str) -> Result<(usize, usize)> {
        let layer = text::text("layer", layer)?;
        let (mut tokens, mut channels) = (0, 0);
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe {
            let layer = layer.as_ptr();
            sys::svit_session_layer_shape(self.raw(), layer, &mut tokens, &mut channels, err)
        })?;
        Ok((tokens, channels))
    }

    /// The output of a layer, `[n, tokens, channels]`, in inference.
    pub fn forward_features(&mut self, images: &[f32], layer: &str) -> Result<Vec<f32>> {
        let n = text::rows("images", images.len(), self.input_size())?;
        let (tokens, channels) = self.layer_shape(layer)?;
        let mut out = text::zeros("features", &[n, tokens, channels])?;
        let layer = text::text("layer", layer)?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, the arrays have n rows, and the text ends with a NUL.
        call(|err| unsafe {
            let (raw, images, layer) = (self.raw(), images.as_ptr(), layer.as_ptr());
            let elements = out.len();
            sys::svit_forward_features(raw, images, n, layer, out.as_mut_ptr(), elements, err)
        })?;
        Ok(out)
    }

    /// Adds the gradients of the parameters to those of the session, given that of the loss with respect to
    /// the logits of the last training forward.
    pub fn backward(&mut self, dlogits: &[f32]) -> Result<()> {
        let n = text::rows("dlogits", dlogits.len(), self.classes)?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the array has n rows.
        call(|err| unsafe { sys::svit_backward(self.raw(), dlogits.as_ptr(), n, err) })
    }

    /// Does what [`backward`](Self::backward) does and returns the gradient of the input.
    pub fn backward_input(&mut self, dlogits: &[f32]) -> Result<Vec<f32>> {
        let n = text::rows("dlogits", dlogits.len(), self.classes)?;
        let mut gradient = text::zeros("the input", &[n, self.input_size()])?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the arrays have n rows.
        call(|err| unsafe {
            let out = gradient.as_mut_ptr();
            sys::svit_backward_input(self.raw(), dlogits.as_ptr(), n, out, err)
        })?;
        Ok(gradient)
    }

    /// A copy of the gradient of a parameter.
    pub fn gradient(&self, name: &str) -> Result<Vec<f32>> {
        let mut values = text::zeros(name, &self.model.parameter_shape(name)?)?;
        let name = text::text("the name of a parameter", name)?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the array has the length that is passed.
        call(|err| unsafe {
            let (raw, elements) = (self.raw(), values.len());
            sys::svit_session_get_gradient(raw, name.as_ptr(), values.as_mut_ptr(), elements, err)
        })?;
        Ok(values)
    }

    /// Sets the gradient of a parameter.
    pub fn set_gradient(&mut self, name: &str, values: &[f32]) -> Result<()> {
        let name = text::text("the name of a parameter", name)?;
        let _reader = self.model.lock.read()?;
        // SAFETY: the handle is alive, and the array has the length that is passed.
        call(|err| unsafe {
            let (raw, elements) = (self.raw(), values.len());
            sys::svit_session_set_gradient(raw, name.as_ptr(), values.as_ptr(), elements, err)
        })
    }

    /// Sets all gradients to zero.
    pub fn zero_gradients(&mut self) -> Result<()> {
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_session_zero_gradients(self.raw(), err) })
    }
}
