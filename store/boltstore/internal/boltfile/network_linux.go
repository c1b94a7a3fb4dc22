package boltfile

import (
	"syscall"
)

// networks are the file systems on another machine, by the numbers that statfs(2) gives them.
// Their locks and syncs are as good as the server that provides them.
var networks = map[int64]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFE534D42: "SMB",
	0xFF534D42: "CIFS",
	0x01021997: "9P",
	0x00C36400: "Ceph",
	0x5346414F: "AFS",
	0x73757245: "Coda",
	0x0BD00BD0: "Lustre",
	0x01161970: "GFS2",
	0x7461636F: "OCFS2",
}

// networkOf returns the name of the network file system that a path is on, "" when it is
// on none that is known.
func networkOf(path string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return "" // the user of the path reports the error
	}
	return networks[int64(uint32(s.Type))] // its type differs between machines
}
