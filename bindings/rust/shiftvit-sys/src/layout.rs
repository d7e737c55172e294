//! Sizes of the structs, which the compiler compares with those of the C compiler
//! (`tests/abi/test_layout.c`).

// Written by bindings/rust/generate from the C headers.

use crate::*;
use std::mem::size_of;

const _: () = assert!(size_of::<svit_context_config>() == 96, "svit_context_config has another size than in C");
const _: () = assert!(size_of::<svit_load_report>() == 48, "svit_load_report has another size than in C");
const _: () = assert!(size_of::<svit_open_options>() == 40, "svit_open_options has another size than in C");
const _: () = assert!(size_of::<svit_loader_config>() == 48, "svit_loader_config has another size than in C");
const _: () = assert!(size_of::<svit_onnx_options>() == 12, "svit_onnx_options has another size than in C");
const _: () = assert!(size_of::<svit_matmul>() == 28, "svit_matmul has another size than in C");
const _: () = assert!(size_of::<svit_model_config>() == 400, "svit_model_config has another size than in C");
const _: () = assert!(size_of::<svit_optimizer_config>() == 2384, "svit_optimizer_config has another size than in C");
const _: () = assert!(size_of::<svit_parameter_group>() == 120, "svit_parameter_group has another size than in C");
const _: () = assert!(size_of::<svit_schedule_point>() == 16, "svit_schedule_point has another size than in C");
const _: () = assert!(size_of::<svit_augment_step>() == 112, "svit_augment_step has another size than in C");
const _: () = assert!(size_of::<svit_pipeline_config>() == 1936, "svit_pipeline_config has another size than in C");
const _: () = assert!(size_of::<svit_predictor_config>() == 32, "svit_predictor_config has another size than in C");
const _: () = assert!(size_of::<svit_session_config>() == 88, "svit_session_config has another size than in C");
const _: () = assert!(size_of::<svit_features_config>() == 32, "svit_features_config has another size than in C");
const _: () = assert!(size_of::<svit_head_config>() == 48, "svit_head_config has another size than in C");
const _: () = assert!(size_of::<svit_class_config>() == 32, "svit_class_config has another size than in C");
const _: () = assert!(size_of::<svit_error>() == 256, "svit_error has another size than in C");
const _: () = assert!(size_of::<svit_loss_call>() == 56, "svit_loss_call has another size than in C");
const _: () = assert!(size_of::<svit_partial_sum>() == 16, "svit_partial_sum has another size than in C");
const _: () = assert!(size_of::<svit_bucket>() == 48, "svit_bucket has another size than in C");
const _: () = assert!(size_of::<svit_reducer>() == 48, "svit_reducer has another size than in C");
const _: () = assert!(size_of::<svit_reduction>() == 24, "svit_reduction has another size than in C");
const _: () = assert!(size_of::<svit_custom_dataset>() == 104, "svit_custom_dataset has another size than in C");
const _: () = assert!(size_of::<svit_trainer_config>() == 1176, "svit_trainer_config has another size than in C");
const _: () = assert!(size_of::<svit_trainer_event>() == 144, "svit_trainer_event has another size than in C");
