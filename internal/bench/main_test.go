package bench

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain is a server when this process was started as one, and else runs the
// tests and prints the figures.
func TestMain(m *testing.M) {
	if n := os.Getenv(printVariable); n != "" {
		if err := printLines(os.Stdout, n); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if s := os.Getenv(specVariable); s != "" {
		if err := child(s); err != nil {
			fmt.Fprintln(os.Stderr, "bench: the server process:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if bench := flag.Lookup("test.bench"); bench != nil && bench.Value.String() != "" {
		fmt.Print(figures.String())
	}
	os.Exit(code)
}
