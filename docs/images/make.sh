#!/bin/sh
# Draws the pictures of README.md and the tutorials, with the programs in build/ on synthetic images.
# sh docs/images/make.sh      from the top of the source tree; takes ten minutes; needs pngquant
set -eu
bin=build/examples
run=run/pictures

# small FILE NAME: FILE with 128 colours as docs/images/NAME.png.
small() {
    pngquant --force --nofs --output "docs/images/$2.png" 128 "$1"
}

rm -f $run/images/[0-9]*-*.png
"$bin/shiftvit-export" --split test --out $run/images
"$bin/shiftvit-patches" --image $run/images/00003-cross.png --size 48 --patch 4 --out $run/patches.png
"$bin/shiftvit-patches" --image $run/images/00003-cross.png --size 72 --patch 6 --spt --out $run/shifted.png

# ShiftViT, as in examples/quickstart.sh.
"$bin/shiftvit-train" --data procedural:4000 --set dim=48 --set 'blocks=[1,2,2,1]' --set dropout=0 \
    --set drop_path=0.1 --epochs 10 --batch 64 --overwrite --out $run/shiftvit
"$bin/shiftvit-predict" --model $run/shiftvit --grid $run/grid.png $run/images

# SL-ViT with three layers and a narrower head, as in the tutorial.
"$bin/shiftvit-train" --preset slvit-cifar100 --data procedural:6000 --set depth=3 \
    --set 'head_units=[256]' --set head_dropout=0.1 --schedule warmup-cosine --epochs 10 --batch 64 \
    --overwrite --out $run/slvit
"$bin/shiftvit-predict" --model $run/slvit --attention $run/attention.png $run/images

small $run/patches.png patches
small $run/shifted.png shifted-patches
small $run/grid.png predictions
small $run/shiftvit/curves.png curves
small $run/attention.png attention
