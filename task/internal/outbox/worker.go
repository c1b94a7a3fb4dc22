package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"a2a-server/store"
)

// errFull means that no worker is free.
var errFull = errors.New("all workers are busy")

// begin gives a worker to a lane, if it has none, does not rest, and its shares allow another.
// Otherwise it returns false, or errFull.
func (o *Outbox) begin(ctx, lasting context.Context, l Lane) (begun bool, err error) {
	name := l.Name()
	o.mu.Lock()
	_, rests := o.rests[name]
	skip, full := rests || o.busy[name], o.MaxWorkers > 0 && len(o.busy) >= o.MaxWorkers
	shares, known := o.waiting[name]
	o.mu.Unlock()
	switch {
	case skip:
		return false, nil
	case full:
		return false, errFull
	case !known:
		if shares, err = l.Shares(ctx); err != nil {
			return false, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range shares {
		if o.taken[s.Name] >= s.Most {
			if len(o.waiting) > 10_000 {
				clear(o.waiting)
			}
			o.waiting[name] = shares
			return false, nil
		}
	}
	delete(o.waiting, name)
	o.busy[name] = true
	o.take(shares, 1)
	wakes := o.wakes
	o.Spawn(func() {
		next := o.work(ctx, lasting, l)
		o.mu.Lock()
		delete(o.busy, name)
		o.take(shares, -1)
		if next.Rest > 0 {
			o.rests[name] = rest{until: o.Now().Add(min(next.Rest, MaxRest)), wakes: wakes, deaf: next.Deaf}
		}
		o.mu.Unlock()
		o.Wake()
	})
	return true, nil
}

// take counts workers of shares. The caller holds the lock.
func (o *Outbox) take(shares []Share, workers int) {
	for _, s := range shares {
		if o.taken[s.Name] += workers; o.taken[s.Name] == 0 {
			delete(o.taken, s.Name)
		}
	}
}

// work takes the steps of a worker.
func (o *Outbox) work(ctx, lasting context.Context, l Lane) (next Next) {
	for left := maxRun; left > 0; left-- {
		if ctx.Err() != nil {
			return Next{}
		}
		err := o.Guard(func() (err error) {
			next, err = l.Step(lasting, left == 1)
			return err
		})
		switch {
		case err == nil && next.More:
		case err == nil:
			return next
		case ctx.Err() != nil:
			return Next{}
		default:
			next = l.Failed(err)
			if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrDamaged) {
				o.Wait(ctx.Done()) // the process is ending
			}
			return next
		}
	}
	return Next{}
}

// Guard returns the error of f. A panic is logged, and is an error.
func (o *Outbox) Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			o.Log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("the sender of a message panicked")
			err = errors.New("the sender panicked; see the server's log")
		}
	}()
	return f()
}
