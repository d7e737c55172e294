//! Parts of configurations: steps of augmentation, parameter groups, points of a schedule.

use crate::enums::{AutoAugmentPolicy, CropFill, FlipRule, GroupRule, ResizeFilter};
use crate::error::{Error, Result, Status};
use crate::field::Field;
use shiftvit_sys as sys;

/// A step of augmentation, which training alone takes. `svit_augment_step` has the ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are those of C.
pub enum Augment {
    /// Pads all sides and takes a random crop of the image's own size.
    Crop { padding: u32, fill: CropFill },
    /// A left-right mirror.
    Flip { probability: f64, rule: FlipRule },
    /// Changes brightness, contrast, saturation and hue by random amounts.
    ColorJitter { brightness: f64, contrast: f64, saturation: f64, hue: f64 },
    /// RandAugment: `count` random operations of one magnitude, 0..30.
    RandAugment { count: u32, magnitude: u32 },
    /// TrivialAugment: one operation at a random magnitude.
    TrivialAugment,
    /// AutoAugment: a random pair of operations of the policy.
    AutoAugment { policy: AutoAugmentPolicy },
    /// A box of a random area and ratio of its sides, resized to the size that the images of the pipeline have.
    ResizedCrop { scale: [f64; 2], ratio: [f64; 2], filter: ResizeFilter },
    /// Erases a random box.
    Erasing { probability: f64, scale: [f64; 2], ratio: [f64; 2] },
    /// Sets a random square to zero.
    Cutout { size: u32 },
    /// Mixup: mixes the images of a batch in pairs. From `off_epoch` on, unless it is 0, it does nothing.
    Mixup { alpha: f64, probability: f64, off_epoch: u32 },
    /// CutMix: takes a box of each image from another one. `off_epoch` is as in `Mixup`.
    CutMix { alpha: f64, probability: f64, off_epoch: u32 },
    /// An epoch reads its first samples `count` times each, in place of the others.
    Repeat { count: u32 },
}

fn empty_step(kind: i32) -> sys::svit_augment_step {
    sys::svit_augment_step {
        kind,
        mode: 0,
        padding: 0,
        count: 0,
        magnitude: 0,
        size: 0,
        off_epoch: 0,
        reserved: 0,
        probability: 0.0,
        scale: [0.0; 2],
        ratio: [0.0; 2],
        brightness: 0.0,
        contrast: 0.0,
        saturation: 0.0,
        alpha: 0.0,
        hue: 0.0,
    }
}

impl Field<sys::svit_augment_step> for Augment {
    fn to_raw(&self) -> Result<sys::svit_augment_step> {
        Ok(match *self {
            Augment::Crop { padding, fill } => sys::svit_augment_step {
                padding,
                mode: fill.raw(),
                ..empty_step(sys::SVIT_AUGMENT_CROP)
            },
            Augment::Flip { probability, rule } => sys::svit_augment_step {
                probability,
                mode: rule.raw(),
                ..empty_step(sys::SVIT_AUGMENT_FLIP)
            },
            Augment::ColorJitter { brightness, contrast, saturation, hue } => {
                sys::svit_augment_step {
                    brightness,
                    contrast,
                    saturation,
                    hue,
                    ..empty_step(sys::SVIT_AUGMENT_COLOR_JITTER)
                }
            }
            Augment::RandAugment { count, magnitude } => sys::svit_augment_step {
                count,
                magnitude,
                ..empty_step(sys::SVIT_AUGMENT_RANDAUGMENT)
            },
            Augment::TrivialAugment => empty_step(sys::SVIT_AUGMENT_TRIVIALAUGMENT),
            Augment::AutoAugment { policy } => sys::svit_augment_step {
                mode: policy.raw(),
                ..empty_step(sys::SVIT_AUGMENT_AUTOAUGMENT)
            },
            Augment::ResizedCrop { scale, ratio, filter } => sys::svit_augment_step {
                scale,
                ratio,
                mode: filter.raw(),
                ..empty_step(sys::SVIT_AUGMENT_RESIZED_CROP)
            },
            Augment::Erasing { probability, scale, ratio } => sys::svit_augment_step {
                probability,
                scale,
                ratio,
                ..empty_step(sys::SVIT_AUGMENT_ERASING)
            },
            Augment::Cutout { size } => {
                sys::svit_augment_step { size, ..empty_step(sys::SVIT_AUGMENT_CUTOUT) }
            }
            Augment::Mixup { alpha, probability, off_epoch } => sys::svit_augment_step {
                alpha,
                probability,
                off_epoch,
                ..empty_step(sys::SVIT_AUGMENT_MIXUP)
            },
            Augment::CutMix { alpha, probability, off_epoch } => sys::svit_augment_step {
                alpha,
                probability,
                off_epoch,
                ..empty_step(sys::SVIT_AUGMENT_CUTMIX)
            },
            Augment::Repeat { count } => {
                sys::svit_augment_step { count, ..empty_step(sys::SVIT_AUGMENT_REPEAT) }
            }
        })
    }

