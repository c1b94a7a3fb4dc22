package a2a_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"a2a-server/auth"
)

// heavy begins heavy work of the only caller, and returns what it is to call when it has
// a processor: nil while it waits for one.
func (r *roomy) heavy() (end func() func()) {
	got := make(chan func(), 1)
	go func() {
		end, err := r.engine.Processor(r.t.Context(), auth.Anonymous())
		if err != nil {
			return
		}
		got <- end
	}()
	return func() func() {
		synctest.Wait()
		select {
		case end := <-got:
			return end
		default:
			return nil
		}
	}
}

// All that is read of a large request is read by who has a processor for it: the JSON,
// then what it says, whatever method it is for, and a message as it will be in the log.
func TestLargeRequestsAreReadInTurn(t *testing.T) {
	t.Parallel()
	junk := strings.Repeat("x", 100<<10)
	type request struct {
		path, body string
		steps      int // with a processor each
	}
	rpc := func(method string) request {
		return request{"/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"id":"ID","junk":%q}}`, method, junk), 2}
	}
	send := fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}}`, junk)
	for name, request := range map[string]request{
		"GetTask": rpc("GetTask"), "ListTasks": rpc("ListTasks"), "CancelTask": rpc("CancelTask"), "SubscribeToTask": rpc("SubscribeToTask"),
		"SendMessage":   {"/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%s}`, send), 3},
		"send":          {"/message:send", send, 3},
		"message/send":  {"/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"text":%q}]}}}`, junk), 4}, // one of them converts it
		"send a stream": {"/message:stream", send, 3},
		"cancel":        {"/tasks/ID:cancel", fmt.Sprintf(`{"junk":%q}`, junk), 2},
		"subscribe":     {"/tasks/ID:subscribe", fmt.Sprintf(`{"junk":%q}`, junk), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startRoomy(t)
				id := r.pour(1, 1)
				var ends []func()
				next := r.heavy()
				for end := next(); end != nil; end = next() { // until the caller has all that it may
					ends = append(ends, end)
					next = r.heavy()
				}
				ends[0]()
				ends[0] = next() // what waited has it now
				c := r.request(http.MethodPost, strings.Replace(request.path, "ID", id, 1), strings.Replace(request.body, "ID", id, 1))
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					_, _ = c.Read(make([]byte, 1))
				}()
				early := func() bool {
					synctest.Wait()
					select {
					case <-answered:
						return true
					default:
						return false
					}
				}
				end := ends[0]
				for range request.steps {
					if early() {
						t.Fatal("a part of the request was read without a processor")
					}
					later := r.heavy()
					synctest.Wait()
					end() // the request is next, and then what came after it
					if end = later(); end == nil {
						t.Fatal("the processor was not given back")
					}
				}
				for _, end := range append(ends[1:], end) {
					end()
				}
				if !early() {
					t.Error("the request is not answered")
				}
				_ = c.Close()
			})
		})
	}
}
