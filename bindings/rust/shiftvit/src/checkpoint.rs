//! Checkpoints: the complete state of a training loop, which resumes to the same bits.

use crate::call::{call, create, Handle};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::optimizer::Optimizer;
use crate::session::Session;
use crate::text;
use shiftvit_sys as sys;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// A checkpoint file that was read and checked. Any number of threads may read it.
pub struct Checkpoint {
    pub(crate) raw: Handle<sys::svit_checkpoint>,
    _context: Context,
}

// SAFETY: docs/threading.md: any number of readers, and nothing changes a checkpoint.
unsafe impl Send for Checkpoint {}
// SAFETY: as above.
unsafe impl Sync for Checkpoint {}

impl Checkpoint {
    /// Writes a model, which of its parameters are frozen, an optimiser's state and a session's counter to one
    /// file, with texts of the caller's own. An old file is replaced as a whole.
    pub fn save(
        path: impl AsRef<Path>,
        model: &Model,
        optimizer: Option<&Optimizer>,
        session: Option<&Session>,
        notes: &[(&str, &str)],
    ) -> Result<()> {
        let path = text::path(path.as_ref())?;
        let (keys, values): (Vec<&str>, Vec<&str>) = notes.iter().copied().unzip();
        let (keys, values) = (text::texts("a key", &keys)?, text::texts("a value", &values)?);
        let (keys, values) = (text::pointers(&keys), text::pointers(&values));
        same_model(model, optimizer, session)?;
        let _reader = model.0.lock.read()?;
        // SAFETY: the handles are alive, the arrays have the length that is passed, and texts end with a NUL.
        call(|err| unsafe {
            sys::svit_checkpoint_save(
                path.as_ptr(),
                model.raw(),
                optimizer.map_or(ptr::null(), |optimizer| optimizer.raw() as *const _),
                session.map_or(ptr::null(), |session| session.raw() as *const _),
                keys.as_ptr(),
                values.as_ptr(),
                keys.len(),
                err,
            )
        })
    }

    /// Reads and checks a checkpoint.
    pub fn open(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = text::path(path.as_ref())?;
        // SAFETY: the context is alive, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_checkpoint_open(out, context.raw(), path.as_ptr(), err)
        })?;
        Ok(Checkpoint { raw, _context: context.clone() })
    }

    /// One of the texts that [`save`](Self::save) was given.
    pub fn note(&self, key: &str) -> Option<String> {
        let key = text::text("key", key).ok()?;
        // SAFETY: the handle is alive, and the texts end with a NUL.
        unsafe { text::copied(sys::svit_checkpoint_value(self.raw.get(), key.as_ptr())) }
    }

    /// "optimizer.steps", "optimizer.swapped" or "session.counter".
    pub fn number(&self, key: &str) -> Result<u64> {
        let key = text::text("key", key)?;
        let mut value = 0;
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe {
            sys::svit_checkpoint_get_u64(self.raw.get(), key.as_ptr(), &mut value, err)
        })?;
        Ok(value)
    }

    /// Restores the state of a model, and of an optimiser and a session of it. On failure nothing changes.
    pub fn restore(
        &self,
        model: &mut Model,
        optimizer: Option<&mut Optimizer>,
        session: Option<&mut Session>,
    ) -> Result<()> {
        same_model(model, optimizer.as_deref(), session.as_deref())?;
        let _alone = model.0.lock.write()?;
        // SAFETY: the handles are alive, and no other thread uses them.
        call(|err| unsafe {
            sys::svit_checkpoint_restore(
                self.raw.get(),
                model.raw(),
                optimizer.map_or(ptr::null_mut(), |optimizer| optimizer.raw()),
                session.map_or(ptr::null_mut(), |session| session.raw()),
                err,
            )
        })
    }
}

/// Fails if an optimiser or a session is of another model, whose lock nobody would hold.
fn same_model(
    model: &Model,
    optimizer: Option<&Optimizer>,
    session: Option<&Session>,
) -> Result<()> {
    let others = [optimizer.map(|o| &o.model), session.map(|s| &s.model)];
    if others.into_iter().flatten().all(|other| Arc::ptr_eq(other, &model.0)) {
        return Ok(());
    }
    Err(Error::argument("the optimizer or the session is of another model"))
}