    fn from_raw(raw: sys::svit_augment_step) -> Result<Self> {
        let sys::svit_augment_step { probability, scale, ratio, alpha, off_epoch, .. } = raw;
        Ok(match raw.kind {
            sys::SVIT_AUGMENT_CROP => {
                Augment::Crop { padding: raw.padding, fill: Field::from_raw(raw.mode)? }
            }
            sys::SVIT_AUGMENT_FLIP => {
                Augment::Flip { probability, rule: Field::from_raw(raw.mode)? }
            }
            sys::SVIT_AUGMENT_COLOR_JITTER => Augment::ColorJitter {
                brightness: raw.brightness,
                contrast: raw.contrast,
                saturation: raw.saturation,
                hue: raw.hue,
            },
            sys::SVIT_AUGMENT_RANDAUGMENT => {
                Augment::RandAugment { count: raw.count, magnitude: raw.magnitude }
            }
            sys::SVIT_AUGMENT_TRIVIALAUGMENT => Augment::TrivialAugment,
            sys::SVIT_AUGMENT_AUTOAUGMENT => {
                Augment::AutoAugment { policy: Field::from_raw(raw.mode)? }
            }
            sys::SVIT_AUGMENT_RESIZED_CROP => {
                Augment::ResizedCrop { scale, ratio, filter: Field::from_raw(raw.mode)? }
            }
            sys::SVIT_AUGMENT_ERASING => Augment::Erasing { probability, scale, ratio },
            sys::SVIT_AUGMENT_CUTOUT => Augment::Cutout { size: raw.size },
            sys::SVIT_AUGMENT_MIXUP => Augment::Mixup { alpha, probability, off_epoch },
            sys::SVIT_AUGMENT_CUTMIX => Augment::CutMix { alpha, probability, off_epoch },
            sys::SVIT_AUGMENT_REPEAT => Augment::Repeat { count: raw.count },
            kind => {
                let message = format!("Augment has no variant for {}", kind);
                return Err(Error::new(Status::Version, message));
            }
        })
    }
}

/// Settings of the parameters whose names match a pattern, in which `*` stands for any characters and
/// `?` for one. Of several groups that match, the last one counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroup {
    /// The whole name; at most 95 bytes.
    pub pattern: String,
    /// At least 0: factor of the learning rate.
    pub lr_scale: f64,
    /// `None`: that of the optimiser, with its `decay_exclude`.
    pub weight_decay: Option<f64>,
    /// False: the parameters keep their bits.
    pub trainable: bool,
    /// The update rule.
    pub rule: GroupRule,
}

impl ParameterGroup {
    /// A group that changes nothing yet.
    pub fn new(pattern: impl Into<String>) -> Self {
        ParameterGroup {
            pattern: pattern.into(),
            lr_scale: 1.0,
            weight_decay: None,
            trainable: true,
            rule: GroupRule::Auto,
        }
    }
}

impl Field<sys::svit_parameter_group> for ParameterGroup {
    fn to_raw(&self) -> Result<sys::svit_parameter_group> {
        Ok(sys::svit_parameter_group {
            pattern: self.pattern.to_raw()?,
            lr_scale: self.lr_scale,
            weight_decay: self.weight_decay.unwrap_or(-1.0),
            trainable: self.trainable.into(),
            rule: self.rule.raw(),
        })
    }

    fn from_raw(raw: sys::svit_parameter_group) -> Result<Self> {
        Ok(ParameterGroup {
            pattern: Field::from_raw(raw.pattern)?,
            lr_scale: raw.lr_scale,
            weight_decay: Some(raw.weight_decay).filter(|&decay| decay >= 0.0),
            trainable: raw.trainable != 0,
            rule: Field::from_raw(raw.rule)?,
        })
    }
}

/// A point of `Schedule::Piecewise`: the rate is `factor * learning_rate` at the step
/// `fraction * total_steps`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchedulePoint {
    /// In \[0, 1\], above that of the point before.
    pub fraction: f64,
    /// At least 0.
    pub factor: f64,
}

impl Field<sys::svit_schedule_point> for SchedulePoint {
    fn to_raw(&self) -> Result<sys::svit_schedule_point> {
        Ok(sys::svit_schedule_point { fraction: self.fraction, factor: self.factor })
    }

    fn from_raw(raw: sys::svit_schedule_point) -> Result<Self> {
        Ok(SchedulePoint { fraction: raw.fraction, factor: raw.factor })
    }
}

/// Parameters without weight decay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecayExclude {
    /// Biases, temperatures and lambdas of attention, factors of LayerScale.
    pub bias: bool,
    /// Scales and biases of norms.
    pub norm: bool,
    /// Position embeddings; class, distillation, register and mask tokens; the query of attention pooling; learnt
    /// frequencies of rotary positions.
    pub position: bool,
}

impl Field<u32> for DecayExclude {
    fn to_raw(&self) -> Result<u32> {
        let bits = [
            (self.bias, sys::SVIT_EXCLUDE_BIAS),
            (self.norm, sys::SVIT_EXCLUDE_NORM),
            (self.position, sys::SVIT_EXCLUDE_POSITION),
        ];
        Ok(bits.iter().filter(|(set, _)| *set).map(|(_, bit)| *bit as u32).sum())
    }

    fn from_raw(raw: u32) -> Result<Self> {
        let has = |bit: i32| raw & bit as u32 != 0;
        Ok(DecayExclude {
            bias: has(sys::SVIT_EXCLUDE_BIAS),
            norm: has(sys::SVIT_EXCLUDE_NORM),
            position: has(sys::SVIT_EXCLUDE_POSITION),
        })
    }
}
