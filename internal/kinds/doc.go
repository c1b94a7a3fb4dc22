// Package kinds holds the tests that every kind of tool has to pass: a gated call runs
// once after it was approved, with the edited arguments after an edit, and never after a
// rejection, a cancel or a deadline, wherever its server is killed on the way.
package kinds
