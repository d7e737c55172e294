//! Predictors: from one model file and images to class probabilities, or to numbers.

use crate::call::{call, create, new_record, Handle};
use crate::config::PredictorConfig;
use crate::context::Context;
use crate::dataset::ImageShape;
use crate::enums::Output;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::lock::Guard;
use crate::model::{Model, ModelInner};
use crate::text;
use shiftvit_sys as sys;
use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

/// `svit_error *`.
type Record = *mut sys::svit_error;

/// A model with its preprocessing and its class names. It may move between threads, and one at a time uses it.
///
/// It keeps the pipeline, the output and the threshold that the model has when it is created, and is created anew
/// after a change of these. It follows changes of the weights and the class names.
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<shiftvit::Predictor>(); // One thread at a time.
/// ```
pub struct Predictor {
    pub(crate) raw: Handle<sys::svit_predictor>,
    /// `None`: a model of its own, which nobody else uses.
    model: Option<Arc<ModelInner>>,
    _contexts: Vec<Context>,
}

// SAFETY: docs/threading.md: a predictor belongs to no thread; without Sync one thread at a time uses it.
unsafe impl Send for Predictor {}

impl Predictor {
    /// A predictor of a model, which has a pipeline.
    pub fn new(model: &Model, config: &PredictorConfig) -> Result<Self> {
        let prepared = config.to_raw()?;
        let _reader = model.0.lock.read()?;
        // SAFETY: the model is alive, the predictor keeps it so, and the struct is complete.
        let raw = create(|out, err| unsafe {
            sys::svit_predictor_create_from_model(out, model.raw(), &prepared.raw, err)
        })?;
        let _contexts = config.context.iter().cloned().collect();
        Ok(Predictor { raw, model: Some(model.0.clone()), _contexts })
    }

    /// A predictor of a model file with the default configuration, as [`open_with`](Self::open_with).
    pub fn open(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        Predictor::open_with(context, path, &PredictorConfig::default())
    }

    /// A predictor of a model file, which is read as [`Model::load`] reads it. It holds the weights and a packed
    /// copy, as that of a [`Model`] does; that of [`map`](Self::map) leaves them in the file. `config.context` runs
    /// the predictions in place of `context`.
    pub fn open_with(
        context: &Context,
        path: impl AsRef<Path>,
        config: &PredictorConfig,
    ) -> Result<Self> {
        let path = path.as_ref();
        let model = Model::load(context, path)?;
        if model.raw_pipeline()?.is_none() {
            return Err(Error::argument(format!(
                "'{}' has no preprocessing; set a pipeline on the model and use Predictor::new",
                text::shown_path(path)
            )));
        }
        Predictor::new(&model, config)
    }

    /// A predictor of the bytes of a model file, which are copied.
    pub fn from_bytes(context: &Context, bytes: &[u8], config: &PredictorConfig) -> Result<Self> {
        let prepared = config.to_raw()?;
        // SAFETY: the context is alive, the array has the length that is passed, and the struct is complete.
        let raw = create(|out, err| unsafe {
            let (context, data, count) = (context.raw(), bytes.as_ptr().cast(), bytes.len());
            sys::svit_predictor_create_from_memory(out, context, data, count, &prepared.raw, err)
        })?;
        Ok(Predictor::alone(raw, context, config))
    }

    /// A predictor of a model file, which is mapped into memory: its weights are read from the file when they
    /// are packed.
    ///
    /// # Safety
    /// While the predictor lives, nobody writes to the file or truncates it in place, as for [`Model::map`].
    pub unsafe fn map(
        context: &Context,
        path: impl AsRef<Path>,
        config: &PredictorConfig,
    ) -> Result<Self> {
        let (path, prepared) = (text::path(path.as_ref())?, config.to_raw()?);
        // SAFETY: the context is alive, the struct is complete, the text ends with a NUL, and the caller sees to the
        // file.
        let raw = create(|out, err| unsafe {
            let (context, path) = (context.raw(), path.as_ptr());
            sys::svit_predictor_create(out, context, path, &prepared.raw, err)
        })?;
        Ok(Predictor::alone(raw, context, config))
    }

