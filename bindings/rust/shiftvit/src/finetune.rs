//! Changes of a model for new classes: heads, more classes, adapters, heads fitted to features.

use crate::call::call;
use crate::config::{ClassConfig, HeadConfig};
use crate::error::Result;
use crate::features::Features;
use crate::model::Model;
use crate::text;
use shiftvit_sys as sys;
use std::ptr;

impl Model {
    /// Gives the model a new classifier with random initial weights. Class names are dropped.
    pub fn replace_head(&mut self, num_classes: usize, seed: u64) -> Result<()> {
        let num_classes = text::count("num_classes", num_classes)?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_model_replace_head(self.raw(), num_classes, seed, err) })
    }

    /// Adds classes behind those of the classifier, whose weights stay. Class names are dropped.
    pub fn add_classes(&mut self, count: usize, seed: u64) -> Result<()> {
        let count = text::count("the count", count)?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_model_add_classes(self.raw(), count, seed, err) })
    }

    /// Ends the model after the block `layer`, such as `layers.2.blocks.0` or `blocks.7`, and drops the head and
    /// the class names. The logits are the pooled features until [`Model::replace_head`].
    pub fn truncate(&mut self, layer: &str) -> Result<()> {
        let layer = text::text("the layer", layer)?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive, and the text ends in a NUL byte.
        call(|err| unsafe { sys::svit_model_truncate(self.raw(), layer.as_ptr(), err) })
    }

    /// Adds adapters of LoRA to a ViT and freezes all else but the head.
    pub fn add_lora(&mut self, rank: usize, alpha: f64, seed: u64) -> Result<()> {
        let rank = text::count("the rank", rank)?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_model_add_lora(self.raw(), rank, alpha, seed, err) })
    }

    /// Adds the adapters to the weights and removes them.
    pub fn merge_lora(&mut self) -> Result<()> {
        let _alone = self.0.lock.write()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_model_merge_lora(self.raw(), err) })
    }

    /// Trains the classifier on features, which were computed once.
    pub fn fit_head(&mut self, features: &Features, config: &HeadConfig) -> Result<()> {
        let prepared = config.to_raw()?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handles are alive, and the struct is complete.
        call(|err| unsafe {
            sys::svit_model_fit_head(self.raw(), features.raw(), &prepared.raw, err)
        })
    }

    /// Adds a class and fits its row to features of it, and of the old classes if there are any. The rows of
    /// the old classes keep their bits.
    pub fn fit_class(
        &mut self,
        name: Option<&str>,
        features: &Features,
        old: Option<&Features>,
        config: &ClassConfig,
    ) -> Result<()> {
        let name = name.map(|name| text::text("the class name", name)).transpose()?;
        let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let old = old.map_or(ptr::null_mut(), Features::raw);
        let prepared = config.to_raw()?;
        let _alone = self.0.lock.write()?;
        // SAFETY: the handles are alive, the struct is complete, and the text ends with a NUL.
        call(|err| unsafe {
            sys::svit_model_fit_class(self.raw(), name, features.raw(), old, &prepared.raw, err)
        })
    }
}
