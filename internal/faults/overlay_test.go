//go:build linux

package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// clockReading is where time.Now reads the wall clock, and the monotonic one, which
// stays as it is.
var clockReading = replacement{
	"time.go",
	"\tsec, nsec, mono := runtimeNow()\n",
	"\tsec, nsec, mono := runtimeNow()\n\tsec += wallShift()\n",
}

// clockFile is the file in the control folder that holds the shift; see [clock].
const clockFile = "clock"

// shiftSource is added to package time. Without the file the clock is that of the machine.
const shiftSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var wallWords = mapWall()

func mapWall() *[2]int64 {
	folder, _ := syscall.Getenv("` + controlEnv + `")
	fd, err := syscall.Open(folder+"/` + clockFile + `", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	b, err := syscall.Mmap(fd, 0, 16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic("the clock of the test cannot be mapped: " + err.Error())
	}
	_ = syscall.Close(fd)
	return (*[2]int64)(unsafe.Pointer(&b[0]))
}

func wallShift() int64 {
	if wallWords == nil {
		return 0
	}
	shift := atomic.LoadInt64(&wallWords[0])
	if atomic.LoadInt64(&wallWords[1]) != shift {
		atomic.StoreInt64(&wallWords[1], shift)
	}
	return shift
}
`

// goTree is where Go and its module cache are.
type goTree struct{ GOROOT, GOMODCACHE string }

// buildShifted builds programs with a clock that tests set, and returns their folder. The whole standard
// library is compiled for that once; after that it is in Go's build cache.
var buildShifted = sync.OnceValues(func() (folder string, err error) {
	tree, err := findGo()
	if err != nil {
		return "", err
	}
	overlay, err := overlayClock(tree.GOROOT, suite.folder)
	if err != nil {
		return "", err
	}
	return compile(suite.folder, "shifted/", "-overlay", overlay, "./cmd/a2a-server", "./internal/faults/phrases")
})

func findGo() (tree goTree, err error) {
	text, err := output("go", "env", "-json", "GOROOT", "GOMODCACHE")
	if err == nil {
		err = json.Unmarshal([]byte(text), &tree)
	}
	return tree, err
}

// replaceable reports whether the go command takes an overlay of its own library. A Go
// that go.mod or GOTOOLCHAIN had downloaded is in the module cache, where it does not.
func (g goTree) replaceable() bool {
	return !strings.HasPrefix(g.GOROOT, g.GOMODCACHE+string(filepath.Separator))
}

// overlayClock writes what replaces files of the time package of goroot, and returns the
// path of the overlay.
func overlayClock(goroot, folder string) (overlay string, err error) {
	library := filepath.Join(goroot, "src", "time")
	text, err := clockReading.in(filepath.Join(library, clockReading.file), "the time package of "+goroot)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range map[string][]byte{clockReading.file: text, "shift_faults.go": []byte(shiftSource)} {
		path := filepath.Join(folder, "overlay_"+name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(library, name)] = path
	}
	text, err = json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