    /// A predictor with a model of its own, which logs to either context.
    fn alone(
        raw: Handle<sys::svit_predictor>,
        context: &Context,
        config: &PredictorConfig,
    ) -> Self {
        let _contexts = [context].into_iter().chain(&config.context).cloned().collect();
        Predictor { raw, model: None, _contexts }
    }

    /// Keeps the weights as they are during a call.
    fn reader(&self) -> Result<Option<Guard<'_>>> {
        self.model.as_ref().map(|model| model.lock.read()).transpose()
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_predictor_classes(self.raw.get()) }
    }

    /// The channels of the images that it takes, such as 3 of RGB.
    pub fn channels(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_predictor_channels(self.raw.get()) }
    }

    /// The class names; empty if the model has none.
    pub fn class_names(&self) -> Result<Vec<String>> {
        let _reader = self.reader()?;
        // SAFETY: the handle is alive, and the names stay while nobody changes the model.
        Ok(unsafe { text::all(|label| sys::svit_predictor_class_name(self.raw.get(), label)) })
    }

    /// What it makes of the logits: the output of its configuration, or what the model's was when it was created.
    pub fn output(&self) -> Result<Output> {
        // SAFETY: the handle is alive.
        Output::from_raw(unsafe { sys::svit_predictor_output(self.raw.get()) })
    }

    /// The class of the largest of each row of `probabilities[n, classes]`, or -1, none of these, where it is below
    /// the threshold that the model had when the predictor was created.
    pub fn labels(&self, probabilities: &[f32]) -> Result<Vec<i32>> {
        let n = text::rows("probabilities", probabilities.len(), self.classes())?;
        let mut out = vec![0; n];
        // SAFETY: the handle is alive, and the arrays have n rows.
        call(|err| unsafe {
            let (raw, rows) = (self.raw.get(), probabilities.as_ptr());
            sys::svit_predictor_labels(raw, rows, n, out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// The probabilities `[n, classes]` of n images `pixels[n, height, width, channels]`.
    pub fn predict(&mut self, pixels: &[u8], shape: ImageShape) -> Result<Vec<f32>> {
        let ImageShape { height, width, .. } = shape;
        let n = self.images(pixels.len(), shape)?;
        let mut out = text::zeros("probabilities", &[n, self.classes()])?;
        let _reader = self.reader()?;
        // SAFETY: the handle is alive, and the arrays have n rows.
        call(|err| unsafe {
            let (raw, pixels) = (self.raw.get(), pixels.as_ptr());
            sys::svit_predict_u8(raw, pixels, n, height, width, out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// Does the same for floats, whose values take the place of bytes: 255 is white.
    pub fn predict_f32(&mut self, images: &[f32], shape: ImageShape) -> Result<Vec<f32>> {
        let ImageShape { height, width, .. } = shape;
        let n = self.images(images.len(), shape)?;
        let mut out = text::zeros("probabilities", &[n, self.classes()])?;
        let _reader = self.reader()?;
        // SAFETY: the handle is alive, and the arrays have n rows.
        call(|err| unsafe {
            let (raw, images) = (self.raw.get(), images.as_ptr());
            sys::svit_predict_f32(raw, images, n, height, width, out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// The number of images in an array. The library reads as many channels as the model has.
    fn images(&self, elements: usize, shape: ImageShape) -> Result<usize> {
        let ImageShape { height, width, channels } = shape;
        let wanted = self.channels();
        if channels != wanted {
            let message =
                format!("the images have {} channels; the model has {}", channels, wanted);
            return Err(Error::argument(message));
        }
        text::rows("images", elements, text::product("an image", &[height, width, channels])?)
    }

    /// The probabilities of a JPEG, PNG or WebP file.
    pub fn predict_file(&mut self, path: impl AsRef<Path>) -> Result<Vec<f32>> {
        let path = text::path(path.as_ref())?;
        let mut out = text::zeros("probabilities", &[self.classes()])?;
        let _reader = self.reader()?;
        // SAFETY: the handle is alive, the array has an element for each class, and the text ends with a NUL.
        call(|err| unsafe {
            sys::svit_predict_file(self.raw.get(), path.as_ptr(), out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// The probabilities of the bytes of such a file.
    pub fn predict_encoded(&mut self, bytes: &[u8]) -> Result<Vec<f32>> {
        let mut out = text::zeros("probabilities", &[self.classes()])?;
        let _reader = self.reader()?;
        // SAFETY: the handle is alive, and the arrays have the lengths that are passed.
        call(|err| unsafe {
            let (data, count) = (bytes.as_ptr().cast(), bytes.len());
            sys::svit_predict_encoded(self.raw.get(), data, count, out.as_mut_ptr(), err)
        })?;
        Ok(out)
    }

    /// The probabilities of image files of any sizes, in batches: for each file its row, or why it has none.
    ///
    /// ```
    /// # use shiftvit::{Context, Predictor};
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/models/cifar10.safetensors");
    /// let mut predictor = Predictor::open(&Context::new()?, path)?;
    /// let rows = predictor.predict_files(&["/nowhere/a.jpg", "/nowhere/b.jpg"])?;
    /// assert!(rows.iter().all(|row| row.is_err()));
    /// # Ok::<(), shiftvit::Error>(())
    /// ```
    pub fn predict_files(&mut self, paths: &[impl AsRef<Path>]) -> Result<Vec<Result<Vec<f32>>>> {
        let paths =
            paths.iter().map(|path| text::path(path.as_ref())).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<_> = paths.iter().map(|path| path.as_ptr()).collect();
        self.predict_each(paths.len(), |raw, out, errors, err| {
            // SAFETY: the handle is alive, the arrays have n elements and rows, and the texts end with a NUL.
            unsafe {
                sys::svit_predict_files(raw, pointers.as_ptr(), pointers.len(), out, errors, err)
            }
        })
    }

    /// Does the same for the bytes of such files.
    pub fn predict_encoded_images(
        &mut self,
        images: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Result<Vec<f32>>>> {
        let images: Vec<&[u8]> = images.iter().map(|image| image.as_ref()).collect();
        let data: Vec<*const c_void> = images.iter().map(|image| image.as_ptr().cast()).collect();
        let bytes: Vec<usize> = images.iter().map(|image| image.len()).collect();
        self.predict_each(images.len(), |raw, out, errors, err| {
            let (data, bytes, n) = (data.as_ptr(), bytes.as_ptr(), data.len());
            // SAFETY: the handle is alive, the arrays have n elements and rows, and each image its length.
            unsafe { sys::svit_predict_encoded_images(raw, data, bytes, n, out, errors, err) }
        })
    }

    /// Predicts n images by a function that fills n rows and n records.
    fn predict_each(
        &mut self,
        n: usize,
        function: impl FnOnce(*mut sys::svit_predictor, *mut f32, Record, Record) -> i32,
    ) -> Result<Vec<Result<Vec<f32>>>> {
        if n == 0 {
            return Ok(Vec::new());
        }
        let classes = self.classes();
        let mut out = text::zeros("probabilities", &[n, classes])?;
        let mut records: Vec<_> = (0..n).map(|_| new_record()).collect();
        let _reader = self.reader()?;
        call(|err| function(self.raw.get(), out.as_mut_ptr(), records.as_mut_ptr(), err))?;
        let row = |(i, record): (usize, &sys::svit_error)| match record.code {
            sys::SVIT_OK => Ok(out[i * classes..][..classes].to_vec()),
            code => Err(Error::from_record(code, record)),
        };
        Ok(records.iter().enumerate().map(row).collect())
    }

    /// The `k` classes of the largest values of one image, the largest first, as indices and values.
    pub fn top(values: &[f32], k: usize) -> Vec<(usize, f32)> {
        let mut order: Vec<(usize, f32)> = values.iter().copied().enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.truncate(k);
        order
    }
}
