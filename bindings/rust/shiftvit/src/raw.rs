//! The handles of C behind the objects, for raw calls.

use crate::call::Handle;
use shiftvit_sys as sys;

macro_rules! as_ptr {
    ($($type:ident, $raw:ident, |$object:ident| $pointer:expr;)*) => {$(
        impl crate::$type {
            /// The handle of C, for calls of [`sys`](crate::sys) that this crate does not wrap.
            ///
            /// It is valid while this object or a clone of it lives; the last of them frees it. Raw calls keep what the comments of the
            /// headers say of threads: they take no lock, so while one changes a model or an object of it, no
            /// other call uses that model, and one thread at a time uses what is not [`Sync`].
            pub fn as_ptr(&self) -> *mut sys::$raw {
                let $object = self;
                $pointer
            }
        }
    )*};
}

as_ptr! {
    Context, svit_context, |context| context.raw();
    Model, svit_model, |model| model.raw();
    Dataset, svit_dataset, |dataset| dataset.raw();
    Session, svit_session, |session| session.raw();
    Optimizer, svit_optimizer, |optimizer| optimizer.raw();
    Loader, svit_loader, |loader| loader.raw.get();
    Trainer, svit_trainer, |trainer| trainer.raw.get();
    Predictor, svit_predictor, |predictor| predictor.raw.get();
    Extractor, svit_extractor, |extractor| extractor.raw.get();
    Features, svit_features, |features| features.raw();
    Checkpoint, svit_checkpoint, |checkpoint| checkpoint.raw.get();
}

impl crate::Context {
    /// Takes over a context that was created by `svit_context_create`, for example one with an allocator, a log
    /// or a `parallel_for` of the caller's. The last clone of it frees the handle.
    ///
    /// # Safety
    /// `raw` is a context that nobody else frees, from then on. The functions of its configuration and what
    /// their first arguments point to stay valid until all objects that were created with it are dropped, may be
    /// called by any thread, and do not unwind.
    ///
    /// # Panics
    /// If `raw` is NULL.
    pub unsafe fn from_raw(raw: *mut sys::svit_context) -> Self {
        // SAFETY: the caller hands the context over.
        crate::Context::adopt(unsafe { Handle::from_raw(raw) })
    }
}
