#!/bin/sh
# Builds that leave things out: without JPEG and WebP, without PNG, and the smallest one. Each builds without the
# headers of what it lacks and does not link it, exports every symbol, refuses what it lacks with a
# message that names it, and trains to the same bits as this build with the same kernels. The smallest
# has less than 640 KiB.
# reduced.sh SOURCE_ROOT LIBRARY CC
set -eu
root=$1 full=$(dirname "$2") cc=$3
here=$(dirname "$0")
# shellcheck source=tests/install/prefix.sh
. "$here/prefix.sh"
unset LD_LIBRARY_PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
unsupported=-8

fail() {
    echo "$name: $1"
    exit 1
}

# said COMMAND...: shows what a command says if it fails.
said() {
    "$@" >"$folder/log" 2>&1 || {
        cat "$folder/log"
        fail "fails: $*"
    }
}

# with LIBRARY_FOLDER WHAT [FILE]: reduced.c on that library.
with() {
    library=$1
    shift
    LD_LIBRARY_PATH=$library "$folder/reduced" "$@"
}

# gives PATTERN WHAT [FILE]: the line that reduced.c prints on the library of $name is of that form.
gives() {
    pattern=$1
    shift
    with "$folder/$name/lib" "$@" >"$folder/out"
    grep -Eq -e "$pattern" "$folder/out" || fail "$*: '$(cat "$folder/out")' is not of the form '$pattern'"
}

# refuses OPTION WHAT [FILE]: the message names the file, if there is one, and the option.
refuses() {
    option=$1
    shift
    gives "^$unsupported: ${2-}.*$option" "$@"
}

