package mcptoolset_test

import (
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
	goleak.VerifyTestMain(m)
}
