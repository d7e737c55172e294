#!/bin/sh
# Settings of a training on the command line and in files, starting weights, extended runs, and
# training on all images.
# Usage: settings.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
cd "$work"
data='--data procedural:64 --limit-val 20 --limit-test 20 --threads 2'

# A file with fields of both kinds, changed by --set, changed by an option.
cat >settings.json <<'FILE'
{"dim": 24, "blocks": [1, 1], "epochs": 7, "batch": 32, "label_smoothing": 0.1, "seed": 5}
FILE
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config settings.json --set batch=16 --set schedule=constant --epochs 2 --out first
for line in '"epochs": 2' '"batch": 16' '"label_smoothing": 0.1' '"schedule": "constant"' '"seed": 5' '"dim": 24'; do
    [ "$(grep -c "$line" first/run.json)" = 1 ] || fail "run.json lacks $line: $(cat first/run.json)"
done

# Options are the strongest: each field is that of its option, whatever --set says, and what it limits goes by it. The
# data are not there, so that a run that is accepted fails at them. The model of --init-from, whose settings follow from
# the images, refuses nothing before it has seen these.
options_win() {
    while IFS='|' read -r option field outcome; do
        for of in '--preset shiftvit-cifar10' '--config settings.json' '--config first/run.json' '--init-from first'; do
            # shellcheck disable=SC2086
            run "${outcome%% *}" shiftvit-train $of --data cifar10:none $option --set $field --out none
            case $outcome in
            1) says 'none' ;;
            *) says "${outcome#* }" ;;
            esac
        done
    done
    absent none
}
options_win <<'END'
--batch 512|leaves=300|1
--batch 512|accumulate=300|1
--batch 512|batch=8|1
--lr 0.5|lr_start=0.2|1
--lr 0.5|learning_rate=0|1
--lr 0|lr_start=0.2|1
--schedule constant|schedule=step|1
--schedule constant|schedule=piecewise|1
--schedule constant|schedule=cosine-restarts|1
--schedule constant|points=[[0.5,1]]|1
--schedule step|step_size=4|1
--schedule piecewise|points=[[0,1],[1,0]]|1
--epochs 3|epochs=1000000|1
--batch 4|leaves=16|2 leaves is 16; it is at most batch, 4
--batch 4|accumulate=16|2 accumulate is 16; it is at most batch, 4
--schedule step|schedule=constant|2 step_size is 0; schedule 'step' needs
--schedule piecewise|schedule=constant|2 points has 0 elements; a piecewise schedule has at least 2
--schedule cosine-restarts|schedule=constant|2 restart_steps is 0; schedule 'cosine-restarts' needs
END
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config settings.json --epochs 1 --batch 16 --lr 0.01 --weight-decay 0.25 --schedule linear \
    --patience 9 --keep best --compute f32 --memory blocks --checkpoint-seconds 7 --set epochs=2 --set batch=4 \
    --set leaves=16 --set learning_rate=1 --set weight_decay=1 --set schedule=step --set patience=1 --set keep=last \
    --set compute=bf16 --set memory=store --set checkpoint_seconds=1 --out strongest
for line in '"epochs": 1' '"batch": 16' '"learning_rate": 0.01' '"weight_decay": 0.25' '"schedule": "linear"' \
    '"patience": 9' '"keep": "best"' '"compute": "f32"' '"memory": "blocks"' '"checkpoint_seconds": 7'; do
    grep -Eq "$line(\\.0)?,?\$" strongest/run.json || fail "run.json lacks $line: $(cat strongest/run.json)"
done
# Of few images the rule's batch is 16, of more than 200 it is 32.
# shellcheck disable=SC2086
run 2 shiftvit-train --data procedural:64 --init-from first --epochs 1 --set leaves=32 --out by-rule
says 'leaves is 32; it is at most batch, 16'
run 0 shiftvit-train --data procedural:201 --limit-val 4 --limit-test 4 --init-from first --epochs 1 --set leaves=32 \
    --out by-rule
run 0 shiftvit-train --data procedural:64 --limit-val 4 --limit-test 4 --init-from first --epochs 1 --set leaves=32 \
    --batch 64 --out by-rule-64

