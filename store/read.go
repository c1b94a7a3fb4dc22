package store

// From says where Read begins. The zero From is the newest snapshot.
type From struct {
	after uint64
	set   bool
}

// AtSnapshot begins with the newest snapshot and the events behind it, or with
// the first event when there is no snapshot.
func AtSnapshot() From { return From{} }

// After begins with the event behind seq n; After(0) is the whole log.
func After(n uint64) From { return From{after: n, set: true} }

// Seq returns the n of After, and whether it was one.
func (f From) Seq() (n uint64, ok bool) { return f.after, f.set }

// Limit bounds a page of events. Zero fields mean the defaults, larger values
// than the maxima the maxima.
type Limit struct {
	Events int // Defaults to 512, which is also the maximum.
	Bytes  int // of event data. Defaults to 256 KiB; at most 4 MiB.
}

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

// View is a task's header and a page of its events, from one moment. Data may be
// shared between views and must not be changed.
type View struct {
	Header   Header
	Snapshot []byte // nil: none was asked for, or there is none
	Events   []Event
	More     bool // events behind the page existed at that moment
}
