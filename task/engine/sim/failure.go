package sim

import "fmt"

// Failure is why a run is wrong. Two runs fail in the same way when their failures
// have the same Rule.
type Failure struct {
	Rule   string // what was broken, in a few words
	Detail string // how
	Step   int    // of the scheduler
}

// String says what was broken, when and how.
func (f *Failure) String() string { return fmt.Sprintf("%s (step %d): %s", f.Rule, f.Step, f.Detail) }
