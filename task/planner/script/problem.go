package script

import (
	"errors"
	"fmt"

	"a2a-server/internal/strictyaml"
)

// ProblemError is a problem of a file. The error of [Load] joins all of them, in the order of
// the file.
type ProblemError struct {
	File         string
	Line, Column int    // from 1; 0 for the whole file
	Key          string // such as scenarios[0].steps[2].call.tool; "" for the file
	Problem      string // the fault, and the correction
}

// Error returns the problem on one line that begins with file, line and column.
func (p *ProblemError) Error() string { return strictyaml.Problem(*p).String() }

// joined returns all problems as a single error, nil if there are none.
func joined(r *strictyaml.Report) error {
	var errs []error
	for i, p := range r.Problems() {
		if i == strictyaml.MaxShown {
			errs = append(errs, fmt.Errorf("%s: and %d more problems", r.File, len(r.Problems())-i))
			break
		}
		wrong := ProblemError(p)
		errs = append(errs, &wrong)
	}
	return errors.Join(errs...)
}
