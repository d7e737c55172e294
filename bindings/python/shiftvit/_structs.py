"""The structs of the C interface that have no JSON form, or pointers that Python sets. ``tests/test_interface.py``
compares them with the headers."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_char_p, c_double, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p


class ErrorRecord(ctypes.Structure):
    """``svit_error``"""

    _fields_ = [("struct_size", c_uint32), ("code", c_int32), ("message", c_char * 248)]


class ContextConfig(ctypes.Structure):
    """``svit_context_config``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_uint32),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("allocator_user", c_void_p),
        ("log", c_void_p),
        ("log_user", c_void_p),
        ("gemm", c_char_p),
        ("parallel_for", c_void_p),
        ("parallel_for_user", c_void_p),
        ("pin", c_int32),
        ("max_image_pixels", c_uint32),
        ("stop", c_void_p),
        ("stop_user", c_void_p),
    ]


class SessionConfig(ctypes.Structure):
    """``svit_session_config``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("max_batch", c_uint32),
        ("mode", c_int32),
        ("compute", c_int32),
        ("seed", c_uint64),
        ("input_height", c_uint32),
        ("input_width", c_uint32),
        ("memory", c_int32),
        ("features", c_int32),
        ("context", c_void_p),
        ("input_layer", c_char * 32),
        ("input_gradient", c_int32),
        ("check_finite", c_int32),
    ]


class TrainerConfig(ctypes.Structure):
    """``svit_trainer_config``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("epochs", c_uint32),
        ("batch", c_uint32),
        ("accumulate", c_uint32),
        ("patience", c_uint32),
        ("keep", c_int32),
        ("seed", c_uint64),
        ("label_smoothing", c_double),
        ("warmup_fraction", c_double),
        ("folder", c_char_p),
        ("checkpoint_seconds", c_double),
        ("compute", c_int32),
        ("prefetch", c_uint32),
        ("memory", c_int32),
        ("existing", c_int32),
        ("description", c_char_p),
        ("loss", c_int32),
        ("sampling", c_int32),
        ("tta", c_int32),
        ("class_weight_count", c_uint32),
        ("class_weights", c_double * 128),
        ("tensorboard", c_int32),
        ("schedule_anew", c_int32),
        ("leaves", c_uint32),
        ("shuffle_window", c_uint32),
        ("reducer", c_void_p),
        ("check_finite", c_int32),
        ("early_height", c_uint32),
        ("early_width", c_uint32),
        ("class_weighting", c_int32),
        ("early_fraction", c_double),
    ]


class TrainerEvent(ctypes.Structure):
    """``svit_trainer_event``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("epoch", c_uint64),
        ("epochs", c_uint64),
        ("step", c_uint64),
        ("steps", c_uint64),
        ("train_loss", c_double),
        ("train_top1", c_double),
        ("train_top5", c_double),
        ("val_loss", c_double),
        ("val_top1", c_double),
        ("val_top5", c_double),
        ("learning_rate", c_double),
        ("images_per_second", c_double),
        ("seconds", c_double),
        ("eta_seconds", c_double),
        ("best_epoch", c_uint64),
        ("stopped_early", c_int32),
        ("reserved", c_uint32),
        ("pflop", c_double),
    ]


class LossCall(ctypes.Structure):
    """``svit_loss_call``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("loss", c_float),
        ("n", c_size_t),
        ("classes", c_size_t),
        ("logits", c_void_p),
        ("labels", c_void_p),
        ("targets", c_void_p),
        ("dlogits", c_void_p),
    ]


class PredictorConfig(ctypes.Structure):
    """``svit_predictor_config``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("max_batch", c_uint32),
        ("compute", c_int32),
        ("output", c_int32),
        ("context", c_void_p),
        ("tta", c_int32),
        ("reserved", c_uint32),
    ]


class FeaturesConfig(ctypes.Structure):
    """``svit_features_config``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("batch", c_uint32),
        ("compute", c_int32),
        ("tokens", c_int32),
        ("layer", c_char_p),
        ("context", c_void_p),
    ]


class OnnxOptions(ctypes.Structure):
    """``svit_onnx_options``"""

    _fields_ = [("struct_size", c_uint32), ("output", c_int32), ("preprocessing", c_int32)]


class OpenOptionsRecord(ctypes.Structure):
    """``svit_open_options``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char_p),
        ("fields", c_char_p),
        ("prefix", c_char_p),
        ("base", c_char_p),
    ]


class LoadReportRecord(ctypes.Structure):
    """``svit_load_report``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("loaded", c_uint32),
        ("missing", c_uint32),
        ("mismatched", c_uint32),
        ("extra", c_uint32),
        ("buffers", c_uint32),
        ("text", c_void_p),
        ("capacity", c_uint64),
        ("needed", c_uint64),
    ]


class CustomDatasetRecord(ctypes.Structure):
    """``svit_custom_dataset``"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("is_f32", c_int32),
        ("count", c_size_t),
        ("height", c_size_t),
        ("width", c_size_t),
        ("channels", c_size_t),
        ("classes", c_size_t),
        ("class_names", c_void_p),
        ("sample", c_void_p),
        ("label", c_void_p),
        ("targets", c_void_p),
        ("release", c_void_p),
        ("user", c_void_p),
        ("any_thread", c_int32),
        ("reserved", c_uint32),
    ]


#: The C name of each struct, for the test.
C_NAMES: dict[str, type[ctypes.Structure]] = {
    "svit_error": ErrorRecord,
    "svit_context_config": ContextConfig,
    "svit_session_config": SessionConfig,
    "svit_trainer_config": TrainerConfig,
    "svit_trainer_event": TrainerEvent,
    "svit_loss_call": LossCall,
    "svit_predictor_config": PredictorConfig,
    "svit_features_config": FeaturesConfig,
    "svit_onnx_options": OnnxOptions,
    "svit_load_report": LoadReportRecord,
    "svit_open_options": OpenOptionsRecord,
    "svit_custom_dataset": CustomDatasetRecord,
}
