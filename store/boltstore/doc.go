// Package boltstore keeps tasks in one bbolt file. It owns the file: its layout,
// its one writer and its caches in memory. It does not know what an event or a row
// means.
//
// # Layout
//
// Flat buckets; numbers in keys are big-endian. sc is the 16-byte key of an owner,
// cx the 16-byte key of a context, t milliseconds.
//
//	meta      format, epoch, created, incarnation, file (device and inode)
//	log       position → the events that one commit added to one task
//	task      id → header
//	live      id → epoch, sc, cx, state, t      tasks that are Live
//	list      sc state t id → –                 tasks that are not
//	list.ctx  sc cx t id → –                    the same by context
//	row       kind owner key → rev, index entries, value    (owner: a task, a context or sc)
//	rowidx    kind index ikey, row key → –
//	due       time owner kind key → payload
//	audit     n → task, entry
//
// live, list, list.ctx and rowidx are derived: [DB.Rebuild] rebuilds them from task
// and row. Damaged ones are moved to the bucket dropped, which nobody reads.
//
// A log value carries its number k within its task and the positions of its
// task's values k−1 and k−lowbit(k), so that any value is found in O(log² k)
// reads and a replay costs one read per value. Positions only grow, so that every
// write of the log goes to the right edge of one tree, whatever the number of
// tasks.
//
// A value whose events are all bulk says so in its head, and a reader without bulk
// skips it. A snapshot follows the events of a value, and its bulk, if any, follows
// the snapshot; the header has the positions of both.
//
// # Formats
//
// Format 4 is the oldest one that is read: a file that began with an earlier one is refused.
// Format 5 added compression with zstd: of log values after their heads, and of the values of
// rows. What is in a file of format 4 stays as it is.
//
// # Damage
//
// Log values, headers, rows, due payloads and audit entries end in a checksum over their
// bucket, key and contents; the head of a log value has its own, because a walk reads only
// heads. Nothing in a derived bucket can be wrong unnoticed, but an entry may be missing.
//
// A damaged value affects only its task: reading the task and writing to it is
// store.ErrDataLoss, and a list shows it as damaged and all others as they are.
//
// A page of bbolt has no checksum, but its parts have to fit: their number, their places,
// the order of keys, and what points to the page. bbolt checks none of it. So readers do not
// use bbolt for trees but [image], which checks all pages on the way before it says that
// something is not there, and each page that a list passes; and the writer checks the pages
// on the way to a key before bbolt changes it ([changing]). What was in such a page is
// store.ErrDataLoss. One of a derived bucket is dropped with its bucket, whoever meets it: all
// four are made again in slices, from task and row, and lists are store.ErrUnavailable until
// then. When the writer meets one of another bucket, it never writes again: store.ErrReadOnly ([DB.Trouble]). A person has to restore a backup. Without
// the newest meta page nothing can be read either: the older one lacks what has been
// acknowledged since.
//
// # Writing
//
// One goroutine takes everything that is queued, checks each batch on its own against
// the open transaction, applies those that pass, commits once, makes the commit
// visible to readers and answers every batch. A commit costs two fdatasyncs. Before it
// is answered the writer checks that the file is still the one at its path.
//
// # Reading
//
// bbolt shows a commit to readers when its meta page is written, before it is synced. A
// read uses a transaction only once it is durable ([durable]), and waits until then.
//
// # A disk that fails
//
// Space is allocated ahead of need ([space]), so that a full disk is noticed before
// anything is written. New tasks are refused when 4 MiB of room are left, all but deletions
// when 1 MiB is; free pages that are next to each other are room, too. A
// failed commit is known to be undone when a reader that begins afterwards does not see
// it: batches of turns then wait and go first when the disk accepts writes again, and
// everybody else gets store.ErrUnavailable ([putOff], [DB.Trouble]).
//
// When the sync of the meta page fails the outcome is unknown: the store accepts no more
// writes ([DB.Err]), and the process has to end. Reopening the file decides; before bbolt
// opens it, the newest meta page is written again and synced ([settle]).
package boltstore
