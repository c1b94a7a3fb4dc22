package mcptoolset_test

import (
	"context"
	"strings"
	"sync/atomic"
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
	config = config.WithListTimeout(500 * time.Millisecond)
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

// A tool that the server lists in another way since it was looked up, as the listing before a call shows, is not called:
// gates would judge it anew. Then it is offered as it is listed.
func TestCallOfAToolThatIsListedInAnotherWay(t *testing.T) {
	t.Parallel()
	hinted := func(hints string) string {
		return strings.TrimSuffix(listed("pay", "Pays"), "}") + `,"annotations":{` + hints + `}},` + listed("refund", "Pays back")
	}
	first := hinted(`"destructiveHint":false`)
	for name, tc := range map[string]struct{ now, want string }{
		"the same":                 {first, ""},
		"destructive":              {hinted(`"destructiveHint":true`), "has changed the definition or the claims of the tool pay"},
		"without a hint":           {hinted(""), "has changed the definition or the claims of the tool pay"},
		"another is not there":     {strings.Replace(first, "refund", "refund2", 1), "the tool pay needs an approval"},
		"another tool was changed": {strings.Replace(first, "back", "more", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var later, paid atomic.Int64
			config := scripted(t, func(_ int, s *script) {
				tools := first
				for m, ok := s.greeted(); ok; m, ok = s.greeted() {
					if m.Method == "tools/list" {
						s.list(m, tools)
						tools = tc.now
						continue
					}
					paid.Add(1)
					s.reply(m, "paid")
				}
			})
			config.Approve, config.Trust = []string{"refund"}, []string{"pay"}
			config.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
			set := open(t, config)
			pay := named(t, set, "pay")
			later.Store(int64(2 * time.Minute))
			_, err := call(t.Context(), pay, nil)
			refused := err != nil && strings.Contains(err.Error(), tc.want)
			if refused != (tc.want != "") || (paid.Load() == 0) != refused {
				t.Errorf("call = %v, and the server got %d calls; want the error %q", err, paid.Load(), tc.want)
			}
			if _, err := call(t.Context(), named(t, set, "pay"), nil); err != nil {
				t.Errorf("call of the tool as it is listed now = %v", err)
			}
		})
	}
}
