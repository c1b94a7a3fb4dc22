package mcptoolset_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// serverEnv makes the test binary an MCP server over stdio, of the kind that it names.
const serverEnv = "MCPTOOLSET_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serverEnv); kind != "" {
		os.Exit(serveStdio(kind))
	}
	// Tests mostly wait, for answers and for time limits: more of them run side by side than there
	// are processors, unless -parallel says otherwise.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // it is a flag of every test program
	}
	goleak.VerifyTestMain(m)
}
