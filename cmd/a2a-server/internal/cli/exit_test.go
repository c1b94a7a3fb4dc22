package cli_test

import (
	"path/filepath"
	"testing"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/internal/golden"
)

//go:generate go test -count=1 -run ^TestExitCodesDocument$ . -update

// The table of docs/admin.md is that of the help.
func TestExitCodesDocument(t *testing.T) {
	t.Parallel()
	golden.Section(t, filepath.Join("..", "..", "..", "..", "docs", "admin.md"), "exit codes", "| code | meaning |\n|---|---|\n"+cli.ExitCodes("| %d | %s |\n"))
}