# Folders of pkg-config files, as on machines that lack some of the image libraries or all of them.
lacking() {
    mkdir "$folder/$1"
    pkg-config --variable pc_path pkg-config | tr : '\n' | while read -r found; do
        for file in "$found"/*.pc; do
            [ ! -e "$file" ] || ln -sf "$file" "$folder/$1/"
        done
    done
    shift
    rm "$@"
}
lacking no-libjpeg "$folder/no-libjpeg/libjpeg.pc" "$folder/no-libjpeg/libwebp.pc"
lacking no-libpng "$folder/no-libpng/libpng.pc" "$folder/no-libpng/libpng16.pc"
lacking none "$folder/none/libjpeg.pc" "$folder/none/libpng.pc" "$folder/none/libpng16.pc" "$folder/none/libwebp.pc"

# configure NAME FOLDER OPTION...: where the pkg-config files are those of FOLDER.
configure() {
    name=$1
    PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$folder/$2
    export PKG_CONFIG_PATH PKG_CONFIG_LIBDIR
    shift 2
    CC=$cc meson setup "$folder/$name" "$root" -Dtests=false -Dexamples=false "$@" >"$folder/log" 2>&1
}

# A missing library is an error, unless it is left out or may be, as libwebp by default.
for missing in libjpeg libpng; do
    ! configure "default-$missing" "no-$missing" 2>/dev/null || fail "configures without $missing"
    grep -q "\"$missing\" not found" "$folder/log" || fail "does not name $missing: $(cat "$folder/log")"
done
! configure asked-libwebp no-libjpeg -Djpeg=disabled -Dwebp=enabled 2>/dev/null || fail 'configures without libwebp'
grep -q '"libwebp" not found' "$folder/log" || fail "does not name libwebp: $(cat "$folder/log")"

# build NAME FOLDER OPTION...
build() {
    configure "$@" || fail "is not configured: $(cat "$folder/log")"
    said ninja -C "$folder/$name" lib/libshiftvit.so.1.0.0 lib/libshiftvit.a
    said sh "$root/tests/abi/symbols.sh" "$folder/$name/lib/libshiftvit.so" "$root/tests/abi/symbols.txt"
}

# lacks LIBRARY HEADER: the build of $name neither read the header nor needs the library.
lacks() {
    ninja -C "$folder/$name" -t deps >"$folder/deps"
    grep -q 'lib/data/decoding/codec\.c' "$folder/deps" || fail 'ninja knows no headers'
    ! grep -F "/$2" "$folder/deps" || fail "includes $2"
    readelf -d "$folder/$name/lib/libshiftvit.so" >"$folder/needed"
    ldd "$folder/$name/lib/libshiftvit.so" >>"$folder/needed"
    grep -q 'NEEDED.*libc\.so' "$folder/needed" || fail 'readelf shows nothing'
    ! grep "$1" "$folder/needed" || fail "links lib$1"
    ! grep "$1" "$folder/$name/lib/shiftvit.pc" "$folder/$name/lib/shiftvitConfig.cmake" || fail "asks for lib$1"
}

# same_bits ISA: trains as this build does with the kernels of that instruction set.
same_bits() {
    SHIFTVIT_TEST_ISA=$1 with "$full" train "$folder/expected.safetensors" >"$folder/expected"
    [ "$(grep -c '^loss 0x' "$folder/expected")" = 6 ] || fail "this build: $(cat "$folder/expected")"
    SHIFTVIT_TEST_ISA=$1 with "$folder/$name/lib" train "$folder/trained.safetensors" >"$folder/trained"
    diff "$folder/expected" "$folder/trained" || fail 'other losses'
    cmp "$folder/expected.safetensors" "$folder/trained.safetensors" || fail 'other weights'
}

name='this build'
$cc -std=c11 -I"$root/include" "$here/reduced.c" -o "$folder/reduced" -L"$full" -lshiftvit
with "$full" describe | grep -Eq '"decoders": *\["jpeg", *"png", *"webp"\]' || skip 'this build lacks decoders itself'
jpeg=$folder/a.jpg png=$folder/a.png webp=$folder/a.webp
base64 -d >"$jpeg" <<'end'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////
////////////////////wgALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQAAAAF//8QAFBABAAAAAAAAAAAA
AAAAAAAAAP/aAAgBAQABBQJ//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQAGPwJ//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/a
AAgBAQABPyF//9oACAEBAAAAEH//xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAE/EH//2Q==
end
echo UklGRh4AAABXRUJQVlA4TBEAAAAvB8ABAAfQsSYUuf+BiOh/AAA= | base64 -d >"$webp"
with "$full" write "$png" | grep -qx written
with "$full" read "$png" | grep -qx '8 x 8'
with "$full" read "$jpeg" | grep -qx '8 x 8'
with "$full" read "$webp" | grep -qx '8 x 8'

# Without optimisation but for the kernels, which compiles fast.
build no-jpeg no-libjpeg --buildtype=debug -Ddebug=false -Djpeg=disabled -Dinstruction_sets=
lacks libjpeg jpeglib.h
lacks libwebp webp/decode.h
refuses -Djpeg=enabled read "$jpeg"
refuses -Dwebp=enabled read "$webp"
gives '^8 x 8$' read "$png"
gives '^written$' write "$folder/b.png"
gives '^created$' bf16
gives '"decoders": *\["png"\]' describe
same_bits baseline

build no-png no-libpng --buildtype=debug -Ddebug=false -Dpng=disabled -Dinstruction_sets=avx2 -Dlow_precision=false
lacks png png.h
refuses -Dpng=enabled read "$png"
refuses -Dpng=enabled write "$folder/c.png"
[ ! -e "$folder/c.png" ] || fail 'leaves a file'
gives '^8 x 8$' read "$jpeg"
gives '^8 x 8$' read "$webp"
gives '^exported$' onnx "$folder/a.onnx"
gives '"decoders": *\["jpeg", *"webp"\]' describe
same_bits avx2

# "auto" leaves out what is missing.
build smallest none --buildtype=minsize -Db_ndebug=true -Dinstruction_sets= -Dlow_precision=false -Donnx=false \
    -Dcheckpoints=false -Djpeg=auto -Dpng=disabled -Dwebp=disabled -Dblas=none
lacks libjpeg jpeglib.h
lacks png png.h
lacks libwebp webp/decode.h
refuses -Dwebp=enabled read "$webp"
refuses -Djpeg=enabled read "$jpeg"
refuses -Dpng=enabled read "$png"
refuses -Dpng=enabled write "$folder/d.png"
refuses -Dlow_precision=true bf16
refuses -Dlow_precision=true int8
refuses -Donnx=true onnx "$folder/b.onnx"
refuses -Dcheckpoints=true timm "$folder/c.safetensors"
refuses "gemm is 'cblas'; this build has no CBLAS" cblas
gives '"decoders": *\[\]' describe
gives '"gemm_bf16": *"", *"gemm_int8": *"", *"blas": *""' describe
same_bits baseline
strip -o "$folder/stripped" "$folder/smallest/lib/libshiftvit.so"
size=$(wc -c <"$folder/stripped")
[ "$size" -lt 655360 ] || fail "has $size bytes stripped, not less than 655360"

# Its static library needs what the pkg-config file names.
every_function "$root" "$folder/every.c"
static=$(PKG_CONFIG_PATH=$folder/smallest/lib pkg-config --static --libs-only-l shiftvit | sed 's/-lshiftvit/-l:libshiftvit.a/')
# Words of flags are meant to be split.
# shellcheck disable=SC2086
said $cc -std=c11 -I"$root/include" "$here/reduced.c" "$folder/every.c" -o "$folder/static" -L"$folder/smallest/lib" $static
"$folder/static" train "$folder/trained.safetensors" | cmp - "$folder/trained"
echo "the smallest library has $size bytes"
