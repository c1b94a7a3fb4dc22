package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// waiter is a toolset that, after it was asked once, answers no more until its context
// ends.
type waiter struct {
	tools []tool.Tool
	asked atomic.Int32
}

func (s *waiter) Name() string { return "waiter" }

func (s *waiter) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	if s.asked.Add(1) == 1 {
		return s.tools, nil
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Whoever sends a message waits no longer than he wants to, whatever a toolset does.
func TestSendEndsWithItsContext(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		set := &waiter{tools: []tool.Tool{&fake{name: "pay", call: func(tool.Context, map[string]any) (map[string]any, error) { return args{}, nil }}}}
		w.start(func(cfg *engine.Config) { cfg.Tools = tool.NewRegistry(set) })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, err := w.engine.Send(ctx, engine.Send{By: alice, Message: w.calls("pay", args{})})
			t.Logf("Send() = %v", err)
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case <-sent:
		default:
			t.Error("Send() has not returned an hour after the end of its context")
			w.engine.Stop(0)
			<-sent
		}
	})
}

// hanging is a tool whose Cancel does not return.
type hanging struct {
	fake
	door chan struct{}
}

func (h *hanging) SupportsCancellation() bool { return true }
func (h *hanging) Cancel(string) bool         { <-h.door; return true }

// Stop waits for no tool that ignores being canceled, wherever that is stuck.
func TestStopWaitsForNoToolThatCannotBeCanceled(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		h := &hanging{door: make(chan struct{})}
		h.fake = fake{name: "hanging", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil, context.Cause(ctx)
		}}
		w.tools.extra = []tool.Tool{h}
		w.start()
		w.begin(w.calls("hanging", args{}))
		synctest.Wait()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			w.engine.Stop(0)
		}()
		time.Sleep(time.Hour)
		if !closedNow(stopped) {
			t.Error("Stop(0) has not returned after an hour")
		}
		close(h.door)
		<-stopped
	})
}

func closedNow(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
