// Package boltstore keeps tasks in one bbolt file. It owns the file: its layout, its one
// writer and its caches in memory. It does not know the meaning of an event or a row.
//
// The packages below it, from the bottom: [boltfile], the open file; [layout], keys and values;
// internal/pages, the check of pages; internal/read, the reads; [counts] and [tail], the caches of readers; [writer].
// Package internal/backup copies a file that is written, and makes a file of the copy. A [DB] puts them together, and a handle is an
// instance's access.
//
// # Layout
//
// Flat buckets; numbers in keys are big-endian. sc is the 16-byte key of an owner, cx the
// 16-byte key of a context, t milliseconds.
//
//	meta      format, epoch, created, incarnation, file (device, inode, time of birth), released
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
// live, list, list.ctx and rowidx are derived: Open makes them from task and row when the file was
// restored, or they are damaged. Damaged derived buckets are moved to the bucket dropped, which is never read.
//
// A log value carries its number k within its task and the positions of its task's values k−1
// and k−lowbit(k), so that any value is found in O(log² k) reads and a replay costs a read per
// value. Positions only grow, so that every write of the log goes to the right edge of one
// tree, whatever the number of tasks.
//
// The head of a value marks it if all its events are bulk, and a reader without bulk skips it.
// A snapshot follows the events of a value, and its bulk, if any, follows the snapshot; the
// header has the positions of both.
//
// # Format
//
// The number of the format in meta, and in the first line of a backup, decides for everything in the
// file: any other number is refused ([layout.CheckFormat]; docs/design/formats.md). Log values after their heads, and
// values of rows, may be compressed with zstd.
//
// # Damage
//
// Log values, headers, rows, due payloads and audit entries end in a checksum over their
// bucket, key and contents; the head of a log value has its own, because a walk reads only
// heads. A damaged value affects only its task: reading the task and writing to it is
// store.ErrDataLoss, and a list shows it as damaged and all other tasks as they are.
//
// A page of bbolt has no checksum, and bbolt trusts its pages: where one is damaged, it panics, faults,
// or returns wrong keys. After a panic or a fault in a transaction the process does nothing more with
// the file ([boltfile.File.Break]), and leaves the mark .NAME.failed beside it. The next [Options.Open]
// then reads every page ([pages.Image.Check]). A file in which only derived buckets are damaged gets
// new ones, made from task and row; a file with other damage is refused; and of a sound file [DB.Failed]
// says that the program has a bug. A backup checks the pages that it copies.
//
// Without the newest meta page the older one lacks all commits acknowledged since. At a start the record
// beside the store tells whether there were any.
//
// # Writing
//
// One goroutine takes all queued ops, checks each batch on its own against the open
// transaction, applies the batches that pass, commits once, makes the commit visible to
// readers and answers every batch. A commit costs two fdatasyncs. Before it is answered the
// writer checks that the path still names the file, and records the number of the commit in
// the file .NAME.epoch beside the store, without a sync. A store that is older than its record is
// refused: an earlier copy was written over it, or its newest meta page, with an acknowledged
// commit, is lost. So is a store whose record cannot be read. Without the file it is served.
//
// # Reading
//
// bbolt shows a commit to readers when its meta page is written, before it is synced. A read
// uses a transaction only once it is durable ([boltfile.File.View]), and waits until then.
//
// # A disk that fails
//
// Space is allocated ahead of need ([boltfile.Space]), so that a full disk is noticed before anything
// is written. New tasks are refused when 4 MiB of room are left, all but deletions when 1 MiB
// is; contiguous free pages are room, too. A failed commit is known to be undone when a reader
// that begins afterwards does not see it: batches of turns then wait and go first when the
// disk accepts writes again, and all other batches get store.ErrUnavailable
// ([DB.Trouble]).
//
// When the sync of the meta page fails the outcome is unknown: the store accepts no more
// writes ([DB.Err]), and the process has to end. Reopening the file decides; before bbolt
// opens it, the newest meta page is written again and synced.
package boltstore
