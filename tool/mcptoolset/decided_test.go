package mcptoolset_test

import (
	"context"
	"testing"
	"time"

	"a2a-server/tool"
)

// A server that does one thing at a time lists its tools only after its call: a call that a person has decided
// about waits for that, and is not refused.
func TestDecidedCallWaitsForABusyServer(t *testing.T) {
	t.Parallel()
	working := make(chan struct{})
	config := scripted(t, func(_ int, s *script) {
		long, _ := s.answer(echoTool)
		close(working)
		var list message
		for range 2 { // the first list is given up
			for list, _ = s.next(); list.Method != "tools/list"; list, _ = s.next() {
				if list.Method == "" {
					return
				}
			}
		}
		s.reply(long, "worked")
		s.list(list, echoTool)
		for m, ok := s.answer(echoTool); ok; m, ok = s.answer(echoTool) {
			s.reply(m, "decided")
		}
	})
	config.ListTimeout = 500 * time.Millisecond
	set := open(t, config)
	echo := named(t, set, "echo")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if got := result(t, echo, nil); got.Content != "worked" {
			t.Errorf("the long call = %v", got.Content)
		}
	}()
	<-working
	ctx := tool.ContextWithCallValues(t.Context(), &tool.CallValues{DecidedAt: time.Now()})
	if all, err := call(ctx, echo, nil); err != nil || all[0].Content != "decided" {
		t.Errorf("the call = %v, %v", all, err)
	}
	<-done
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := call(canceled, echo, nil); err == nil {
		t.Error("a canceled call succeeds")
	}
}
