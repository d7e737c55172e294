//! Model files: the library's own, those of other libraries with a configuration, and ONNX.

use crate::call::call;
use crate::config::{ModelConfig, OnnxOptions};
use crate::context::Context;
use crate::enums::Dtype;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::text;
use shiftvit_sys as sys;
use std::ffi::CString;
use std::path::Path;
use std::ptr;

pub(crate) fn map_text(map: Option<&str>) -> Result<Option<CString>> {
    map.map(|map| text::text("map", map)).transpose()
}

impl Model {
    /// Reads a model file.
    pub fn load(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = text::path(path.as_ref())?;
        Model::created(context, |out, err| {
            // SAFETY: the context is alive, and the text ends with a NUL.
            unsafe { sys::svit_model_load(out, context.raw(), path.as_ptr(), err) }
        })
    }

    /// Loads a model whose weights stay in the file, which is mapped into memory.
    ///
    /// # Safety
    /// While the model or a session of it lives, nobody writes to the file or truncates it in place.
    /// It may be removed, renamed, or replaced by a rename, as [`save`](Self::save) does it.
    pub unsafe fn map(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = text::path(path.as_ref())?;
        Model::created(context, |out, err| {
            // SAFETY: the context is alive, and the text ends with a NUL.
            unsafe { sys::svit_model_map(out, context.raw(), path.as_ptr(), err) }
        })
    }

    /// Reads a file with a configuration of the caller's.
    pub fn load_with_config(
        context: &Context,
        config: &ModelConfig,
        path: impl AsRef<Path>,
    ) -> Result<Self> {
        let (path, prepared) = (text::path(path.as_ref())?, config.to_raw()?);
        Model::created(context, |out, err| {
            let (raw, config) = (context.raw(), &prepared.raw);
            // SAFETY: the context is alive, the struct is complete, and the text ends with a NUL.
            unsafe { sys::svit_model_load_with_config(out, raw, config, path.as_ptr(), err) }
        })
    }

    /// Reads a model from the bytes of a file.
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self> {
        Model::created(context, |out, err| {
            let (data, count) = (bytes.as_ptr().cast(), bytes.len());
            // SAFETY: the context is alive, and the array has the length that is passed.
            unsafe { sys::svit_model_load_memory(out, context.raw(), data, count, err) }
        })
    }

    /// Creates a model with the weights of another library's file. `map` is "timm", "huggingface",
    /// "openclip" or a JSON object of names; `None`: the model's own names.
    pub fn load_mapped(
        context: &Context,
        config: &ModelConfig,
        path: impl AsRef<Path>,
        map: Option<&str>,
    ) -> Result<Self> {
        let (path, prepared, map) = (text::path(path.as_ref())?, config.to_raw()?, map_text(map)?);
        let map = map.as_ref().map_or(ptr::null(), |map| map.as_ptr());
        Model::created(context, |out, err| {
            let (raw, config) = (context.raw(), &prepared.raw);
            // SAFETY: the context is alive, the struct is complete, and the texts end with a NUL.
            unsafe { sys::svit_model_load_mapped(out, raw, config, path.as_ptr(), map, err) }
        })
    }

    /// Writes a model file and replaces an old one as a whole.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = text::path(path.as_ref())?;
        let _reader = self.0.lock.read()?;
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe { sys::svit_model_save(self.raw(), path.as_ptr(), err) })
    }

    /// Writes a model file whose parameters are stored in another type.
    pub fn save_as(&self, path: impl AsRef<Path>, dtype: Dtype) -> Result<()> {
        let path = text::path(path.as_ref())?;
        let _reader = self.0.lock.read()?;
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe { sys::svit_model_save_as(self.raw(), path.as_ptr(), dtype.raw(), err) })
    }

    /// Writes the parameters of a ViT under the names of another library; `map` is "timm".
    pub fn save_mapped(&self, path: impl AsRef<Path>, map: &str) -> Result<()> {
        let (path, map) = (text::path(path.as_ref())?, text::text("map", map)?);
        let _reader = self.0.lock.read()?;
        // SAFETY: the handle is alive, and the texts end with a NUL.
        call(|err| unsafe {
            sys::svit_model_save_mapped(self.raw(), path.as_ptr(), map.as_ptr(), err)
        })
    }

    /// The bytes of the file that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let _reader = self.0.lock.read()?;
        let mut needed = 0;
        let size = call(|err| {
            // SAFETY: the handle is alive, and NULL has the capacity 0.
            unsafe { sys::svit_model_save_memory(self.raw(), ptr::null_mut(), 0, &mut needed, err) }
        });
        match size {
            Err(error) if needed == 0 => return Err(error),
            Ok(()) if needed == 0 => return Err(Error::argument("the model has no bytes")),
            _ => {}
        }
        let mut bytes: Vec<u8> = text::zeros("the file", &[needed])?;
        // SAFETY: the handle is alive, and the buffer has the capacity that is passed.
        call(|err| unsafe {
            let (buffer, capacity) = (bytes.as_mut_ptr().cast(), bytes.len());
            sys::svit_model_save_memory(self.raw(), buffer, capacity, &mut needed, err)
        })?;
        bytes.truncate(needed);
        Ok(bytes)
    }

    /// Writes the model as an ONNX file.
    pub fn export_onnx(&self, path: impl AsRef<Path>, options: &OnnxOptions) -> Result<()> {
        let (path, prepared) = (text::path(path.as_ref())?, options.to_raw()?);
        let _reader = self.0.lock.read()?;
        // SAFETY: the handle is alive, the struct is complete, and the text ends with a NUL.
        call(|err| unsafe {
            sys::svit_model_export_onnx(self.raw(), path.as_ptr(), &prepared.raw, err)
        })
    }
}
