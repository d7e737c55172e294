//! The parameters of a model: names, shapes, values, and which of them are trained.

use crate::call::call;
use crate::error::Result;
use crate::model::{Model, ModelInner};
use crate::text;
use shiftvit_sys as sys;

impl Model {
    /// The number of elements of all parameters.
    pub fn parameter_elements(&self) -> u64 {
        // SAFETY: the handle is alive, and its parameters are others only by `&mut self`.
        unsafe { sys::svit_model_parameter_elements(self.raw()) }
    }

    /// The names of the parameters, in the order of the file.
    pub fn parameter_names(&self) -> Vec<String> {
        // SAFETY: as above.
        unsafe { text::all(|index| sys::svit_model_parameter_name(self.raw(), index)) }
    }

    /// The shape of a parameter.
    pub fn parameter_shape(&self, name: &str) -> Result<Vec<usize>> {
        self.0.parameter_shape(name)
    }

    /// A copy of a parameter, row-major.
    pub fn parameter(&self, name: &str) -> Result<Vec<f32>> {
        let mut values = text::zeros(name, &self.parameter_shape(name)?)?;
        let name = text::text("the name of a parameter", name)?;
        let _reader = self.0.lock.read()?;
        // SAFETY: the handle is alive, and the array has the length that is passed.
        call(|err| unsafe {
            let (raw, elements) = (self.raw(), values.len());
            sys::svit_model_get_parameter(raw, name.as_ptr(), values.as_mut_ptr(), elements, err)
        })?;
        Ok(values)
    }

    /// Sets a parameter from as many values as it has.
    pub fn set_parameter(&mut self, name: &str, values: &[f32]) -> Result<()> {
        let name = text::text("the name of a parameter", name)?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive, and the array has the length that is passed.
        call(|err| unsafe {
            let (raw, elements) = (self.raw(), values.len());
            sys::svit_model_set_parameter(raw, name.as_ptr(), values.as_ptr(), elements, err)
        })
    }

    /// Makes the parameters whose names match a pattern trainable or freezes them. In a pattern `*`
    /// stands for any characters and `?` for one. Sessions that train and optimisers are created
    /// afterwards.
    pub fn set_trainable(&mut self, pattern: &str, trainable: bool) -> Result<()> {
        let pattern = text::text("pattern", pattern)?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe {
            let trainable = trainable.into();
            sys::svit_model_set_trainable(self.raw(), pattern.as_ptr(), trainable, err)
        })
    }

    /// True if a parameter is trained.
    pub fn is_trainable(&self, name: &str) -> Result<bool> {
        let name = text::text("the name of a parameter", name)?;
        let mut trainable = 0;
        let _reader = self.0.lock.read()?;
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe {
            sys::svit_model_get_trainable(self.raw(), name.as_ptr(), &mut trainable, err)
        })?;
        Ok(trainable != 0)
    }
}

impl ModelInner {
    /// The shape of a parameter.
    pub(crate) fn parameter_shape(&self, name: &str) -> Result<Vec<usize>> {
        let name = text::text("the name of a parameter", name)?;
        let (mut shape, mut rank) = ([0i64; 8], 0);
        // SAFETY: the handle is alive, and a shape has 8 elements.
        call(|err| unsafe {
            let shape = shape.as_mut_ptr();
            sys::svit_model_parameter_shape(self.raw(), name.as_ptr(), shape, &mut rank, err)
        })?;
        Ok(shape.iter().take(rank).map(|&side| side as usize).collect())
    }
}
