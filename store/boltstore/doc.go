// Package boltstore keeps tasks in one bbolt file. It owns the file: its layout,
// its one writer and what is cached of it in memory. It does not know what an
// event or a row means.
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
//	row       kind owner key → rev, index entries, value
//	rowidx    kind index ikey, row key → –
//	due       time owner kind key → payload
//	audit     n → task, entry
//
// live, list, list.ctx and rowidx are derived: [DB.Rebuild] makes them from task
// and row.
//
// A log value carries its number k within its task and the positions of its
// task's values k−1 and k−lowbit(k), so that any value is found in O(log² k)
// reads and a replay costs one read a value. Positions only grow, so that every
// write of the log goes to the right edge of one tree, whatever the number of
// tasks.
//
// A value whose events are all bulk says so in its head, and is passed over by whoever
// reads without bulk. A snapshot follows the events of a value, and its bulk, if it
// has any, follows that; the header has the position of either.
//
// # Formats
//
// Format 2 added bulk: values and headers of version 2. In those of version 1 no event is
// bulk, and a snapshot holds all events. Format 3 added checksums. What is there stays as
// it was written, and is read so.
//
// # Damage
//
// Log values, headers, rows, due payloads and audit entries end in a checksum over their
// bucket, key and contents; the head of a log value has one of its own, for those who walk.
// What is derived holds nothing that could be wrong unnoticed, but may lack an entry.
//
// A value that is damaged damages its task alone: reading it and writing to it is
// store.ErrDataLoss, and a list shows it as damaged and all others as they are. So does a
// damaged page of bbolt with what it held, where bbolt notices. When the writer meets one,
// which it would have to build on, nothing more is written, for good: store.ErrReadOnly
// ([DB.Trouble]). Only a person can restore a copy. Without the newest meta page nothing can
// be read either: the older one lacks what has been acknowledged since.
//
// # Writing
//
// One goroutine takes everything that is queued, checks each batch alone against
// the transaction as it stands, applies what passed, commits once, makes it
// visible to readers and answers every batch. A commit is two fdatasyncs. Before it is
// answered the file must still be the one at its path.
//
// # Reading
//
// bbolt shows a commit to readers when its meta page is written, and that is before it
// is synced. A read continues only in a transaction that the disk has ([durable]); else it
// waits.
//
// # A disk that fails
//
// Room is taken ahead of need ([space]), so that a full disk is met before anything is
// written; the last 16 MiB of it are left to tasks that have begun. A commit that fails
// is definite when a reader that begins afterwards does not see it: nothing of it is
// there, batches of turns wait and go first when the disk takes writes again, everybody
// else is told store.ErrUnavailable ([putOff], [DB.Trouble]).
//
// When the sync of the meta page fails the outcome is unknown: the store takes nothing
// more ([DB.Err]), and the process has to end. Opening the file again decides; before
// bbolt does, the newest meta page is written once more and synced ([settle]).
package boltstore
