package searchtool

import "syscall"

// diskFree returns how much the disk of a folder has free.
func diskFree(folder string) (bytes uint64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil || s.Bsize <= 0 {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
