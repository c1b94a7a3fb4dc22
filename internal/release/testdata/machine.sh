#!/bin/sh
# A machine for tests: the files of this one, with its changes in memory, and systemd as its first
# process, in namespaces of its own. It has the folder $1 as /mnt, and writes a line into the FIFO
# "booted" there. It ends with its first process, and leaves nothing.
set -eu
shared=$1
fs=$shared/fs
case ${2:-outside} in
outside) # in a mount namespace: gives the machine a cgroup to begin with
	trap 'kill -KILL $(cat /proc/$machine/task/$machine/children)' TERM
	mkdir "$fs"
	mount -t tmpfs -o mode=0755 machine "$fs"
	mkdir "$fs/cgroup"
	mount -t cgroup2 cgroup2 "$fs/cgroup"
	home=$fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
	mkdir "$home/a2a-server-$$"
	echo $$ >"$home/a2a-server-$$/cgroup.procs"
	unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup sh "$0" "$shared" inside &
	machine=$!
	wait $machine || wait $machine || true # a trap ends the first
	echo $$ >"$home/cgroup.procs"
	find "$home/a2a-server-$$" -depth -type d -exec rmdir {} +
	;;
inside)
	root=$fs/root
	mkdir "$fs/changed" "$fs/work" "$root"
	mount -t overlay -o "lowerdir=/,upperdir=$fs/changed,workdir=$fs/work" overlay "$root"
	mount -t proc proc "$root/proc"
	mount --bind "$root/proc/sys" "$root/proc/sys" # settings of the kernel are everybody's
	mount -o remount,bind,ro "$root/proc/sys"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
	for device in null zero full random urandom tty; do
		touch "$root/dev/$device"
		mount --bind "/dev/$device" "$root/dev/$device"
	done
	mkdir "$root/dev/shm" "$root/dev/pts" "$root/dev/mqueue" "$root/dev/hugepages"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	for dir in run tmp; do mount -t tmpfs -o mode=0755 tmpfs "$root/$dir"; done
	mount --bind "$shared" "$root/mnt"
	# Nothing of this machine starts there, apart from the journal.
	rm -rf "$root"/etc/systemd/system/*.wants/* "$root"/usr/lib/systemd/system/*.wants/* "$root/usr/sbin/policy-rc.d"
	: >"$root/etc/fstab"
	cat >"$root/etc/systemd/system/booted.service" <<-'END'
	[Unit]
	Requires=systemd-journald.socket
	After=systemd-journald.socket basic.target
	[Service]
	Type=oneshot
	ExecStart=/bin/sh -c 'echo booted >/mnt/booted'
	END
	cd "$root"
	mkdir old
	pivot_root . old
	umount -l old
	mount --make-rshared / # as systemd would itself outside of a container
	exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=booted.service
	;;
esac
