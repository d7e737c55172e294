#!/bin/bash -eu
# Builds every fuzz target for OSS-Fuzz, with what its environment says: CC, CFLAGS, LIB_FUZZING_ENGINE, SRC, OUT
# and WORK. Each target goes to $OUT with its corpus and its dictionary, and needs no library of this image.
cd "$SRC/shiftvit"
build=$WORK/build
rm -rf "$build"
meson setup "$build" -Dfuzzing=true -Dfuzzer_ldflags="$LIB_FUZZING_ENGINE" -Ddefault_library=static \
    -Dprefer_static=true -Db_lundef=false -Dblas=none -Dexamples=false -Dtests=true -Dopenmpi=disabled \
    -Dmpich=disabled
ninja -C "$build" fuzzers
for program in "$build"/tests/fuzz/fuzz_*; do
    [ -f "$program" ] || continue
    target=$(basename "$program")
    name=${target#fuzz_}
    cp "$program" "$OUT/"
    (cd tests/fuzz/corpus && zip -q -r "$OUT/${target}_seed_corpus.zip" "$name")
    [ ! -f "tests/fuzz/$name.dict" ] || cp "tests/fuzz/$name.dict" "$OUT/$target.dict"
done
