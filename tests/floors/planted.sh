#!/bin/sh
# Checks check.sh: each rule is broken once in a copy of the tree, and must be reported.
# planted.sh SOURCE_ROOT
set -eu
root=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$copy/tests" "$copy/examples"
cp -R "$root/lib" "$copy/lib"
cp -R "$root/examples/common" "$copy/examples/common"
cp -R "$root/tests/floors" "$copy/tests/floors"
sh "$copy/tests/floors/check.sh" "$copy" >/dev/null || {
    echo "the tree itself breaks a rule"
    exit 1
}
failed=0
# plant FILE LINE WHAT: LINE added to FILE must be reported as WHAT.
plant() {
    file=$copy/$1
    printf '%s\n' "$2" >"$file"
    said=$(sh "$copy/tests/floors/check.sh" "$copy" 2>&1) && {
        echo "not caught in $1: $2"
        failed=1
    }
    case $said in
    *"$1:1: "*"$3"*) ;;
    *)
        echo "caught for another reason in $1: $2: $said"
        failed=1
        ;;
    esac
    rm -f "$file"
}
plant lib/base/planted.c '#include "tensor/arena.h"' 'may not look'
plant lib/tensor/planted.c '#include "kernels/kernels.h"' 'may not look'
plant lib/data/planted.c '#include "autograd/tape.h"' 'may not look'
plant lib/io/planted.c '#include "data/decoding/codec.h"' 'may not look'
plant lib/gemm/planted.c '#include "context/context.h"' 'may not look'
plant lib/gemm/planted.c '#include <shiftvit/session.h>' 'may not look at <shiftvit/session.h>'
plant lib/base/planted.c '#include <shiftvit/context.h>' 'may not look at <shiftvit/context.h>'
plant lib/data/planted.c '#include <shiftvit/model.h>' 'may not look at <shiftvit/model.h>'
plant lib/data/planted.c '#include <shiftvit/nothing.h>' 'belongs to no folder'
plant lib/trainer/planted.c '#include <shiftvit/shiftvit.h>' 'belongs to no folder'
plant lib/optim/planted.h '#include "models/model.h"' 'may not look'
plant lib/layers/planted.c '#include "session/session.h"' 'may not look'
plant lib/session/planted.c '#include <shiftvit/features.h>' 'may not look at <shiftvit/features.h>'
plant lib/losses/planted.c '#include <shiftvit/session.h>' 'may not look at <shiftvit/session.h>'
plant lib/session/planted.c '#include <shiftvit/benchmark.h>' 'may not look at <shiftvit/benchmark.h>'
plant lib/features/planted.c '#include "predictor/predictor.h"' 'may not look'
plant lib/features/planted.c '#include <shiftvit/trainer.h>' 'may not look at <shiftvit/trainer.h>'
plant lib/layers/planted.c '#include "layers.h"' 'does not say its folder'
plant lib/layers/planted.c '#include "nowhere/layers.h"' 'in no folder'
plant lib/layers/planted.c '#include <pthread.h>' 'lib/base/threads/thread.c'
plant lib/kernels/planted.c '#include <dlfcn.h>' 'lib/base/files/dynamic_library.c'
plant lib/layers/planted.c '#include <cblas.h>' 'lib/gemm/blas.c'
plant lib/layers/planted.c 'void f(void) { cblas_sgemm(0); }' 'lib/gemm/blas.c'
plant lib/layers/planted.c '#include <png.h>' 'lib/data/decoding/png.c'
plant lib/layers/planted.c '#include <jpeglib.h>' 'lib/data/decoding/jpeg.c'
plant lib/layers/planted.c '#include <webp/decode.h>' 'lib/data/decoding/webp.c'
plant lib/base/planted.c '#include <jansson.h>' 'examples/'
plant examples/common/program/planted.c '#include "settings/settings.h"' 'may not look'
plant examples/common/models/planted.h '#include "outputs/output_check.h"' 'may not look'
plant examples/common/data/planted.c '#include "data_option.h"' 'does not say its folder'
plant examples/common/planted.c '#include "program/program.h"' 'is no folder'
plant lib/models/planted.c 'long f(void) { return strtol("1", 0, 10); }' 'lib/base/numbers/digits.c'
mkdir "$copy/lib/nowhere"
plant lib/nowhere/planted.c 'int x;' 'is no floor'
rmdir "$copy/lib/nowhere"
for call in malloc calloc realloc free aligned_alloc posix_memalign strdup; do
    plant lib/layers/planted.c "void *p = $call(1);" "$call() belongs in lib/base/heap.c"
done
for call in fopen open; do
    plant lib/data/planted.c "int f = $call (1);" "$call() belongs in lib/base/files/file.c"
done
for call in rename fsync ftruncate; do
    plant lib/data/planted.c "int f = $call (1);" "$call() belongs in lib/base/files/replace.c"
done
for header in unistd.h sys/stat.h fcntl.h windows.h; do
    plant lib/context/planted.c "#include <$header>" "<$header> belongs in the"
done
plant lib/data/planted.c '#ifdef _WIN32' 'code for one system belongs in the adapters'
plant lib/context/folder_lock.c "int f = rename (0, 0);" "rename() belongs in lib/base/files/replace.c"
for call in mmap munmap; do
    plant lib/base/planted.c "int f = $call(0);" "$call() belongs in lib/base/files/mapping.c"
done
for call in dlopen dlsym; do
    plant lib/kernels/planted.c "void *p = $call(0, 0);" "$call() belongs in lib/base/files/dynamic_library.c"
done
wide="/* $(printf '%095d' 0) */"
plant lib/data/planted.c "$wide" 'has 101 columns, of at most 100'
plant tests/floors/planted_script.sh "trap 'rm -rf folder' EXIT" "lacks trap 'exit 1' HUP INT TERM"
# One file more than a folder may have.
for n in $(seq 26); do : >"$copy/lib/predictor/planted$n.c"; done
said=$(sh "$copy/tests/floors/check.sh" "$copy" 2>&1) && {
    echo 'a folder of more than 25 files is not caught'
    failed=1
}
case $said in
*'lib/predictor/ has 30 files'*) ;;
*)
    echo "a folder of more than 25 files is reported as: $said"
    failed=1
    ;;
esac
# What is tracked.
rm "$copy"/lib/predictor/planted*
if command -v git >/dev/null; then
    git init -q "$copy"
    ln -s lib "$copy/tests/link"
    : >"$copy/stray"
    for wrong in tests/link stray; do
        git -C "$copy" add "$wrong"
        said=$(sh "$copy/tests/floors/check.sh" "$copy" 2>&1) && said="nothing"
        case $said in
        *"do not belong there"*"$wrong"*) ;;
        *)
            echo "a file that does not belong to the tree is reported as: $said"
            failed=1
            ;;
        esac
        git -C "$copy" rm -q --cached "$wrong"
    done
else
    echo 'skipped check: git is missing'
fi
exit $failed
