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
	// Close closes the backend with its handles.
	Close() error
}

// Run runs the whole suite, in parallel. open returns a new, empty backend for each
// case; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, f *fixture)
	}{
		{"replay/many commits", testReplayLong},
		{"replay/a reader that stops between pages", testStoppedReader},
		{"model/seed 0", testModel(0)},
		{"model/seed 1", testModel(1)},
		{"model/seed 2", testModel(2)},
		{"append/read back byte for byte", testReadBack},
		{"append/limits of a page", testPageLimits},
		{"append/one bad batch among many fails alone", testOneBadBatch},
		{"append/views are kept", testViewsAreKept},
		{"fence/an old or future fence, and a task at rest", testOldFence},
		{"fence/cancel wins against a stream", testCancelWins},
		{"fence/decide wins against a stream", testDecideWins},
		{"pipeline/chunks, chunks, step", testChunksThenStep},
		{"pipeline/chunks of a turn that is cut off", testChunksCutOff},
		{"pipeline/what refuses chunks, and changes between them", testChunksRefused},
		{"fold/snapshots with and without bulk", testFold},
		{"fold/in one commit", testFoldPipelined},
		{"fold/long runs of bulk", testBulkRuns},
		{"fold/at the tail", testBulkTail},
		{"fold/large", testFoldLarge},
		{"fold/most", testMost},
		{"concurrency/one task", testOneTask},
		{"concurrency/everything at once", testEverythingAtOnce},
		{"decision/one of fifty wins with the rev read again", testOneRetriedDecisionWins},
		{"decision/one of fifty wins in one queue", testOneQueuedDecisionWins},
		{"decision/one of fifty puts a row of a scope", testOneScopeRowWins},
		{"message/creates only its first task", testMessage},
		{"message/at once and in one queue", testMessageAtOnce},
		{"message/a failed create leaves no row", testMessageFailed},
		{"bound/parked: what counts", testParked},
		{"bound/at once", testBoundsAtOnce},
		{"bound/in one queue", testBoundsInOneQueue},
		{"disk/what an owner uses", testDiskOfOwner},
		{"disk/many tasks", testDiskOfManyTasks},
		{"disk/the store as a whole", testDiskOfAll},
		{"scope/what is foreign is not found", testForeign},
		{"rows/life of a row", testRowLife},
		{"rows/awkward keys", testAwkwardKeys},
		{"rows/small pages", testSmallPages},
		{"contextrows/queries", testContextRowQueries},
		{"contextrows/a bound", testContextRowBound},
		{"contextrows/deleted with the last task", testContextRowsDeleted},
		{"contextrows/deleted while the context is used", testContextRowsDeletedMeanwhile},
		{"contextrows/the last tasks deleted at once", testContextRowsDeletedAtOnce},
		{"contextrows/the last deletion interrupted", testContextRowsDeleteInterrupted},
		{"contextrows/count as disk usage", testContextRowsDisk},
		{"owner/rows of the owner in a change", testOwnerRows},
		{"owner/needed rows", testNeeds},
		{"owner/what a batch depends on outside the store", testHolds},
		{"owner/no batch passes after the removal of the row that it needs", testNeedsRace},
		{"owner/a counted row is used as often as it says", testCountedRow},
		{"aside/next to a turn that runs", testAsideTurn},
		{"aside/while the task is being deleted", testAsideDeleting},
		{"list/totals after a time filter", testTotalsAfterTimeFilter},
		{"list/during changes", testListDuringChanges},
		{"page size/default and maximum", testPageSizes},
		{"page size/pages of the audit", testAuditPages},
		{"cursor/of another list", testForeignCursor},
		{"cursor/garbage", testGarbageCursor},
		{"cursor/outlives handle and page size", testCursorLasts},
		{"due/order, limit and next time", testDueOrder},
		{"due/past rows that wait", testDuePastWaiting},
		{"claim/live tasks of an older epoch", testClaim},
		{"claim/after a reopen by both at once", testClaimAfterReopen},
		{"claim/against a running turn", testClaimRunning},
		{"claim/leases", testLeases},
		{"delete/nothing is left but the audit", testDeleteAll},
		{"delete/interrupted", testDeleteInterrupted},
		{"delete/by both handles at once", testDeleteTwice},
		{"watch/by any handle", testWatch},
		{"watch/foreign and other tasks, rows and kinds", testWatchSilent},
		{"watch/stop", testWatchStop},
		{"watch/a coalesced wake-up is not lost", testWatchConsumer},
		{"watch/claim and delete", testWatchClaimDelete},
		{"watch/rows", testWatchRows},
		{"context/ended before", testContextEnded},
		{"context/ends afterwards or meanwhile", testContextEndsLater},
		{"close/a handle", testCloseHandle},
		{"close/queued batches are answered", testCloseQueued},
		{"close/against appends", testCloseRace},
		{"close/the backend", testCloseBackend},
		{"close/health", testHealth},
		{"close/rebuild changes nothing", testRebuild},
		{"refused/shapes that the contract does not have", testInvalid},
		{"refused/too large", testTooLarge},
		{"refused/just as large as may be", testLargest},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newFixture(t, open))
		})
	}
}
