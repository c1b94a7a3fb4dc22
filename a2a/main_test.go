package a2a_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	// Tests mostly wait, for answers and for time limits: more of them run side by side than there
	// are processors, unless -parallel says otherwise.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // it is a flag of every test program
	}
	// Servers are short-lived and small: most collections would find little.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
