// Package storetest is the conformance suite of package store: [Run] is what
// every implementation passes whole, and there is no skip list.
//
// Each case has a backend of its own with two handles on it; what one writes the
// other reads, and they compete for the same tasks, so that fencing and take-over
// are tested before a second process exists. The suite knows the contract in
// package store and nothing of an implementation.
//
// Where the contract leaves room (the order of rows with equal index keys, which
// of two errors a batch gets that deserves both) every legal answer passes.
package storetest
