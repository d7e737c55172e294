#!/bin/sh
# The presets of pretrained ViTs against timm's models of random weights. $SHIFTVIT_PYTHON names a
# Python that has the packages torch, timm and safetensors; without one the test is skipped.
# Usage: timm_presets.sh PYTHON LIBRARY
set -eu
python=${SHIFTVIT_PYTHON:-$1}
"$python" -c 'import numpy, safetensors, timm, torch' 2>/dev/null || {
    echo "skipped: $python has no packages torch, timm and safetensors; set SHIFTVIT_PYTHON"
    exit 77
}
exec "$python" "$(dirname "$0")/timm_presets.py" "$2"
