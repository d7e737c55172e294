//! Models of files of other libraries, and what was done with a file.

use crate::call::call;
use crate::context::Context;
use crate::error::Result;
use crate::files::map_text;
use crate::model::Model;
use crate::text;
use shiftvit_sys as sys;
use std::ffi::CString;
use std::os::raw::c_char;
use std::path::{Path, PathBuf};
use std::ptr;

/// What [`Model::load_into`] passes over instead of failing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadFlags {
    /// A tensor of another shape: the parameter stays.
    pub skip_shape_mismatch: bool,
    /// A tensor that no parameter takes.
    pub ignore_extra: bool,
    /// A parameter without a tensor: it stays.
    pub allow_missing: bool,
}

/// How [`Model::open`] finds out what a checkpoint is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Which of timm's models the weights are of, where no configuration lies beside them.
    pub name: Option<String>,
    /// A JSON object of fields of [`ModelConfig`](crate::ModelConfig), which have the last word.
    pub fields: Option<String>,
    /// What the names of the encoder begin with, with the last dot, if the file has several.
    pub prefix: Option<String>,
    /// The folder or file of the model that a PEFT adapter changes, in place of the one that it names.
    pub base: Option<PathBuf>,
}

/// What was done with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Parameters that were read.
    pub loaded: u32,
    /// Parameters for which the file has no tensor.
    pub missing: u32,
    /// Parameters whose tensor has another shape.
    pub mismatched: u32,
    /// Tensors that no parameter takes.
    pub extra: u32,
    /// Of these, integers and F64: they are never an error.
    pub buffers: u32,
    /// Their names, after "missing ", "mismatched ", "extra ", "buffer " or "converted "; of [`Model::open`] first
    /// "field NAME VALUE SOURCE" for each field and what states it.
    pub lines: Vec<String>,
}

/// Calls `read` with a report, and again if its text needs more room.
fn reported<T>(
    mut read: impl FnMut(&mut sys::svit_load_report) -> Result<T>,
) -> Result<(T, LoadReport)> {
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        let mut raw = sys::svit_load_report {
            struct_size: std::mem::size_of::<sys::svit_load_report>() as u32,
            loaded: 0,
            missing: 0,
            mismatched: 0,
            extra: 0,
            buffers: 0,
            text: buffer.as_mut_ptr().cast(),
            capacity: buffer.len() as u64,
            needed: 0,
        };
        let value = read(&mut raw);
        if raw.needed > buffer.len() as u64 {
            buffer = text::zeros("the report", &[raw.needed as usize])?;
            continue;
        }
        let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
        let lines = String::from_utf8_lossy(&buffer[..end]).lines().map(String::from).collect();
        let report = LoadReport {
            loaded: raw.loaded,
            missing: raw.missing,
            mismatched: raw.mismatched,
            extra: raw.extra,
            buffers: raw.buffers,
            lines,
        };
        return match value {
            Ok(value) => Ok((value, report)),
            Err(error) => Err(error.with_report(report)),
        };
    }
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

impl Model {
    /// Creates a model of a checkpoint: a file of this library, or a ViT of timm, transformers or
    /// OpenCLIP in safetensors, or the folder that holds it. [`Error::load_report`](crate::Error::load_report)
    /// tells how far a call came that failed.
    pub fn open(
        context: &Context,
        path: impl AsRef<Path>,
        options: &OpenOptions,
    ) -> Result<(Self, LoadReport)> {
        let optional = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| text::text(name, value)).transpose()
        };
        let path = text::path(path.as_ref())?;
        let name = optional("the name", &options.name)?;
        let fields = optional("the fields", &options.fields)?;
        let prefix = optional("the prefix", &options.prefix)?;
        let base = options.base.as_ref().map(|base| text::path(base)).transpose()?;
        let raw = sys::svit_open_options {
            struct_size: std::mem::size_of::<sys::svit_open_options>() as u32,
            reserved: 0,
            name: pointer(&name),
            fields: pointer(&fields),
            prefix: pointer(&prefix),
            base: pointer(&base),
        };
        reported(|report| {
            Model::created(context, |out, err| {
                let handle = context.raw();
                // SAFETY: the context is alive, the structs are complete, and the texts end with a NUL.
                unsafe { sys::svit_model_open(out, handle, path.as_ptr(), &raw, report, err) }
            })
        })
    }

    /// Reads the parameters from a file, and passes over what the flags allow. On failure the model stays as it
    /// was, and [`Error::load_report`](crate::Error::load_report) tells how far the call came.
    pub fn load_into(
        &mut self,
        path: impl AsRef<Path>,
        map: Option<&str>,
        flags: LoadFlags,
    ) -> Result<LoadReport> {
        let (path, map) = (text::path(path.as_ref())?, map_text(map)?);
        let bits = [
            (flags.skip_shape_mismatch, sys::SVIT_LOAD_SKIP_SHAPE_MISMATCH),
            (flags.ignore_extra, sys::SVIT_LOAD_IGNORE_EXTRA),
            (flags.allow_missing, sys::SVIT_LOAD_ALLOW_MISSING),
        ];
        let sum = bits.iter().filter(|(set, _)| *set).map(|(_, bit)| *bit as u32).sum();
        let _alone = self.0.lock.write()?;
        let ((), report) = reported(|report| {
            // SAFETY: the handle is alive, the struct is complete, and the texts end with a NUL.
            call(|err| unsafe {
                let (model, map) = (self.raw(), pointer(&map));
                sys::svit_model_load_into(model, path.as_ptr(), map, sum, report, err)
            })
        })?;
        Ok(report)
    }
}