# The same run again from its run.json has the same weights.
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config first/run.json --out again
cmp first/model.safetensors again/model.safetensors || fail "--config run.json trained another model"

# A finished run is extended; with a constant rate the result is that of the longer run.
run 0 shiftvit-train --resume again --epochs 3
[ "$(wc -l <again/history.csv)" = 4 ] || fail "the extended run's history is $(cat again/history.csv)"
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config first/run.json --epochs 3 --out longer
cmp longer/model.safetensors again/model.safetensors || fail "the extended run is not the longer run"

# A schedule that has ended says so; the one that the command names covers all epochs.
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config settings.json --set schedule=warmup-cosine --epochs 2 --out ended
run 0 shiftvit-train --resume ended --epochs 3
says 'the learning rate is 0 from epoch 3 on.*schedule_anew'
run 0 shiftvit-train --resume ended --epochs 6 --schedule warmup-cosine
[ "$(awk -F, 'NR > 5 && $8 > 1e-5' ended/history.csv | wc -l)" = 2 ] || fail "the rates are $(cat ended/history.csv)"
run 0 shiftvit-train --resume ended --epochs 9 --set schedule=warmup-cosine
[ "$(awk -F, 'NR > 7 && $8 > 1e-5' ended/history.csv | wc -l)" = 2 ] || fail "the rates are $(cat ended/history.csv)"
# A length that the run was given is not that of the new schedule, unless it is given again.
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config settings.json --set schedule=linear --set total_steps=4 --epochs 2 --out given
run 0 shiftvit-train --resume given --epochs 4 --schedule linear
[ "$(awk -F, 'NR > 3 && $8 > 1e-5' given/history.csv | wc -l)" = 2 ] || fail "the rates are $(cat given/history.csv)"
run 0 shiftvit-train --resume given --epochs 6 --schedule linear --set total_steps=8
says 'the learning rate is 0 from epoch 5 on'

# A run without patience left goes on with more of it.
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config settings.json --set learning_rate=0 --set lr_start=0 --set schedule=constant \
    --patience 1 --epochs 5 --out patient
says 'stopped early: .* --resume with a larger --patience goes on$'
run 0 shiftvit-train --resume patient --epochs 6
[ "$(wc -l <patient/history.csv)" = 3 ] || fail "the run went on: $(cat patient/history.csv)"
run 0 shiftvit-train --resume patient --epochs 6 --patience 3
[ "$(wc -l <patient/history.csv)" = 5 ] || fail "the run did not go on: $(cat patient/history.csv)"
# Without more epochs too: the run is tested at its new end, and its folder has the new patience.
run 0 shiftvit-train --resume patient --patience 4
[ "$(wc -l <patient/history.csv)" = 6 ] || fail "the run did not go on: $(cat patient/history.csv)"
lasts '^test: '
grep -q '"patience": 4' patient/run.json || fail "run.json is $(cat patient/run.json)"
run 2 shiftvit-train --resume patient --patience 2
says 'patience is 4 in the checkpoint and 2 here; a resumed run needs as many or more, or 0; with more epochs, any$'
run 0 shiftvit-train --resume patient --patience 0
[ "$(wc -l <patient/history.csv)" = 7 ] || fail "the run did not go on: $(cat patient/history.csv)"
run 2 shiftvit-train --resume patient --patience 7
says 'a resumed run needs 0, which never stops; with more epochs, any$'

# Averages and a patience that change nothing.
# shellcheck disable=SC2086
{
    run 0 shiftvit-train $data --config settings.json --set ema=keras --epochs 1 --out no-average
    says 'warning: ema_momentum is 0'
    run 0 shiftvit-train $data --config settings.json --set ema_momentum=0.9 --epochs 1 --overwrite --out no-average
    says 'warning: ema_momentum has no effect'
    run 0 shiftvit-train $data --config settings.json --set ema=swa --set swa_start=0.75 --epochs 2 --overwrite --out no-average
    says "warning: the average 'swa' has no weights in it"
    run 0 shiftvit-train $data --config settings.json --set ema=swa --set swa_start=0.5 --epochs 2 --overwrite --out no-average
    ! grep 'no weights in it' "$work/err" || fail 'a warning of an average that has weights'
    run 0 shiftvit-train $data --config settings.json --patience 2 --val-fraction 0 --epochs 1 --overwrite \
        --out no-average
    says 'warning: patience has no effect'
    run 0 shiftvit-train $data --config settings.json --val-fraction 0 --epochs 1 --overwrite --out no-average
    ! grep 'patience has' "$work/err" || fail 'a warning of a patience that nobody gave'
}

