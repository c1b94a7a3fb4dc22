package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/task"
	"a2a-server/task/engine"
)

const (
	maxTail   = 1024   // newest entries that are kept in memory, for all followers
	maxReplay = 20_000 // entries that a follower catches up on; a follower further behind gets a reset
	maxFrames = 200    // entries of a call of yield
)

// auditLog is the audit: see the methods of [engine.Engine].
type auditLog interface {
	Audit(ctx context.Context, by auth.Principal, after uint64, limit int) (entries []engine.AuditEntry, next uint64, err error)
	EachAudit(ctx context.Context, after uint64, yield func(*engine.AuditEntry) bool) (next uint64, err error)
	WatchAudit() (wake <-chan struct{}, stop func())
}

// taskLog are the public events of tasks: see the methods of [engine.Engine].
type taskLog interface {
	Header(ctx context.Context, by auth.Principal, id engine.ID) (engine.Header, error)
	Events(ctx context.Context, by auth.Principal, id engine.ID, n uint64, yield func([]engine.Event) error) error
	Follow(ctx context.Context, by auth.Principal, id engine.ID, n uint64, until engine.Until, yield func([]engine.Event) error) error
}

// feed is the tail of the audit, read once for all followers.
type feed struct {
	audit auditLog
	stirs chan struct{} // a follower has joined

	mu        sync.Mutex
	end       uint64               // number of the newest entry that was read
	known     bool                 // end is the end of the audit, as of the last read
	tail      []*engine.AuditEntry // newest last, without a gap up to end
	followers map[chan struct{}]struct{}
}

func newFeed(audit auditLog) *feed {
	return &feed{audit: audit, stirs: make(chan struct{}, 1), followers: map[chan struct{}]struct{}{}}
}

// run reads the audit as it grows, while there are followers.
func (f *feed) run(ctx context.Context) error {
	wake, stop := f.audit.WatchAudit()
	defer stop()
	for {
		f.read(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-f.stirs:
		}
	}
}

// read appends new entries to the tail, and wakes the followers.
func (f *feed) read(ctx context.Context) {
	f.mu.Lock()
	idle, end := len(f.followers) == 0, f.end
	if idle { // entries that come meanwhile are not read
		f.known, f.tail = false, nil
	}
	known := f.known
	f.mu.Unlock()
	if idle {
		return
	}
	if !known {
		var err error
		if end, err = f.last(ctx, end); err != nil {
			return // the next wake-up reads again
		}
	}
	var fresh []*engine.AuditEntry
	next, err := f.audit.EachAudit(ctx, end, func(one *engine.AuditEntry) bool {
		fresh = append(fresh, one)
		return len(fresh) < maxTail
	})
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tail = append(f.tail, fresh...)
	if over := len(f.tail) - maxTail; over > 0 {
		f.tail = append([]*engine.AuditEntry(nil), f.tail[over:]...)
	}
	f.end, f.known = next, true
	for one := range f.followers {
		signal(one)
	}
	if len(fresh) == maxTail {
		signal(f.stirs) // there may be more
	}
}

// last returns the number of the newest entry, which is at least after: numbers have no gaps.
func (f *feed) last(ctx context.Context, after uint64) (uint64, error) {
	exists := func(n uint64) (bool, error) {
		found := false
		next, err := f.audit.EachAudit(ctx, n, func(*engine.AuditEntry) bool { found = true; return false })
		return found || next > n, err
	}
	low := after
	for {
		more, err := exists(low)
		if err != nil || !more {
			return low, err
		}
		step := uint64(1)
		for ; ; step *= 2 {
			more, err := exists(low + step)
			if err != nil {
				return 0, err
			}
			if !more {
				break
			}
		}
		low += max(step/2, 1)
	}
}

func (f *feed) join() (wake chan struct{}, leave func()) {
	wake = make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followers[wake] = struct{}{}
	signal(f.stirs)
	return wake, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.followers, wake)
	}
}

// since returns the entries after n, and the number to continue after. ok is false if the tail
// does not reach back so far.
func (f *feed) since(n uint64) (entries []*engine.AuditEntry, next uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known || n > f.end {
		return nil, n, true
	}
	if n < f.end && (len(f.tail) == 0 || f.tail[0].N > n+1) {
		return nil, n, false
	}
	for i, one := range f.tail {
		if one.N > n {
			entries = f.tail[i:len(f.tail):len(f.tail)]
			break
		}
	}
	if len(entries) > maxFrames {
		entries = entries[:maxFrames]
		return entries, entries[maxFrames-1].N, true
	}
	return entries, f.end, true
}

