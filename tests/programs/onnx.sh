#!/bin/sh
# ONNX files of all architectures, run by ONNX Runtime. $SHIFTVIT_PYTHON names a Python that has the
# packages onnx and onnxruntime; without one the test is skipped.
# Usage: onnx.sh FOLDER_OF_THE_PROGRAMS PYTHON LIBRARY
set -eu
programs=$1
python=${SHIFTVIT_PYTHON:-$2}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || {
    echo "skipped: $python has no packages onnx and onnxruntime; set SHIFTVIT_PYTHON"
    exit 77
}
. "$(dirname "$0")/support.sh"
"$python" "$(dirname "$0")/onnx_export.py" "$3" || fail 'ONNX Runtime computes something else'
cd "$work"
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data procedural:64 --out run
run 0 shiftvit-convert --to onnx --preprocessing run run.onnx
"$python" -c 'import onnx; onnx.checker.check_model("run.onnx", full_check=True)' || fail 'run.onnx is not ONNX'
run 0 shiftvit-convert --to onnx --json run images.onnx
run 0 shiftvit-convert --to onnx --probabilities run probabilities.onnx
"$python" -c 'import onnx; assert onnx.load("probabilities.onnx").graph.output[0].name == "probabilities"' ||
    fail 'probabilities.onnx has other outputs'
run 2 shiftvit-convert --to onnx --dtype bf16 run bf16.onnx
says 'an ONNX file has f32'
run 2 shiftvit-convert --preprocessing run bytes.safetensors
says 'preprocessing belongs to --to onnx'
run 2 shiftvit-convert --probabilities run bytes.safetensors
says 'probabilities belongs to --to onnx'
run 2 shiftvit-convert run weights.ONNX
says 'needs --to onnx'
absent bf16.onnx bytes.safetensors weights.ONNX