# Settings that what the run has does not read: each is warned of, and no other one.
ignored() {
    while IFS='|' read -r given names; do
        # shellcheck disable=SC2086
        run 0 shiftvit-train --data procedural:20 --limit-test 10 --threads 1 --config settings.json --set patch_size=12 \
            --epochs 1 --set schedule=constant $given --overwrite --out ignored
        found=$(sed -n 's/^shiftvit-train: warning: \(.*\) has no effect: .*/\1/p' "$work/err" | tr '\n' ' ')
        [ "$found" = "$names${names:+ }" ] || fail "$given: warnings of $found, not of $names"
    done
}
every='--set beta1=0.8 --set beta2=0.9 --set epsilon=1e-6 --set epsilon_form=torch --set momentum=0.9'
every="$every --set nesterov=true --set sgd_form=torch --set adamw_learning_rate=0.01"
early='--set early_height=24 --set early_width=24'
ignored <<END
$every|momentum nesterov sgd_form adamw_learning_rate
--set optimizer=sgd $every|beta1 beta2 epsilon epsilon_form adamw_learning_rate
--set optimizer=muon $every|sgd_form
--set optimizer=lion $every|epsilon epsilon_form momentum nesterov sgd_form adamw_learning_rate
--set swa_start=0.1 --set swa_every=1 --set ema=none|swa_start swa_every
--set swa_start=0.1 --set swa_every=1 --set ema=swa|
--set lookahead_alpha=0.4|lookahead_alpha
--set lookahead_alpha=0.4 --set lookahead=1|
$early|early_height early_width
$early --set early_fraction=0.5|
--val-fraction 0 --limit-val 3|--limit-val
--on-bad skip|--on-bad
END

# Of a file with all settings those that are the default are no word of the user.
echo '{"schedule": "constant", "lr_start": 0, "sgd_form": "keras", "nesterov": false, "momentum": 0}' >usual.json
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config usual.json $small --epochs 1 --out usual
! grep 'has no effect' "$work/err" || fail 'a warning of defaults'
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config settings.json --set schedule=constant --set warmup_steps=5 --epochs 1 --out unused
says 'warmup_steps has no effect'
# A preset has warmup_fraction and lr_start for every schedule, and so has run.json: they count where they are named.
! grep -E '(warmup_fraction|lr_start) has' "$work/err" || fail 'a warning of what the preset has'
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config unused/run.json --epochs 1 --out again-unused
! grep -E '(warmup_fraction|lr_start) has' "$work/err" || fail 'a warning of what run.json has'
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config unused/run.json --set warmup_fraction=0.2 --epochs 1 --overwrite --out again-unused
says '^shiftvit-train: warning: warmup_fraction has no effect: it belongs to another schedule'
! grep 'lr_start has' "$work/err" || fail 'a warning of what run.json has'
run 0 shiftvit-train --resume again-unused --epochs 2 --set lr_start=0
says 'warning: lr_start has no effect'
echo '{"schedule": "step", "step_size": 3, "lr_start": 1e-5, "restart_factor": 2, "step_factor": 0.5}' >step.json
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config step.json $small --out step
says 'warning: lr_start has no effect'
says 'warning: restart_factor has no effect'
! grep 'step_factor has' "$work/err" || fail 'a warning of what the schedule uses'
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config step.json $small --schedule one-cycle --set warmup_fraction=0.2 --out cycle
! grep -E '(warmup_fraction|lr_start) has' "$work/err" || fail 'a warning of what the schedule uses'

