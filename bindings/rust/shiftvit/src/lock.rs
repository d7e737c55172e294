//! Locks around the handles that several others use: a model that sessions read and an optimiser
//! changes, and data sets whose samples come from a callback.
//!
//! A call waits for its locks, except for those that its own thread holds: it then runs in a callback of
//! the call that took them. To read a model that this call reads needs no lock; all else fails with
//! `Status::State`. Data sets are locked before models, so that a callback of samples may read a model.

use crate::error::{Error, Result, Status};
use std::cell::RefCell;
use std::sync::{Arc, LockResult, Mutex, MutexGuard, PoisonError, RwLock};
use std::sync::{RwLockReadGuard, RwLockWriteGuard};

/// A lock that a running call of this thread holds.
#[derive(Clone, Copy)]
struct Held {
    address: usize,
    shared: bool,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a lock until it is dropped, on the thread that took it.
pub(crate) struct Guard<G> {
    /// `None`: a running call of this thread reads the model already.
    taken: Option<G>,
    address: usize,
}

impl<G> Guard<G> {
    /// Takes the lock at an address, whose data cannot be left half changed: it has none.
    fn take(
        what: &str,
        address: usize,
        shared: bool,
        lock: impl FnOnce() -> LockResult<G>,
    ) -> Result<Self> {
        // A destructor of the thread's locals may call after these are gone.
        let own = HELD
            .try_with(|held| held.borrow().iter().copied().find(|h| h.address == address))
            .map_err(|_| {
                let message = format!("the {} is used by a destructor of a thread that ends", what);
                Error::new(Status::State, message)
            })?;
        match own {
            None => {}
            Some(own) if own.shared && shared => return Ok(Guard { taken: None, address }),
            Some(_) => {
                let message = format!("the {} is in use by the call that runs this closure", what);
                return Err(Error::new(Status::State, message));
            }
        }
        let taken = Some(lock().unwrap_or_else(PoisonError::into_inner));
        HELD.with(|held| held.borrow_mut().push(Held { address, shared }));
        Ok(Guard { taken, address })
    }
}

impl<G> Drop for Guard<G> {
    fn drop(&mut self) {
        if self.taken.is_some() {
            let _ = HELD.try_with(|held| held.borrow_mut().retain(|h| h.address != self.address));
        }
    }
}

/// Many readers or one writer of a model.
#[derive(Default)]
pub(crate) struct ModelLock(RwLock<()>);

pub(crate) type ReadGuard<'a> = Guard<RwLockReadGuard<'a, ()>>;
pub(crate) type WriteGuard<'a> = Guard<RwLockWriteGuard<'a, ()>>;

impl ModelLock {
    fn address(&self) -> usize {
        self as *const Self as usize
    }

    pub(crate) fn read(&self) -> Result<ReadGuard<'_>> {
        Guard::take("model", self.address(), true, || self.0.read())
    }

    pub(crate) fn write(&self) -> Result<WriteGuard<'_>> {
        Guard::take("model", self.address(), false, || self.0.write())
    }
}

/// The lock of a data set that one reader may use at a time; `None`: any number of readers.
pub(crate) type ReadLock = Option<Arc<Mutex<()>>>;

pub(crate) type DatasetGuard<'a> = Guard<MutexGuard<'a, ()>>;

/// Locks data sets for reading, always in the same order.
pub(crate) fn readers<'a>(
    locks: impl IntoIterator<Item = &'a ReadLock>,
) -> Result<Vec<DatasetGuard<'a>>> {
    let mut locks: Vec<&Arc<Mutex<()>>> = locks.into_iter().flatten().collect();
    locks.sort_by_key(|lock| Arc::as_ptr(lock) as usize);
    locks.dedup_by_key(|lock| Arc::as_ptr(lock) as usize);
    let take = |lock: &&'a Arc<Mutex<()>>| {
        Guard::take("data set", Arc::as_ptr(lock) as usize, false, || lock.lock())
    };
    locks.iter().map(take).collect()
}
