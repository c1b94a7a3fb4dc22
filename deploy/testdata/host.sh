#!/bin/sh
# A host for containers, in namespaces of its own: podman has its files in the folder $1, and the
# image of the archive $2. It ends with its first process, and all containers with it.
set -eu
for dir in /run /dev/shm; do mount -t tmpfs tmpfs $dir; done
ip link set lo up
cat >"$1/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1000:1000", "nproc=1000:1000"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "$1/networks"
END
cat >"$1/storage.conf" <<END
[storage]
driver = "vfs"
graphroot = "$1/graph"
runroot = "/run/containers/storage"
END
mkdir "$1/networks"
CONTAINERS_CONF=$1/containers.conf CONTAINERS_STORAGE_CONF=$1/storage.conf podman load -q -i "$2" 2>&1
echo ready
exec sleep infinity