run 2 shiftvit-train --resume again --epochs 2
says 'epochs is 3 in the checkpoint and 2 here'
run 2 shiftvit-train --resume again --compute bf16
says 'compute is f32 in the checkpoint and bf16 here'
run 2 shiftvit-train --resume again --set tta=flip
says "'loss [a-z-]*, sampling shuffle, tta none, .*, tta flip, "
run 2 shiftvit-train --resume again --lora 2
says 'a resumed run has the adapters that it began with'
run 2 shiftvit-train --resume again --set dim=12
says 'the model of a resumed run is fixed'

# A list without elements in a run's settings replaces that of a preset.
fast='--preset shiftvit-cifar10-fast --epochs 1 --batch 32 --threads 2 --limit-val 20 --limit-test 20'
# shellcheck disable=SC2086
run 0 shiftvit-train $data $fast --set dim=24 --set blocks=[1,1] --set augment=[] --out unaugmented
# shellcheck disable=SC2086
run 0 shiftvit-train $data $fast --config unaugmented/run.json --out unaugmented2
cmp unaugmented/model.safetensors unaugmented2/model.safetensors || fail "the preset's augment came back"
grep -q '"augment": \[\]' unaugmented2/run.json || fail 'run.json lacks a list without elements'

# Starting weights: with a learning rate of 0 they stay.
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config first/run.json --init-from first/model.safetensors --set learning_rate=0 --set lr_start=0 \
    --set weight_decay=0 --epochs 1 --out same
cmp first/model.safetensors same/model.safetensors || fail "--init-from gave other weights"
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config first/run.json --init-from first/model.safetensors --set num_classes=12 \
    --epochs 1 --out head
says "mismatched head.weight: the classifier starts anew there"
# shellcheck disable=SC2086
run 2 shiftvit-train $data --config first/run.json --init-from first/model.safetensors --set dim=48 --out wider
says "mismatched patch_embed.proj.weight; the models must be alike but for the classifier: .*library wrote\$"
# shellcheck disable=SC2086
run 2 shiftvit-train $data --init-from first/model.safetensors --set in_channels=1 --out grey
says '--set in_channels=1: the model of --init-from has 3, and only checkpoints of other libraries .* grey images become RGB$'
run 2 shiftvit-train --init-from first/model.safetensors --out without-data
says '--init-from needs --data SPEC, the images to fine-tune on'
run 1 shiftvit-train --data procedural --init-from nothing --out nothing-to-start-from

# All images train; there is no validation.
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config settings.json --epochs 1 --val-fraction 0 --out all --json
prints '"val_loss": null'
says '64 images train, 0 validate, 20 test'
run 2 shiftvit-eval --model all --data procedural --split val --val-fraction 0
says "no images for 'val'"

# Frozen parameters and a word of the model, both in fields named "groups".
# shellcheck disable=SC2086
run 2 shiftvit-train $data --config first/run.json --init-from first/model.safetensors --set groups=channels \
    --set 'groups=[{"pattern":"*","trainable":false}]' --epochs 1 --out frozen
says 'nothing is left to train: the groups freeze the rest of the model$'
# shellcheck disable=SC2086
run 2 shiftvit-train $data --config first/run.json --init-from first/model.safetensors --freeze '*' --epochs 1 --out frozen
says 'nothing is left to train: the groups freeze the rest of the model$'
# shellcheck disable=SC2086
run 0 shiftvit-train $data --config first/run.json --init-from first/model.safetensors --freeze 'patch_embed*' \
    --freeze 'layers.*' --set learning_rate=0 --set lr_start=0 --set weight_decay=0 --epochs 1 --out head-alone
cmp first/model.safetensors head-alone/model.safetensors || fail "a frozen model changed"
# shellcheck disable=SC2086
run 2 shiftvit-train $data --config settings.json --set 'groups=[{"pattern":"x*"}]' --out refused
says "groups\[0\]: pattern 'x\*' matches no parameter"

# Adapters of LoRA: a run that is resumed and extended is the longer run, and its model has none.
vit='--preset vit-cifar100 --set dim=12 --set depth=1 --set heads=2 --set head_dim=6 --set mlp_dim=20 --set num_classes=10
    --set patch_size=18 --set schedule=constant --batch 16'