// now returns the end of the audit, once it is known.
func (f *feed) now(ctx context.Context, wake <-chan struct{}) (uint64, error) {
	for {
		f.mu.Lock()
		end, known := f.end, f.known
		f.mu.Unlock()
		if known {
			return end, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-wake:
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Events calls yield with the entries of the audit that c may see, as they become durable,
// after the one with the id last, or from now on for "". It returns when ctx ends, with its
// cause, or yield fails. Without last, the first event has only the ID of the place. With one,
// the first call has no event, and only means that the feed has begun. An event with Reset has no
// entry either: the position is gone or too far behind, so that entries may have been missed.
// Helpers do the work: their frames are not on the stack while it waits (docs/design/streams.md).
func (s *Service) Events(ctx context.Context, c *Caller, last string, yield func([]client.Event) error) error {
	wake, leave := s.feed.join()
	defer leave()
	f, events, err := s.begin(ctx, c, last, wake)
	if err == nil {
		err = yield(events)
	}
	for err == nil {
		var more bool
		if events, more, err = f.newer(ctx); len(events) > 0 {
			err = yield(events)
		}
		if err != nil || more {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake:
		}
	}
	return err
}

// follower is a place in the feed, and what its reader may see.
type follower struct {
	s     *Service
	sight engine.AuditSight
	at    uint64
}

// begin returns the place after the event with the id last, and the first events there.
func (s *Service) begin(ctx context.Context, c *Caller, last string, wake <-chan struct{}) (*follower, []client.Event, error) {
	sight, err := engine.AuditSightOf(c.By)
	if err != nil {
		return nil, nil, err
	}
	end, err := s.feed.now(ctx, wake)
	if err != nil {
		return nil, nil, err
	}
	at, ok := s.position(last)
	switch {
	case last == "":
		return &follower{s, sight, end}, []client.Event{{ID: s.eventID(end), Entry: client.AuditEntry{}}}, nil
	case !ok || at > end || end-at > maxReplay:
		return &follower{s, sight, end}, []client.Event{{ID: s.eventID(end), Reset: true}}, nil
	}
	return &follower{s, sight, at}, nil, nil
}

// newer returns events after the place, and moves it. There may be more.
func (f *follower) newer(ctx context.Context) (events []client.Event, more bool, err error) {
	entries, next, ok := f.s.feed.since(f.at)
	if !ok {
		if next, err = f.s.cfg.Audit.EachAudit(ctx, f.at, func(one *engine.AuditEntry) bool {
			entries = append(entries, one)
			return len(entries) < maxFrames
		}); err != nil {
			return nil, false, err
		}
	}
	for _, one := range entries {
		if f.sight.Sees(&one.Audit) {
			events = append(events, client.Event{ID: f.s.eventID(one.N), Entry: entryOf(one)})
		}
	}
	more, f.at = next > f.at, next
	return events, more, nil
}

// eventID returns the id of a position in the feed, which is valid for this store only.
func (s *Service) eventID(n uint64) string { return fmt.Sprintf("%x-%d", s.cfg.Incarnation, n) }

func (s *Service) position(id string) (n uint64, ok bool) {
	of, text, found := strings.Cut(id, "-")
	n, err := strconv.ParseUint(text, 10, 64)
	return n, found && err == nil && of == strconv.FormatUint(s.cfg.Incarnation, 16)
}

// taskEvents calls yield with the public events of a task after a seq, as they become durable,
// until the task ends, ctx ends, or yield fails. The first call has no event, and says that c may
// follow the task.
func (s *Service) taskEvents(ctx context.Context, c Caller, id string, after uint64, yield func([]engine.Event) error) error {
	if err := c.By.May(auth.Follow); err != nil {
		return err
	}
	parsed, ok := engine.ParseID(id)
	if !ok {
		return task.ErrTaskNotFound
	}
	if _, err := s.cfg.Events.Header(ctx, c.By, parsed); err != nil {
		return err
	}
	if err := yield(nil); err != nil {
		return err
	}
	return s.cfg.Events.Follow(ctx, c.By, parsed, after, engine.UntilEnd, yield)
}
