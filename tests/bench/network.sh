#!/bin/sh
# Runs a command under Open MPI on nodes of its own: network namespaces, joined by a bridge, each with a limited rate
# in both directions. For measurements; it needs root, iproute2 and Open MPI.
# network.sh NODES RATE COMMAND...: one process a node; RATE as tc takes it, such as 10gbit
set -eu
nodes=$1 rate=$2
shift 2
[ "$(id -u)" = 0 ] || {
    echo 'network.sh makes network namespaces, so it needs root' >&2
    exit 2
}
name=svit$$
folder=$(mktemp -d)
cleanup() {
    for node in $(seq "$nodes"); do
        ip netns delete "$name-$node" 2>/dev/null || true
    done
    ip netns delete "$name-hub" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# The bridge is in a namespace, too, so that the host's own network stays as it is.
ip netns add "$name-hub"
ip -n "$name-hub" link add bridge type bridge
ip -n "$name-hub" link set bridge up
for node in $(seq "$nodes"); do
    ip netns add "$name-$node"
    ip -n "$name-$node" link add net type veth peer name "port$node" netns "$name-hub"
    ip -n "$name-hub" link set "port$node" master bridge up
    ip -n "$name-$node" address add "10.77.0.$node/24" dev net
    ip -n "$name-$node" link set net up
    ip -n "$name-$node" link set lo up
    # A burst that the scheduler's clock can follow at this rate.
    ip netns exec "$name-$node" tc qdisc add dev net root tbf rate "$rate" burst 2mb latency 20ms
    ip netns exec "$name-hub" tc qdisc add dev "port$node" root tbf rate "$rate" burst 2mb latency 20ms
    echo "10.77.0.$node slots=1" >>"$folder/hosts"
done

# What starts a command on a node, in place of ssh.
cat >"$folder/agent" <<end
#!/bin/sh
node=\${1##*.}
shift
exec ip netns exec $name-\$node unshare --uts sh -c "hostname node\$node; \$*"
end
chmod +x "$folder/agent"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun=$(command -v mpirun.openmpi || command -v mpirun)
status=0
ip netns exec "$name-1" unshare --uts sh -c 'hostname node1; exec "$@"' sh "$mpirun" -n "$nodes" \
    --hostfile "$folder/hosts" --map-by node --bind-to none --mca plm_rsh_agent "$folder/agent" \
    --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
    -x LD_LIBRARY_PATH "$@" || status=$?
exit $status