# shellcheck disable=SC2086
run 0 shiftvit-train $data $vit --epochs 1 --out whole
# shellcheck disable=SC2086
run 0 shiftvit-train $data $vit --init-from whole --lora 2 --lora-alpha 3 --keep best --epochs 1 --out adapted
grep -q '"lora_alpha": 3' adapted/run.json || fail "run.json lacks lora_alpha: $(cat adapted/run.json)"
run 0 shiftvit-train --resume adapted --epochs 3
# shellcheck disable=SC2086
run 0 shiftvit-train $data $vit --init-from whole --lora 2 --lora-alpha 3 --keep best --epochs 3 --out adapted-longer
cmp adapted/model.safetensors adapted-longer/model.safetensors || fail "the resumed run of LoRA is another one"
run 0 shiftvit-info adapted/checkpoint.safetensors
prints 'qkv.lora_a'
run 0 shiftvit-info adapted/model.safetensors
! grep -q qkv.lora_a "$work/out" || fail "model.safetensors has adapters"
# shellcheck disable=SC2086
run 1 shiftvit-train $data --config first/run.json --init-from first --lora 2 --out refused
says "LoRA is for models of architecture 'vit'"
# shellcheck disable=SC2086
run 2 shiftvit-train $data $vit --init-from whole --lora 13 --out refused
says "lora_rank is 13; .* at most 12"
run 2 shiftvit-train --lora 2 --out refused
says '--init-from is needed'

# The whole recipe of the SL-ViT paper: its steps are in run.json, and the bits do not depend on the threads.
paper='--data procedural:40 --limit-val 20 --limit-test 20 --preset slvit-paper-cifar100-full --set dim=12 --set depth=2
    --set heads=2 --set head_dim=6 --set mlp_dim=20 --batch 16 --epochs 2'
# shellcheck disable=SC2086
run 0 shiftvit-train $paper --threads 1 --out paper
for step in flip crop autoaugment erasing mixup cutmix; do
    grep -q "\"name\": \"$step\"" paper/run.json || fail "run.json lacks $step: $(cat paper/run.json)"
done
# shellcheck disable=SC2086
run 0 shiftvit-train $paper --threads 3 --out paper3
cmp paper/model.safetensors paper3/model.safetensors || fail 'three threads trained another model'
# shellcheck disable=SC2086
run 0 shiftvit-train $paper --threads 1 --set augment=[] --out plain
[ "$(cut -d , -f 2 paper/history.csv)" != "$(cut -d , -f 2 plain/history.csv)" ] ||
    fail 'the steps of the recipe change nothing'
# Steps that a run took away from its preset stay away.
run 0 shiftvit-train --resume plain --epochs 3
[ "$(tail -n 1 plain/history.csv | cut -d , -f 1)" = 3 ] || fail "the run did not go on: $(cat plain/history.csv)"

# A step is a batch, in however many passes.
for passes in 1 4; do
    # shellcheck disable=SC2086
    run 0 shiftvit-train $paper --set ema=plain --set ema_momentum=0.999 --set accumulate=$passes --out average$passes
    says '^after [0-9]+ steps the average of the weights \(ema_momentum 0.999\) still has 9[0-9] %'
    grep '^after' "$work/err" >"average$passes/note"
done
cmp average1/note average4/note || fail "$(cat average4/note)"

# A masked autoencoder learns without labels, goes on after a break, and gives its encoder to a classifier.
small='--set dim=12 --set depth=2 --set heads=2 --set head_dim=6 --set mlp_dim=20 --batch 16'
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:40 --limit-val 20 --threads 2 --preset vit-mae-cifar100 $small --epochs 1 \
    --set schedule=constant --out masked
lasts '^test: none$'
: >never-read.png
run 2 shiftvit-predict --model masked never-read.png
says 'the model is a masked autoencoder, which has no classes'
run 0 shiftvit-train --resume masked --epochs 3 --json
lasts '^\{"split": "test", "images": 1000, "loss": null\}$'
awk -F, 'NR == 2 { first = $2 } END { exit !($2 < first && $2 > 0) }' masked/history.csv ||
    fail "the loss does not fall: $(cat masked/history.csv)"
