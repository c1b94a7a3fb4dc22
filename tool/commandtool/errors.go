package commandtool

import (
	"fmt"
	"strings"

	"a2a-server/internal/visible"
)

// ExitError means that a command ran to its end and failed.
type ExitError struct {
	Code int // never 0
	// Output is the end of the command's standard error, or if that is empty of its standard
	// output: at most 4 KiB.
	Output string
	// Missing is how many bytes came before that.
	Missing int64
}

// Error implements error.
func (e *ExitError) Error() string {
	said := strings.TrimSpace(visible.Text(e.Output))
	switch {
	case said == "":
		return fmt.Sprintf("exit code %d, without a message", e.Code)
	case e.Missing > 0:
		return fmt.Sprintf("exit code %d: … (after %d bytes) %s", e.Code, e.Missing, said)
	}
	return fmt.Sprintf("exit code %d: %s", e.Code, said)
}
