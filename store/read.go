package store

import "slices"

// From says where Read begins. The zero From is the newest snapshot.
type From struct {
	after uint64
	plain uint64 // events up to here that are not bulk are skipped: a snapshot had them
	set   bool
}

// AtSnapshot begins with the newest snapshot and the events after it: bulk events after
// Header.BulkSnapshot and others after Header.Snapshot. Without a snapshot it reads the whole
// log.
func AtSnapshot() From { return From{} }

// After begins with the event after seq n; After(0) is the whole log.
func After(n uint64) From { return From{after: n, set: true} }

// Seq returns the n of After; ok is false if f was not made by After.
func (f From) Seq() (n uint64, ok bool) { return f.after, f.set }

// Start resolves AtSnapshot to the seq after which it begins in a task with header h;
// noBulk leaves out bulk events. It is for implementations.
func (f From) Start(h *Header, noBulk bool) From {
	if f.set {
		return f
	}
	start := From{after: h.Snapshot, plain: h.Snapshot, set: true}
	if !noBulk && h.Bulk > 0 {
		start.after = min(h.BulkSnapshot, h.Snapshot)
	}
	return start
}

// Advance returns f after everything up to seq n has been read.
func (f From) Advance(n uint64) From {
	f.after, f.set = n, true
	return f
}

// Holds reports whether a reader from f gets e; noBulk leaves out bulk events.
func (f From) Holds(e *Event, noBulk bool) bool {
	if e.Bulk {
		return e.Seq > f.after && !noBulk
	}
	return e.Seq > f.after && e.Seq > f.plain
}

// Limit bounds a page of events. Zero fields mean the defaults; values above a
// maximum mean the maximum.
type Limit struct {
	Events int // Defaults to 512, which is also the maximum.
	Bytes  int // of event data. Defaults to 256 KiB; at most 4 MiB.

	// NoBulk leaves out bulk events and the snapshot's bulk: neither is read. A page
	// may then be empty even if more events follow.
	NoBulk bool

	// Most is the largest log that is read, in bytes of event data, without bulk if NoBulk is
	// set. Of a larger log, Read returns only the header. 0: no limit.
	Most uint64
}

// Refuses reports whether the log of a task with header h is larger than l.Most.
func (l Limit) Refuses(h *Header) bool { return l.Most > 0 && h.Size(l.NoBulk) > l.Most }

// WithDefaults returns l with its defaults and maxima applied.
func (l Limit) WithDefaults() Limit {
	if l.Events <= 0 || l.Events > 512 {
		l.Events = 512
	}
	if l.Bytes <= 0 {
		l.Bytes = 256 << 10
	}
	l.Bytes = min(l.Bytes, 4<<20)
	return l
}

// Fill sets the events of a page with a header: events are the events of the log after from, or the
// newest of them. It is for implementations that have the log in memory, and does not change
// events.
func (p *LogPage) Fill(events []Event, from From, limit Limit) {
	if limit.Refuses(&p.Header) {
		p.Next, p.More = from, len(events) > 0
		return
	}
	if left := func(e Event) bool { return !from.Holds(&e, limit.NoBulk) }; slices.ContainsFunc(events, left) {
		events = slices.DeleteFunc(slices.Clone(events), left)
	}
	size := 0
	for i := range events {
		if size += len(events[i].Data); i > 0 && (i == limit.Events || size > limit.Bytes) {
			p.Events, p.More, p.Next = events[:i:i], true, from.Advance(events[i-1].Seq)
			return
		}
	}
	p.Events, p.Next = events[:len(events):len(events)], from.Advance(max(from.after, p.Header.Seq))
}

// LogPage is a consistent view of a task's header and a page of its events. Data may be
// shared between pages and must not be changed.
type LogPage struct {
	Header   Header
	Snapshot []byte // nil: none was asked for, or there is none
	Bulk     []byte // the newest bulk of a snapshot; nil: as with Snapshot, or it was left out
	Events   []Event
	More     bool // the view has events after the page
	Next     From // where the next page begins, when there are more
}