paper="--data procedural:40 --limit-val 20 --limit-test 20 --preset vit-paper-cifar100 $small --epochs 1"
# shellcheck disable=SC2086
run 0 shiftvit-train $paper --init-from masked --out from-masked
says 'missing mlp_head.1.weight: the classifier starts anew there'
lasts "^test: $result\$"
run 0 shiftvit-info from-masked/model.safetensors
! grep -q -e decoder -e mask_token "$work/out" || fail 'the classifier has a decoder'
# shellcheck disable=SC2086
run 2 shiftvit-train $paper --set depth=3 --init-from masked --out refused
says 'missing transformer.layers.2'
run 0 shiftvit-train --data procedural:40 --limit-val 20 --limit-test 20 --threads 2 --init-from masked --epochs 1 --out ruled
lasts "^test: $result\$"
run 2 shiftvit-train --data procedural:40 --preset vit-mae-cifar100 --set loss=cross-entropy --out refused
says "mask_ratio is above 0"

# Test-time augmentation changes the loss.
# shellcheck disable=SC2086
run 0 shiftvit-eval --model first --data procedural --limit-test 20 --tta none
plain=$(tail -n 1 "$work/out")
lasts "^test: $result$"
run 0 shiftvit-eval --model first --data procedural --limit-test 20 --tta flip-shift
lasts "^test: $result$"
[ "$plain" != "$(tail -n 1 "$work/out")" ] || fail "--tta changes nothing"

# Messages name the file and the field.
echo '{"dimm": 3}' >wrong.json
run 2 shiftvit-train --config wrong.json --out refused
says "wrong.json: 'dimm' is no field of a model or of the training; did you mean 'dim'"
run 0 shiftvit-train --help
prints '^ *label_smoothing +number +default 0.0 +in \[0, 1\)$'
prints "^ *tokenizer +word +default \"patch\" +'patch' or 'spt' or 'conv'$"

# Sizes that --set gives stay, those of the preset are fitted to the model, and a size that follows from the model or
# the data is refused.
# sizes: the sizes of run.json.
sizes() {
    sed -n 's/^ *"\(source\|resize\|output\)_\(height\|width\|filter\)": \(.*\),$/\3/p' sized/run.json | tr '\n' ' '
}
# sized WANTED OPTION...: the sizes of a run.
sized() {
    wanted_sizes=$1
    shift
    rm -rf sized
    # shellcheck disable=SC2086
    run 0 shiftvit-train --preset shiftvit-cifar10 --set dim=12 --set 'blocks=[1,1]' --set num_div=12 \
        --set input_height=16 --set input_width=16 --batch 16 --epochs 1 --threads 2 --out sized "$@"
    [ "$(sizes)" = "$wanted_sizes " ] || fail "$*: the sizes are $(sizes), not $wanted_sizes"
}
run 0 shiftvit-export --data procedural:60 --split train --count 40 --by-class --out photographs
folder='--data folder:photographs --val-fraction 0'
# shellcheck disable=SC2086
{
    sized '20 20 "shorter-side" 20 20 16 16' $folder
    sized '24 28 "shorter-side" 24 28 16 16' $folder --set resize_height=24 --set resize_width=28
    sized '40 36 "squash" 16 16 16 16' $folder --set source_height=40 --set source_width=36 \
        --set source_filter=squash --set resize_height=16 --set resize_width=16
    sized '16 20 "nearest" 16 20 16 16' $folder --set source_filter=nearest --set resize_height=16
}
run 0 shiftvit-train --resume sized --epochs 2
[ "$(sizes)" = '16 20 "nearest" 16 20 16 16 ' ] || fail "the resumed run has the sizes $(sizes)"
synthetic='--data procedural:30 --limit-val 20 --limit-test 20'
# shellcheck disable=SC2086
{
    sized '32 32 "nearest" 20 20 16 16' $synthetic
    sized '32 32 "nearest" 24 16 16 16' $synthetic --set resize_height=24 --set resize_width=16 --set source_height=32
    run 2 shiftvit-train $synthetic --config sized/run.json --set source_width=40 --out refused
    says 'set source_width=40: it is that of the images of --data, 32'
    run 2 shiftvit-train $synthetic --config sized/run.json --set channels=1 --out refused
    says "set channels=1: it is that of the model's input, 3"
    run 2 shiftvit-train $synthetic --config sized/run.json --set output_height=20 --out refused
    says "set output_height=20: it is that of the model's input, 16"
    run 2 shiftvit-train $synthetic --init-from sized --set resize_width=12 --out refused
    says 'resize_width is 12; at least output_width, 16, is accepted'
    rm -rf tuned
    run 0 shiftvit-train $synthetic --init-from sized --set resize_height=18 --epochs 1 --out tuned
}
grep -q '"resize_height": 18,$' tuned/run.json || fail 'the size of the resize step is lost'

