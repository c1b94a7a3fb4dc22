//go:build linux

package faults

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

var (
	long      = flag.Bool("faults.long", false, "all of it: longer, more often, and what takes a minute to wait for")
	tallyFile = flag.String("faults.tally", "", "a file for the last lines, which go test does not show when all went well")
)

// suite is what the tests share: the program, and the tally of what has struck.
var suite struct {
	folder string // of what is built
	binary string

	mu      sync.Mutex
	struck  map[string]int
	skipped map[string]string
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "a2a-server-faults-")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		suite.folder = folder
		suite.binary, err = build(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 1
	}
	suite.struck, suite.skipped = map[string]int{}, map[string]string{}
	rc := m.Run()
	if err := goleak.Find(); err != nil && rc == 0 {
		fmt.Fprintln(os.Stderr, "faults:", err)
		rc = 1
	}
	tally()
	return rc
}

// tally says what has struck how often, and what this machine did not allow.
func tally() {
	var b strings.Builder
	sum := 0
	for _, name := range slices.Sorted(maps.Keys(suite.struck)) {
		if testing.Verbose() {
			fmt.Fprintf(&b, "struck %6d  %s\n", suite.struck[name], name)
		}
		sum += suite.struck[name]
	}
	for _, name := range slices.Sorted(maps.Keys(suite.skipped)) {
		fmt.Fprintf(&b, "skipped: %s: %s\n", name, suite.skipped[name])
	}
	fmt.Fprintf(&b, "faults: %d struck %d times, %d skipped\n", len(suite.struck), sum, len(suite.skipped))
	fmt.Print(b.String())
	if *tallyFile != "" {
		if err := os.WriteFile(*tallyFile, []byte(b.String()), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "faults:", err)
		}
	}
}

// struck notes how often the fault of a test struck. One that never did has shown
// nothing.
func struck(t *testing.T, n int) {
	t.Helper()
	if n == 0 {
		t.Error("the fault never struck")
		return
	}
	suite.mu.Lock()
	defer suite.mu.Unlock()
	suite.struck[t.Name()] += n
}

// skip skips a test of what this machine does not allow.
func skip(t *testing.T, why string) {
	t.Helper()
	suite.mu.Lock()
	suite.skipped[t.Name()] = why
	suite.mu.Unlock()
	t.Skip(why)
}

// must ends a test that cannot be prepared: must(os.ReadFile(name))(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		need(t, err)
		return v
	}
}

func need(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
