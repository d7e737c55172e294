#!/bin/sh
# Odd archives are read as WebDataset reads them. $SHIFTVIT_PYTHON names a Python that has the package
# webdataset; without one the test is skipped.
# Usage: webdataset.sh FOLDER_OF_THE_PROGRAMS PYTHON
set -eu
programs=$1
python=${SHIFTVIT_PYTHON:-$2}
"$python" -c 'import webdataset' 2>/dev/null || {
    echo "skipped: $python has no package webdataset; set SHIFTVIT_PYTHON"
    exit 77
}
. "$(dirname "$0")/support.sh"
needs_decoders
"$python" "$(dirname "$0")/shards.py" webdataset "$programs/shiftvit-export" "$work" ||
    fail 'WebDataset reads something else'