# Values that --set reads, and what it says of others.
# shellcheck disable=SC2086
for value in .5 0.5 5e-1 0.05e+1 00.5; do
    rm -rf sized
    run 0 shiftvit-train $synthetic --preset shiftvit-cifar10 --set dim=12 --set 'blocks=[1,1]' --set num_div=12 \
        --batch 16 --epochs 1 --set label_smoothing=$value --set seed=007 --out sized
    grep -q '"label_smoothing": 0.5,$' sized/run.json || fail "$value is $(grep label_smoothing sized/run.json)"
    grep -q '"seed": 7,$' sized/run.json || fail "007 is $(grep seed sized/run.json)"
done
for value in 1e-400 ' 1' '1 '; do
    run 2 shiftvit-train --set "learning_rate=$value" --out refused
    says "^shiftvit-train: --set learning_rate=$value: decimal numbers without blanks are accepted"
done
for value in 0x1p-4 +1 ' 1' 1e-400 1e400 inf nan 1e '' -; do
    run 2 shiftvit-train --lr "$value" --out refused
    says '^shiftvit-train: --lr: .* is no number from 0 to 1000'
done
for value in 0x10 +16 1e400; do
    run 2 shiftvit-train --set "dim=$value" --out refused
    says '^shiftvit-train: --set dim=.*dim'
done
run 2 shiftvit-train --set seed=9223372036854775808 --out refused
says 'set seed=9223372036854775808: whole numbers up to 2\^63 - 1 are accepted here'
echo '{"learning_rate": "0.1"}' >word.json
run 2 shiftvit-train --config word.json --out refused
says '^shiftvit-train: word.json: learning_rate is not a number$'
echo '{"dim": 0}' >none.json
run 2 shiftvit-train --config none.json --out refused
says '^shiftvit-train: none.json: dim is 0; '
run 2 shiftvit-train --config none.json --set dim=-1 --out refused
says '^shiftvit-train: --set dim=-1: dim is -1; '
printf '{"dim": 12}\0{"x"' >nul.json
run 1 shiftvit-train --config nul.json --out refused
says "^shiftvit-train: 'nul.json' has a NUL byte"
run 2 shiftvit-train --resume ''
says '^shiftvit-train: --resume: the folder has no name$'
for given in '--seed 3' '--set seed=3'; do
    # shellcheck disable=SC2086
    run 2 shiftvit-train --resume first --epochs 9 $given
    says "seed: the seed of the run of 'first' is 5, with which --resume goes on\$"
