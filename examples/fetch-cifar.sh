#!/bin/sh
# Fetches CIFAR-10 or CIFAR-100 in the official binary form, checks it, and unpacks it. The folder
# appears only when it is complete.
set -eu

usage() {
    cat <<'END'
usage: sh examples/fetch-cifar.sh [--from ARCHIVE] 10|100 [DIR]
  Puts CIFAR-10 into DIR/cifar-10-batches-bin, CIFAR-100 into DIR/cifar-100-binary (DIR: data).
  --from ARCHIVE   take this .tar.gz, fetched before, instead of the network
END
}

fail() {
    echo "fetch-cifar.sh: $1" >&2
    exit 1
}

from='' which='' into=''
while [ $# -gt 0 ]; do
    case $1 in
    --from)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        from=$2
        shift 2
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    -* | '')
        usage >&2
        exit 2
        ;;
    *)
        if [ -z "$which" ]; then
            which=$1
        elif [ -z "$into" ]; then
            into=$1
        else
            usage >&2
            exit 2
        fi
        shift
        ;;
    esac
done
case $which in
10)
    url=https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz
    sum=c32a1d4ab5d03f1284b67883e8d87530
    name=cifar-10-batches-bin
    spec=cifar10
    ;;
100)
    url=https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz
    sum=03b5dce01913d631647c71ecec9e9cb8
    name=cifar-100-binary
    spec=cifar100
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
into=${into:-data}
target=$into/$name

if [ -d "$target" ]; then
    echo "$target is there already"
    exit 0
fi
mkdir -p "$into"
part=$(mktemp -d "$into/.fetch-cifar.XXXXXX")
trap 'rm -rf "$part"' EXIT
trap 'exit 1' HUP INT TERM

if [ -z "$from" ]; then
    command -v curl >/dev/null 2>&1 || fail "curl is needed, or --from ARCHIVE"
    echo "fetching $url"
    curl -fL --retry 3 -o "$part/archive" "$url" ||
        fail "cannot fetch $url; fetch it elsewhere and give it with --from"
    from=$part/archive
fi
[ -r "$from" ] || fail "cannot read $from"
found=$(md5sum "$from" | cut -d ' ' -f 1)
[ "$found" = "$sum" ] || fail "$from has the MD5 sum $found, not $sum: it is damaged or another file"
tar -xzf "$from" -C "$part" || fail "cannot unpack $from"
[ -d "$part/$name" ] || fail "$from has no folder $name"
mv "$part/$name" "$target"
echo "$target is ready: --data $spec:$target"
