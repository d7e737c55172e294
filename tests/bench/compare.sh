#!/bin/sh
# The whole comparison by one command: creates the peers' environments and builds the library if they
# do not exist yet, then runs compare.py.
#   sh tests/bench/compare.sh [DIR] [options of compare.py]
# DIR (default ~/.cache/shiftvit-bench) keeps venv-torch, venv-onnx, venv-keras, build, and the raw
# results of each run. The packages are downloaded from PyPI once, some 2 GB.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$HOME/.cache/shiftvit-bench
case ${1-} in
'' | -*) ;;
*)
    folder=$1
    shift
    ;;
esac
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# The lists are complete, so that nothing is added to them: PyTorch's CUDA libraries stay out.
environment() {
    [ -x "$folder/venv-$1/bin/python" ] || python3 -m venv "$folder/venv-$1"
    "$folder/venv-$1/bin/python" -m pip install --quiet --no-deps -r "$here/requirements/$1.txt"
}

for name in torch onnx keras; do
    environment $name
done
[ -e "$folder/build/build.ninja" ] ||
    meson setup "$folder/build" "$root" --buildtype=release -Dtests=false
ninja -C "$folder/build"

exec python3 "$here/compare.py" --bench "$folder/build/examples/shiftvit-bench" \
    --python "$folder/venv-torch/bin/python" --python "$folder/venv-onnx/bin/python" \
    --python "$folder/venv-keras/bin/python" \
    --out "$folder/results-$(date +%Y%m%d-%H%M%S).jsonl" "$@"
