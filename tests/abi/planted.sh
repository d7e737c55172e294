#!/bin/sh
# Checks types.sh, constants.sh and test_layout.c: each promise of docs/abi.md is broken once in a copy
# of the headers, which must be caught, and each permitted change must pass.  planted.sh SOURCE_ROOT CC
set -eu
root=$1 cc=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$copy/lib/base"
cp "$root/lib/base/constants.awk" "$copy/lib/base"
failed=0
types=yes
for tool in abidw abidiff; do
    command -v "$tool" >/dev/null 2>&1 || types=no
done

# change HEADER SED: the headers anew, with one change.
change() {
    rm -rf "$copy/include"
    cp -R "$root/include" "$copy/include"
    cp "$root/tests/abi/test_layout.c" "$copy"
    sed "$2" "$root/include/shiftvit/$1" >"$copy/include/shiftvit/$1"
    ! cmp -s "$root/include/shiftvit/$1" "$copy/include/shiftvit/$1" || {
        echo "$1 has nothing to change: $2"
        exit 1
    }
}

# judge GATE WHAT EXPECTED: runs a gate on the changed headers. EXPECTED is a text of the report, or
# "passes".
judge() {
    case $1 in
    types)
        [ $types = yes ] || return 0
        set -- "$@" sh "$root/tests/abi/types.sh" "$root" "$cc" "$copy/include"
        ;;
    constants)
        set -- "$@" sh "$root/tests/abi/constants.sh" "$copy" "$cc" "$root/tests/abi/constants.txt"
        ;;
    layout)
        # shellcheck disable=SC2086
        set -- "$@" $cc -std=c11 -I"$copy/include" -fsyntax-only "$copy/test_layout.c"
        ;;
    esac
    gate=$1 what=$2 expected=$3
    shift 3
    status=0
    said=$("$@" 2>&1) || status=$?
    case $expected:$status in
    passes:0) return ;;
    passes:*)
        echo "$gate refuses $what: $said"
        failed=1
        ;;
    *:0)
        echo "$gate does not see $what"
        failed=1
        ;;
    esac
    case $said in
    *"$expected"*) ;;
    *)
        [ "$expected" = passes ] || {
            echo "$gate refuses $what for another reason: $said"
            failed=1
        }
        ;;
    esac
}

change loader.h 's|^/\* The configuration of a loader|/* Any words|'
judge types 'another comment' passes
judge constants 'another comment' passes
judge layout 'another comment' passes

change loader.h '/int32_t shuffle;/{h;d;};/int32_t augment;/G'
judge types 'two fields that changed places' "'int32_t shuffle' offset changed"
judge layout 'two fields that changed places' 'svit_loader_config.shuffle has moved'

change loader.h 's/uint64_t seed;/uint32_t seed, unused;/'
judge types 'a smaller field' "type of 'uint64_t seed' changed"
judge layout 'a smaller field' 'svit_loader_config.seed has moved'

change loader.h 's/int32_t shuffle;/uint32_t shuffle;/'
judge types 'a field without its sign' "type of 'int32_t shuffle' changed"

change loader.h 's/^} svit_loader_config;/    uint64_t more;\
&/'
judge types 'a struct with struct_size that grows' passes
judge layout 'a struct that grows' 'the size of svit_loader_config has changed'

change loader.h 's/^} svit_loader_config;/    uint64_t more;\
&/;/int32_t shuffle;/{h;d;};/int32_t augment;/G'
judge types 'fields that move in a struct that grows' "'int32_t shuffle' offset changed"

change loader.h 's/^} svit_loader_config;/    uint32_t more;\
&/'
sed 's/^LAYOUT(svit_loader_config, 32/LAYOUT(svit_loader_config, 40/;s/F(T, sampling, 28, 4)/& F(T, more, 32, 4)/' \
    "$root/tests/abi/test_layout.c" >"$copy/test_layout.c"
judge layout 'padding' 'svit_loader_config has padding, or a field is not listed'

change optimizer.h 's/^} svit_parameter_group;/    double more;\
&/'
judge types 'a struct without struct_size that grows' 'type size changed'

change status.h 's/message\[[0-9]*\]/message[504]/'
judge types 'a larger svit_error' "type of 'char message[248]' changed"

change loader.h 's/svit_loader_config_init(svit_loader_config \*config, size_t size)/svit_loader_config_init(svit_loader_config *config, uint32_t size)/'
judge types 'an argument of another type' 'svit_loader_config_init'

change version.h 's/^SVIT_API uint32_t svit_version_number/SVIT_API uint64_t svit_version_number/'
judge types 'a result of another type' 'svit_version_number'

change pipeline.h 's/uint32_t reserved;/int32_t shape;/'
judge types 'a reserved field that gets a name' passes

change pipeline.h 's/uint32_t reserved;/uint16_t reserved, more;/'
judge types 'a reserved field of another size' "'uint32_t reserved'"

change dataset.h 's/(\*svit_sample_callback)(size_t index/(*svit_sample_callback)(uint32_t index/'
judge types 'a callback with another argument' 'svit_sample_callback'

change loader.h 's/^SVIT_API svit_status svit_loader_config_init(.*/;/'
judge types 'a function that is gone' "[D] 'function svit_status svit_loader_config_init"

change version.h 's/^SVIT_API uint32_t/SVIT_API int32_t svit_new(int32_t argument);\
&/'
judge types 'a new function' passes

change loader.h 's/SVIT_SAMPLING_BALANCED = 1/SVIT_SAMPLING_BALANCED = 2/'
judge constants 'an enumerator with another value' 'SVIT_SAMPLING_BALANCED 1'

change loader.h 's/SVIT_SAMPLING_BALANCED = 1/SVIT_SAMPLING_EQUAL = 1/'
judge constants 'an enumerator of another name' 'SVIT_SAMPLING_BALANCED 1'

change loader.h 's/SVIT_SAMPLING_BALANCED = 1/SVIT_SAMPLING_NEW = 2, &/'
judge constants 'a new enumerator' passes

[ $types = yes ] || echo 'skipped check: abidw or abidiff is missing (Debian: abigail-tools)'
exit $failed
