//! Locks around the handles that several others use: a model that sessions read and an optimiser
//! changes, and data sets whose samples come from a callback.
//!
//! A call waits for its locks. Within a callback it does not wait, because the call that runs the callback
//! may hold them: it fails with `Status::State`.

use crate::call::in_callback;
use crate::error::{Error, Result, Status};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::sync::{RwLockReadGuard, RwLockWriteGuard};

/// Takes a lock, whose data cannot be left half changed: it has none.
fn take<G>(
    what: &str,
    wait: impl FnOnce() -> Result<G, PoisonError<G>>,
    attempt: impl FnOnce() -> Result<G, TryLockError<G>>,
) -> Result<G> {
    if !in_callback() {
        return Ok(wait().unwrap_or_else(PoisonError::into_inner));
    }
    match attempt() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Error::new(
            Status::State,
            format!("the {} is in use by another call, for which a callback does not wait", what),
        )),
    }
}

/// Many readers or one writer of a model.
#[derive(Default)]
pub(crate) struct ModelLock(RwLock<()>);

impl ModelLock {
    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, ()>> {
        take("model", || self.0.read(), || self.0.try_read())
    }

    pub(crate) fn write(&self) -> Result<RwLockWriteGuard<'_, ()>> {
        take("model", || self.0.write(), || self.0.try_write())
    }
}

/// The lock of a data set that one reader may use at a time; `None`: any number of readers.
pub(crate) type ReadLock = Option<Arc<Mutex<()>>>;

/// Locks data sets for reading, always in the same order.
pub(crate) fn readers<'a>(
    locks: impl IntoIterator<Item = &'a ReadLock>,
) -> Result<Vec<MutexGuard<'a, ()>>> {
    let mut locks: Vec<&Arc<Mutex<()>>> = locks.into_iter().flatten().collect();
    locks.sort_by_key(|lock| Arc::as_ptr(lock) as usize);
    locks.dedup_by_key(|lock| Arc::as_ptr(lock) as usize);
    locks.iter().map(|lock| take("data set", || lock.lock(), || lock.try_lock())).collect()
}
