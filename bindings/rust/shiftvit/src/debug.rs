//! What `{:?}` shows of the objects: their sizes.

use std::fmt;

macro_rules! debug {
    ($($type:ident { $($method:ident),* })*) => {$(
        impl fmt::Debug for crate::$type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($method), &self.$method()))*
                    .finish()
            }
        }
    )*};
}

debug! {
    Context { threads }
    Model { parameter_elements }
    Dataset { len, shape }
    Image { shape }
    Features { len, channels, classes }
    Loader { shape, batches }
    Session { input_size, classes, memory }
    Optimizer { steps }
    Extractor { channels }
    Predictor { channels, classes }
    Trainer {}
    Checkpoint {}
    FolderLock {}
}

impl fmt::Debug for crate::OptimizerSettings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OptimizerSettings").finish_non_exhaustive()
    }
}
