package heap_test

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"testing"

	"a2a-server/internal/heap"
)

// resident returns how much memory of the process's own is in RAM, in KiB.
func resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	n, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	kib, err := strconv.Atoi(string(n))
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// What is spared takes no memory, however often it is. The third call and later ones get
// addresses that were in use before, which Go usually clears.
func TestSpareTakesNone(t *testing.T) {
	heap.Spare(0)
	runtime.GC()
	before := resident(t)
	for range 8 {
		heap.Spare(0)
		runtime.GC()
	}
	if grown := resident(t) - before; grown > 8<<10 {
		t.Errorf("sparing 25 MiB, nine times, took %d KiB", grown)
	}
}
