//! Locks around the handles that several others use: a model that sessions read and an optimiser
//! changes, and data sets whose samples come from a callback.
//!
//! A call waits for its locks, except for those that its own thread holds: it then runs in a callback of
//! the call that took them. To read a model that this call reads needs no lock; all else fails with
//! `Status::State`, before any waiting.
//!
//! A call that needs several locks waits for one only while it holds none of the others: the call that has
//! it may run a callback which waits for one of these. The locks of the call that runs a callback stay, so
//! callbacks that wait for each other never return.

use crate::error::{Error, Result, Status};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::{TryLockError, TryLockResult};

/// A lock that a running call of this thread holds.
#[derive(Clone, Copy)]
struct Held {
    address: usize,
    shared: bool,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// What a call needs a lock for. The locks have no data, so no panic leaves it half changed.
#[derive(Clone, Copy)]
enum Lock<'a> {
    Samples(&'a Mutex<()>),
    ReadModel(&'a RwLock<()>),
    ChangeModel(&'a RwLock<()>),
}

#[allow(dead_code)] // The guards are only dropped.
enum Taken<'a> {
    Samples(MutexGuard<'a, ()>),
    ReadModel(RwLockReadGuard<'a, ()>),
    ChangeModel(RwLockWriteGuard<'a, ()>),
}

impl<'a> Lock<'a> {
    fn address(self) -> usize {
        match self {
            Lock::Samples(lock) => lock as *const Mutex<()> as usize,
            Lock::ReadModel(lock) | Lock::ChangeModel(lock) => lock as *const RwLock<()> as usize,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Lock::Samples(_) => "data set",
            Lock::ReadModel(_) | Lock::ChangeModel(_) => "model",
        }
    }

    fn is_shared(self) -> bool {
        matches!(self, Lock::ReadModel(_))
    }

    /// True if a running call of this thread has taken the lock for reading, as this one would; an error if
    /// it has taken it and they exclude each other.
    fn is_held(self) -> Result<bool> {
        let address = self.address();
        let find = |held: &RefCell<Vec<Held>>| {
            held.borrow().iter().copied().find(|held| held.address == address)
        };
        // A destructor of the thread's locals may call after these are gone.
        let held = HELD.try_with(find).map_err(|_| {
            let name = self.name();
            let message = format!("the {} is used by a destructor of a thread that ends", name);
            Error::new(Status::State, message)
        })?;
        match held {
            None => Ok(false),
            Some(held) if held.shared && self.is_shared() => Ok(true),
            Some(_) => {
                let name = self.name();
                let message = format!("the {} is in use by the call that runs this closure", name);
                Err(Error::new(Status::State, message))
            }
        }
    }

    fn wait(self) -> Taken<'a> {
        match self {
            Lock::Samples(lock) => {
                Taken::Samples(lock.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Lock::ReadModel(lock) => {
                Taken::ReadModel(lock.read().unwrap_or_else(PoisonError::into_inner))
            }
            Lock::ChangeModel(lock) => {
                Taken::ChangeModel(lock.write().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// `None` if another thread has the lock.
    fn attempt(self) -> Option<Taken<'a>> {
        match self {
            Lock::Samples(lock) => unless_busy(lock.try_lock()).map(Taken::Samples),
            Lock::ReadModel(lock) => unless_busy(lock.try_read()).map(Taken::ReadModel),
            Lock::ChangeModel(lock) => unless_busy(lock.try_write()).map(Taken::ChangeModel),
        }
    }
}

fn unless_busy<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Keeps a lock until it is dropped, on the thread that took it.
pub(crate) struct Guard<'a> {
    /// `None`: a running call of this thread reads the model already.
    taken: Option<Taken<'a>>,
    address: usize,
}

impl<'a> Guard<'a> {
    fn new(lock: Lock<'a>, taken: Taken<'a>) -> Self {
        let (address, shared) = (lock.address(), lock.is_shared());
        HELD.with(|held| held.borrow_mut().push(Held { address, shared }));
        Guard { taken: Some(taken), address }
    }

    fn of(lock: Lock<'a>) -> Result<Self> {
        if lock.is_held()? {
            return Ok(Guard { taken: None, address: lock.address() });
        }
        Ok(Guard::new(lock, lock.wait()))
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.taken.is_some() {
            let _ = HELD.try_with(|held| held.borrow_mut().retain(|h| h.address != self.address));
        }
    }
}

/// The locks of a call that needs several.
pub(crate) type Guards<'a> = Vec<Guard<'a>>;

/// Takes locks, of which it waits for one at a time, while it holds none.
fn together<'a>(locks: impl Iterator<Item = Lock<'a>>) -> Result<Guards<'a>> {
    let mut needed = Vec::new();
    for lock in locks {
        if !lock.is_held()? {
            needed.push(lock);
        }
    }
    needed.sort_by_key(|lock| lock.address());
    needed.dedup_by_key(|lock| lock.address());
    if needed.is_empty() {
        return Ok(Guards::new());
    }
    let mut first = 0;
    loop {
        match all_from(&needed, first) {
            Ok(guards) => return Ok(guards),
            Err(busy) => first = busy,
        }
    }
}

/// Waits for one of the locks and takes the others if they are free; else the index of one that is not.
fn all_from<'a>(locks: &[Lock<'a>], first: usize) -> Result<Guards<'a>, usize> {
    let mut guards = vec![Guard::new(locks[first], locks[first].wait())];
    for (index, &lock) in locks.iter().enumerate().filter(|&(index, _)| index != first) {
        guards.push(Guard::new(lock, lock.attempt().ok_or(index)?));
    }
    Ok(guards)
}

/// The locks of the functions that give a data set's samples, each of which one reader may use at a time;
/// empty: any number of readers.
pub(crate) type ReadLocks = Vec<Arc<Mutex<()>>>;

fn samples<'a>(sets: impl IntoIterator<Item = &'a ReadLocks>) -> impl Iterator<Item = Lock<'a>> {
    sets.into_iter().flatten().map(|lock| Lock::Samples(lock))
}

/// Locks a data set for reading.
pub(crate) fn reader(set: &ReadLocks) -> Result<Guards<'_>> {
    together(samples([set]))
}

/// Many readers or one writer of a model.
#[derive(Default)]
pub(crate) struct ModelLock(RwLock<()>);

impl ModelLock {
    pub(crate) fn read(&self) -> Result<Guard<'_>> {
        Guard::of(Lock::ReadModel(&self.0))
    }

    pub(crate) fn write(&self) -> Result<Guard<'_>> {
        Guard::of(Lock::ChangeModel(&self.0))
    }

    /// Locks the model and data sets for reading.
    pub(crate) fn read_with<'a>(
        &'a self,
        sets: impl IntoIterator<Item = &'a ReadLocks>,
    ) -> Result<Guards<'a>> {
        together(samples(sets).chain([Lock::ReadModel(&self.0)]))
    }

    /// Locks the model for a change, and data sets for reading.
    pub(crate) fn write_with<'a>(
        &'a self,
        sets: impl IntoIterator<Item = &'a ReadLocks>,
    ) -> Result<Guards<'a>> {
        together(samples(sets).chain([Lock::ChangeModel(&self.0)]))
    }
}
