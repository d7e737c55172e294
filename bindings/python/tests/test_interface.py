"""The package declares what the headers declare, so the two cannot drift apart."""

import ctypes
import re
import typing
import unittest

import headers
import shiftvit
from shiftvit import _library, _signatures, _structs, data, errors, model

C_TYPES = {
    "uint32_t": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "svit_status": ctypes.c_int32,
}
INITS = {
    "svit_context_config": "svit_context_config_init",
    "svit_session_config": "svit_session_config_init",
    "svit_trainer_config": "svit_trainer_config_init",
    "svit_predictor_config": "svit_predictor_config_init",
    "svit_features_config": "svit_features_config_init",
    "svit_onnx_options": "svit_onnx_options_init",
    "svit_open_options": "svit_open_options_init",
}


def declared(field):
    """The ctypes type and the name of a field such as ``double class_weights[SVIT_MAX_CLASS_WEIGHTS]``."""
    field = field.replace("const ", "")
    if "*" in field or "_function " in field:
        name = re.findall(r"\w+", field)[-1]
        return (ctypes.c_char_p if field.startswith("char *") else ctypes.c_void_p), name
    kind, name, length = re.fullmatch(r"(\w+) (\w+)(?:\[(\w+)\])?", field).groups()
    item = ctypes.c_char if kind == "char" else C_TYPES[kind]
    if length:
        item = item * (int(length) if length.isdigit() else _library.constants[length])
    return item, name


def one_by_one(fields):
    """Splits ``size_t a, b``; no header has it today."""
    return [declared(field) for field in fields]


class Interface(unittest.TestCase):
    def test_signatures_are_those_of_the_headers(self):
        self.assertGreater(len(headers.functions()), 200)
        self.assertEqual(_signatures.SIGNATURES, headers.functions())

    def test_structs_have_the_fields_of_the_headers(self):
        in_headers = headers.structs()
        for name, struct in _structs.C_NAMES.items():
            wanted = one_by_one(in_headers[name])
            given = [(kind, field) for field, kind in struct._fields_]
            self.assertEqual([field for _, field in given], [field for _, field in wanted], name)
            for (kind, field), (c_kind, _) in zip(given, wanted):
                with self.subTest(struct=name, field=field):
                    same = kind is c_kind or {kind, c_kind} <= {ctypes.c_char_p, ctypes.c_void_p}
                    self.assertTrue(same or (kind._type_, kind._length_) == (c_kind._type_, c_kind._length_))

    def test_the_library_fills_a_struct_to_its_end_and_not_beyond(self):
        for name, function in INITS.items():
            struct = _structs.C_NAMES[name]
            size = ctypes.sizeof(struct)
            for extra in (0, 8):
                buffer = ctypes.create_string_buffer(b"\xff" * (size + extra), size + extra)
                _library.call(function, buffer, size)
                self.assertEqual(struct.from_buffer(buffer).struct_size, size)
                self.assertEqual(buffer.raw[size:], b"\xff" * extra)

    def test_defaults_of_structs_are_documented_ones(self):
        record = _library.initialised("svit_trainer_config_init", _structs.TrainerConfig)
        self.assertEqual((record.epochs, record.batch, record.patience, record.prefetch), (100, 256, 5, 2))
        self.assertEqual((record.warmup_fraction, record.class_weight_count, record.tensorboard), (0.15, 0, 0))
        self.assertEqual(_library.initialised("svit_predictor_config_init", _structs.PredictorConfig).max_batch, 32)
        self.assertEqual(_library.initialised("svit_features_config_init", _structs.FeaturesConfig).batch, 256)

    def test_all_enumerators_are_constants(self):
        self.assertEqual(set(_library.constants), headers.enumerators())

    def test_words_in_type_hints_are_the_constants(self):
        for prefix, hint in (
            ("SVIT_OUTPUT_", model.Output),
            ("SVIT_COMPUTE_", model.Compute),
            ("SVIT_DTYPE_", model.Dtype),
            ("SVIT_TTA_", model.Tta),
            ("SVIT_SPLIT_", data.Split),
            ("SVIT_SOURCE_", data.Filter),
        ):
            self.assertEqual(set(_library.words(prefix)), set(typing.get_args(hint)), prefix)

    def test_each_status_has_an_exception(self):
        statuses = {name for name in _library.constants if name.startswith("SVIT_E_")}
        self.assertEqual({kind.status for kind in errors.KINDS}, statuses - {"SVIT_E_?"})

    def test_version_is_that_of_the_library(self):
        number = _library.call("svit_version_number")
        self.assertEqual(shiftvit.__version__, f"{number >> 16}.{number >> 8 & 255}.{number & 255}")
