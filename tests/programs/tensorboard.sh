#!/bin/sh
# The event file of a run, read by TensorBoard itself. $TENSORBOARD_PYTHON names a Python that has the
# package tensorboard; without one the test is skipped.
# Usage: tensorboard.sh FOLDER_OF_THE_PROGRAMS PYTHON
set -eu
programs=$1
python=${TENSORBOARD_PYTHON:-$2}
"$python" -c 'import tensorboard' 2>/dev/null || {
    echo "skipped: $python has no package tensorboard; set TENSORBOARD_PYTHON"
    exit 77
}
. "$(dirname "$0")/support.sh"
cd "$work"
# shellcheck disable=SC2086
run 0 shiftvit-train $small --epochs 2 --data procedural:64 --set tensorboard=true --out run
run 0 shiftvit-train --resume run --epochs 3
"$python" - <<'FILE' || fail 'TensorBoard reads something else'
import csv
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator("run")
events.Reload()
rows = list(csv.DictReader(open("run/history.csv")))
columns = {"loss/train": "train_loss", "loss/validation": "val_loss", "top1/train": "train_top1",
           "top1/validation": "val_top1", "top5/train": "train_top5", "top5/validation": "val_top5",
           "learning_rate": "lr", "images_per_second": "images_per_second", "pflop": "pflop"}
assert sorted(events.Tags()["scalars"]) == sorted(columns), events.Tags()
for tag, column in columns.items():
    scalars = events.Scalars(tag)
    assert [s.step for s in scalars] == [1, 2, 3], scalars
    for scalar, row in zip(scalars, rows):
        wanted = float(row[column])
        assert abs(scalar.value - wanted) <= 1e-6 * abs(wanted), (tag, scalar, wanted)
FILE
