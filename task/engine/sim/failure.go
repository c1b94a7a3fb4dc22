package sim

import "fmt"

// Failure is why a run is wrong. Two runs fail in the same way when their failures
// have the same Rule.
type Failure struct {
	Rule   string // the broken rule, in a few words
	Detail string // how
	Step   int    // of the scheduler
}

// String returns the broken rule, when and how.
func (f *Failure) String() string { return fmt.Sprintf("%s (step %d): %s", f.Rule, f.Step, f.Detail) }
