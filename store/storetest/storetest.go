// Package storetest is the conformance suite of package store. Every implementation passes all
// of [Run]; there is no skip list.
//
// Each case has its own backend with two handles on it. Each handle reads the writes of the
// other, and they compete for the same tasks, so that fencing and takeover are tested before a
// second process exists. The suite knows the contract in package store and no implementation.
//
// Where the contract allows several results (the order of rows with equal index keys, the
// error of a batch that is wrong in two ways), each of them passes.
package storetest

import (
	"testing"
	"time"

	"a2a-server/store"
)

// Backend is a storage under test. Its methods are not called concurrently.
type Backend interface {
	// Handle returns a new handle: a separate instance with a higher epoch.
	Handle() (store.Handle, error)
	// Reopen closes the backend and opens it again on the same data. Old handles stay
	// closed.
	Reopen() error
	// Rebuild is Reopen, and makes everything derived (indexes) anew from headers and rows.
	Rebuild() error
	// Elapse advances the clock of the window of Batch.Dedup, and no other.
	Elapse(d time.Duration)
	// Close closes the backend with its handles.
	Close() error
}

// Window is how many messages a [Backend]'s window of Batch.Dedup must remember.
const Window = 2000

// Run runs the whole suite, in parallel. open returns a new, empty backend for each
// case; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	for _, concept := range []struct {
		name  string
		cases []testCase
	}{
		{"replay", replayCases()},
		{"model", modelCases()},
		{"append", appendCases()},
		{"fence", fenceCases()},
		{"pipeline", pipelineCases()},
		{"fold", foldCases()},
		{"concurrency", concurrencyCases()},
		{"decision", decisionCases()},
		{"dedup", dedupCases()},
		{"bound", boundCases()},
		{"disk", diskCases()},
		{"scope", scopeCases()},
		{"rows", rowCases()},
		{"contextrows", contextRowCases()},
		{"owner", ownerCases()},
		{"aside", asideCases()},
		{"list", listCases()},
		{"page size", pageSizeCases()},
		{"cursor", cursorCases()},
		{"due", dueCases()},
		{"claim", claimCases()},
		{"delete", deleteCases()},
		{"watch", watchCases()},
		{"context", contextCases()},
		{"close", closeCases()},
		{"refused", refusedCases()},
	} {
		t.Run(concept.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range concept.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, newFixture(t, open))
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, f *fixture)
}
