// Package store is the storage contract of a2a-server: a task is an append-only log of events
// with a small header, and everything that must be true together is one [Batch], committed
// whole or not at all.
//
// The package owns the contract: the interfaces, the values that cross them, the errors, the
// limits, and the arithmetic of a batch ([Next]) that every implementation shares. It does not
// know the meaning of an event, a row or an audit entry: they are bytes. Implementations live
// below it (memstore, boltstore) and pass storetest whole.
//
// # Numbers of a task
//
//   - seq numbers all events, private and public, from 1 without gaps.
//   - pub numbers the public events alone, from 1 without gaps.
//   - rev starts at 1 and grows by exactly 1 with every batch of the task, apart from
//     chunks and asides. It is the optimistic lock.
//   - fence starts at 1 and grows by exactly 1 when the right to run changes
//     hands ([Change.TakeFence], [Store.Claim]). A batch from an older turn fails.
//
// # Bulk
//
// An event may be bulk ([Event.Bulk]): readers that do not need it skip it ([Limit.NoBulk]),
// and a snapshot keeps it separate ([Snapshot.Bulk]), so that it is not even read. The header
// counts its bytes.
//
// # Phases of a task
//
//	          TakeFence                      TakeFence
//	(new) ──▶ Live ◀──────────▶ Parked ──────────────▶ Final
//	            └─────────────────────────────────────▶
//
// A Live task is run by the handle whose epoch its header names. A Parked task waits and costs
// only its rows. A Final task accepts no more events from a turn and no more changes of
// status; later events are private.
package store
