package call

import (
	"context"
	"errors"

	"a2a-server/internal/guard"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// Looks are the looks that may run at once, and maxLooks those of a tool.
const (
	Looks    = 64
	maxLooks = 16
)

// takeLook takes the place of a look of a tool. A tool has at least a place, and at most half of those
// that are free: slow tools leave room for other tools, however many they are.
func (c *Runs) takeLook(name string) bool {
	c.looking.Lock()
	defer c.looking.Unlock()
	all, _ := c.looks.Total()
	if own := c.looks.Held(name); own > 0 && 2*own >= Looks-all {
		return false
	}
	return c.looks.Take(name, 1) == nil
}

// Look has the tool of a suspended call look at it, in the context of the task's owner. Without same
// and waits the call is to be entered; so is a call that cannot be looked at. looked is false while too
// many looks of the tool run.
func (c *Runs) Look(call *fold.Call, f *fold.Fold) (waits []tool.Waiting, same, looked bool) {
	if !c.takeLook(call.Tool) {
		return nil, false, false
	}
	ctx, cancel := c.Env.Within(c.Env.Ctx, tool.WatchTime, context.DeadlineExceeded)
	defer cancel()
	type result struct {
		waits []tool.Waiting
		err   error
	}
	by := c.Env.Rules().Owned(ctx, f)
	came, _ := env.CallWithin(ctx, c.Env, func() (r result) {
		defer c.looks.Give(call.Tool, 1)
		r.waits, r.err = c.watch(by, call)
		return r
	})
	if c.Env.Ctx.Err() != nil || ctx.Err() != nil {
		return nil, true, true // a look that takes too long says nothing, even if it returns at that moment
	}
	if came.err != nil {
		came.waits = nil
	}
	return came.waits, errors.Is(came.err, tool.ErrUnchanged), true
}

// watch calls Watch of the tool of a suspended call, if the tool is the same as when it was suspended.
func (c *Runs) watch(by *task.ReadonlyContext, call *fold.Call) (waits []tool.Waiting, err error) {
	defer guard.Recover(&err, "panic")
	entry, err := c.Env.Rules().Tools.Lookup(by, call.Tool)
	if err != nil || entry.Digest != call.Digest {
		return nil, err
	}
	w, is := tool.As[tool.Watcher](entry.Tool)
	if !is {
		return nil, nil
	}
	return w.Watch(&jobContext{ReadonlyContext: *by, runs: c, call: call.ID}, call.ToolState)
}
