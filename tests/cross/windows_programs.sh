#!/bin/sh
# The DLL; and the programs for Windows, in Wine, beside those of this machine: a training in a folder whose name has blanks and letters
# beyond ASCII, killed and resumed; the same answers from the same model file; the same bytes from the same weights.
#     windows_programs.sh PROGRAMS_FOR_WINDOWS PROGRAMS_OF_THIS_MACHINE
# Prints what passed and failed, and the counts last.
set -u
windows=$(cd "$1" && pwd) native=$(cd "$2" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0

check() {
    what=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
        echo "passed: $what"
    else
        failed=$((failed + 1))
        echo "failed: $what"
        sed 's/^/    /' "$work/said" | head -n 10
    fi
}

# on_windows PROGRAM ARGUMENT...
on_windows() {
    program=$1
    shift
    wine "$windows/shiftvit-$program.exe" "$@"
}

# same PROGRAM ARGUMENT...: both print the same.
same() {
    on_windows "$@" >"$work/of-windows" 2>"$work/error" || { cat "$work/error"; return 1; }
    program=$1
    shift
    "$native/shiftvit-$program" "$@" >"$work/of-native" || return 1
    # What each build has of its own.
    sed -i 's/"seconds":[^,}]*//' "$work/of-windows" "$work/of-native"
    diff "$work/of-windows" "$work/of-native"
}

# fails STATUS MESSAGE PROGRAM ARGUMENT...
fails() {
    status=$1 message=$2
    shift 2
    on_windows "$@" >"$work/of-windows" 2>"$work/error"
    [ $? -eq "$status" ] && grep -q -e "$message" "$work/error" && return
    cat "$work/error"
    return 1
}

cd "$work" || exit 1
dll=$windows/libshiftvit-1.dll
x86_64-w64-mingw32-objdump -p "$dll" >headers
awk '/Name Pointer. Table/ { on = 1; next } !NF { on = 0 } on { print $NF }' headers | sort >exported
sed 's/@.*//' "$root/tests/abi/symbols.txt" | sort >recorded
check 'the DLL exports the recorded symbols and no others' diff recorded exported
sed -n 's/.*DLL Name: //p' headers | sort >libraries
printf 'KERNEL32.dll\nmsvcrt.dll\n' >system
check 'the DLL needs the system alone' diff system libraries
python3 "$root/tests/programs/cifar.py" data >/dev/null
"$native/shiftvit-export" --data procedural:40 --split test --count 9 --out images >/dev/null
name='Bücher und λ'
mkdir "$name"
small="--data cifar10:data/cifar-10-batches-bin --set dim=24 --set blocks=[1,1] --batch 16 --epochs 2 --threads 2 --seed 3"
# Options, meant to be split.
# shellcheck disable=SC2086
{
    check 'train on Windows' on_windows train $small --out "$name/whole"
    check 'train here' "$native/shiftvit-train" $small --quiet --out "$name/native"
    check 'train in steps, killed' sh -c '
        wine "$0" "$@" --checkpoint-seconds 0.01 --epochs 12 --quiet & process=$!
        while [ ! -e "'"$name"'/broken/checkpoint.safetensors" ] && kill -0 $process; do sleep 0.1; done
        sleep 0.3
        kill -KILL $process
        wait $process
        [ $? -eq 137 ] && [ ! -e "'"$name"'/broken/model.safetensors" ]' \
        "$windows/shiftvit-train.exe" $small --out "$name/broken"
    check 'resume after the kill' on_windows train --resume "$name/broken" --quiet
    check 'train as long without a kill' on_windows train $small --epochs 12 --quiet --out "$name/unbroken"
}
check 'a killed training ends with the bytes of one that is not' \
    cmp "$name/broken/model.safetensors" "$name/unbroken/model.safetensors"
check 'a finished run is not replaced' fails 1 "holds a run" train --data procedural:64 --out "$name/whole"
check 'a wrong option' fails 2 'option.*nope' train --nope
check 'an option without a value' fails 2 "doesn't allow an argument" train --quiet=1
check 'a picture without cairo' fails 1 'was built without cairo' predict --model "$name/whole" --grid grid.png images
for writer in whole native; do
    check "the same report of the model of $writer" same info "$name/$writer/model.safetensors"
    check "the same classes and logits of the model of $writer" same predict --model "$name/$writer/model.safetensors" \
        --json --output logits --top 10 images
    on_windows convert --dtype bf16 "$name/$writer/model.safetensors" "$name/$writer-windows.safetensors"
    "$native/shiftvit-convert" --dtype bf16 "$name/$writer/model.safetensors" "$name/$writer-native.safetensors"
    check "the same bytes of the weights of $writer" cmp "$name/$writer-windows.safetensors" \
        "$name/$writer-native.safetensors"
done
check 'the same weights after the same training' cmp "$name/whole/model.safetensors" "$name/native/model.safetensors"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
