package push

import (
	"context"
	"errors"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
)

const (
	// maxViews is how many tasks are built at once for webhooks of version 0.3.
	maxViews = 4
	// maxViewLog is the largest log, in bytes, from which a task is built with its
	// artifacts.
	maxViewLog = 1 << 20
)

// legacy returns a task as it was after an event, for a webhook of version 0.3. A large task
// is without its artifacts, and a very large task without its history too.
func (d *Deliverer) legacy(ctx context.Context, id store.TaskID, seq uint64) ([]byte, error) {
	if d.cfg.Legacy == nil {
		return nil, errors.New("this server sends no notifications of version 0.3")
	}
	if d.box.Wait(d.views, ctx.Done()) == 1 {
		return nil, ctx.Err()
	}
	defer func() { d.views <- struct{}{} }()
	v, err := d.viewAt(ctx, id, seq)
	if err != nil {
		return nil, err
	}
	return d.cfg.Legacy(v)
}

// viewAt returns a task as it was after an event.
func (d *Deliverer) viewAt(ctx context.Context, id store.TaskID, seq uint64) (*task.View, error) {
	limit := store.Limit{Most: maxViewLog}
	p, err := d.cfg.Store.Read(ctx, store.System(), id, store.AtSnapshot(), limit)
	omit := err == nil && limit.Refuses(&p.Header)
	if limit = (store.Limit{NoBulk: omit}); omit {
		p, err = d.cfg.Store.Read(ctx, store.System(), id, store.AtSnapshot(), limit)
	}
	if err != nil {
		return nil, err
	}
	f := fold.New(id, p.Header.Context)
	if p.Snapshot != nil {
		folded, err := fold.Decode(p.Snapshot, p.Bulk, true /* viewOnly */)
		if err == nil && p.Header.Snapshot <= seq {
			f = folded
		} else if p, err = d.cfg.Store.Read(ctx, store.System(), id, store.After(0), limit); err != nil {
			return nil, err
		}
	}
	f.Omit(omit, p.Header.Size(true /* noBulk */) > maxViewLog)
	for {
		for i := range p.Events {
			if e := &p.Events[i]; e.Seq <= seq {
				if err := f.ApplyView(e); err != nil {
					return nil, err
				}
			}
		}
		if next, _ := p.Next.Seq(); !p.More || next >= seq {
			return f.View, nil
		}
		if p, err = d.cfg.Store.Read(ctx, store.System(), id, p.Next, limit); err != nil {
			return nil, err
		}
	}
}