done
run 2 shiftvit-train --data procedural:20 --set in_channels=1 --out refused
says 'folder:DIR, list:FILE.csv and shards:PATTERN give 1, 3 or 4 channels$'
echo '{"seed": 9223372036854775808}' >large.json
run 2 shiftvit-train --config large.json --out refused
says '^shiftvit-train: large.json: line 1: too big .*; whole numbers up to 2\^63 - 1 are accepted here$'
run 0 shiftvit-train --help
prints '^ *seed +integer +default 0 +0\.\.2\^63 - 1$'
# The largest input leaves no margin to crop, and the data are looked at.
run 1 shiftvit-train --data cifar10:none --set input_height=8192 --set resize_height=8192 --out refused
says 'none/'
run 2 shiftvit-train --set 'augment=[{"name":"mixup"},{"name":"cutmix"},{"name":"erasing"}]' --out refused
says "is 'erasing', which comes before 'cutmix': the order is .*, then erasing and cutout, then mixup, cutmix and repeat$"
run 2 shiftvit-train --set 'augment=[{"name":"flip",}]' --out refused
says 'no JSON: column 17: '
run 2 shiftvit-train --set 'groups=[{"pattern":"*","lr":1}]' --out refused
says "'lr' is no field of a parameter group\$"
echo '[1]' >list.json
run 1 shiftvit-train --config list.json --out refused
says 'list.json is no JSON object, but other JSON'
run 2 shiftvit-train --epochz 1
says '^shiftvit-train: unrecognized option .--epochz.$'
says "^shiftvit-train: did you mean '--epochs'\?\$"
run 2 shiftvit-train --out ''
says 'the folder has no name'

# A setting of the preset's schedule is not held against the one that the command names.
rm -rf sized
# shellcheck disable=SC2086
run 0 shiftvit-train $synthetic --preset shiftvit-cifar10-fast --set dim=24 --set 'blocks=[1,1]' --set num_div=12 --batch 16 \
    --epochs 1 --schedule linear --set ema=none --out sized
! grep 'has no effect' "$work/err" || fail 'a warning of the points of the preset'

rm -rf sized
# shellcheck disable=SC2086
run 0 shiftvit-train $synthetic --preset shiftvit-cifar10-fast --set dim=24 --set 'blocks=[1,1]' --set num_div=12 --batch 16 \
    --epochs 1 --set schedule=linear --set ema=none --out sized
! grep 'has no effect' "$work/err" || fail 'a warning of the points of the preset'
! grep 'class names' "$work/err" || fail 'a warning of class names'

# A folder whose run cannot go on says so, and the command that goes on can be pasted.
cp -r sized 'one run'
run 1 shiftvit-train --out 'one run'
says "go on with it: --resume 'one run'; replace"
rm 'one run/checkpoint.safetensors'
run 1 shiftvit-train --out 'one run'
says 'without a checkpoint that can be read; replace it: --overwrite'

# More classes than the data names: the names are not lost without a word. Other classes than the data's are refused.
rm -rf sized
# shellcheck disable=SC2086
run 0 shiftvit-train $folder --preset shiftvit-cifar10 --set dim=12 --set 'blocks=[1,1]' --set num_div=12 --set num_classes=12 \
    --batch 16 --epochs 1 --out sized
says 'the model has 12 classes and the training set names 10: the model does not get its class names'
says '^[0-9]+ parameters, 12 classes; '
run 0 shiftvit-eval --model sized --split all
says 'the model has 12 classes without names and the data 10'
# shellcheck disable=SC2086
run 0 shiftvit-train $folder --config first/run.json --init-from first --set num_classes=12 --epochs 1 --out twelve
grep -q '"num_classes": 12,$' twelve/run.json || fail 'num_classes is lost'
# shellcheck disable=SC2086
run 2 shiftvit-train $folder --init-from first --set num_classes=12 --out refused
says 'set num_classes=12: the classifier that the model of --init-from gets has a class for each of the data.s 10'
# shellcheck disable=SC2086
run 2 shiftvit-train $folder --config first/run.json --set num_classes=4 --out refused
says 'training has 10 classes; the model has 4; --set num_classes=10 is accepted$'

run 2 shiftvit-eval --model masked --data procedural --limit-test 20
says 'a masked autoencoder, which has no classes'
run 2 shiftvit-features --model first --data procedural --layer nope --out f.safetensors
says 'shiftvit-features --list-layers lists them'
run 2 shiftvit-bench --set num_classes=1
says '2 or more are accepted, and shiftvit-train takes one with --set loss=binary or loss=mse$'
run 2 shiftvit-train --data procedural:20 --set 'mean=[0,0,1e300]' --out none
says '^shiftvit-train: with scale 0.00392157, mean\[2\] 1e\+300'
