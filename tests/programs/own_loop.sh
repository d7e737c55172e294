#!/bin/sh
# The program of docs/own-loop.md learns, resumes with the same bits, and stands verbatim in its page.
# own_loop.sh FOLDER_OF_THE_PROGRAMS SOURCE_ROOT
set -eu
programs=$1 root=$2
. "$root/tests/programs/support.sh"

sed -n '/<!-- own_loop: begin -->/,/<!-- own_loop: end -->/p' "$root/docs/own-loop.md" |
    sed '/^<!-- /d; /^```/d' >"$work/quoted"
cmp "$root/examples/own_loop.c" "$work/quoted" || fail "own-loop.md does not quote own_loop.c as it is"
[ "$(wc -l <"$root/examples/own_loop.c")" -lt 240 ] || fail "own_loop.c has 240 lines or more"

# Four epochs: the losses of the loop and of the classifier fall, and the attack's rises.
run 0 own_loop "$work/whole.safetensors" 4
cp "$work/out" "$work/whole"
awk '/^epoch [0-9]+: loss [0-9.]+$/ { loss[++n] = $4 }
     /^image 0 depends most on row [0-9]+, column [0-9]+$/ { saliency++ }
     /^attack: loss [0-9.]+ to [0-9.]+$/ { attack += $5 > 1.2 * $3 }
     /^head: loss [0-9.]+ to [0-9.]+$/ { head += $5 < 0.8 * $3 }
     END { exit !(NR == 7 && n == 4 && loss[4] < 0.8 * loss[1] && saliency == 1 && attack == 1 && head == 1) }' \
    "$work/whole" || fail "own_loop: it does not learn: $(cat "$work/whole")"

# Two epochs and two more: the same checkpoint and the same last lines.
run 0 own_loop "$work/resumed.safetensors" 2
run 0 own_loop "$work/resumed.safetensors" 4
cmp "$work/whole.safetensors" "$work/resumed.safetensors" || fail "a resumed run has other bits"
tail -n 5 "$work/whole" >"$work/wanted"
cmp "$work/wanted" "$work/out" || fail "a resumed run prints something else: $(cat "$work/out")"

run 1 own_loop "$work/nowhere/none.safetensors" 1
says "^own_loop: .*$work/nowhere"
echo 'no checkpoint' >"$work/damaged.safetensors"
run 1 own_loop "$work/damaged.safetensors" 1
says "^own_loop: .*$work/damaged"
run 2 own_loop
says '^usage: own_loop '
echo 'learned, resumed, attacked, quoted'
