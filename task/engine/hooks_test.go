package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// after is an after hook that does something with a result.
func after(f func(r *task.Result) error) task.AfterHook {
	return func(_ agent.ReadonlyContext, _ tool.ToolCall, r *task.Result) error { return f(r) }
}

const secret = "4111-1111"

// An after hook has the last word on what a planner and the artifact get of a result. If
// it fails in any way, nobody gets the result.
func TestAfterHooks(t *testing.T) {
	t.Parallel()
	withheld := "is withheld"
	mask := after(func(r *task.Result) error {
		r.Content = bytes.ReplaceAll(r.Content, []byte(secret), []byte("****"))
		return nil
	})
	for _, tc := range []struct {
		name   string
		hooks  []task.AfterHook
		result string // "": an error
		err    string
	}{
		{"looks", []task.AfterHook{after(func(*task.Result) error { return nil })}, `{"card":"` + secret + `"}`, ""},
		{"replaces", []task.AfterHook{mask}, `{"card":"****"}`, ""},
		{"replaces in place", []task.AfterHook{after(func(r *task.Result) error {
			before, _, _ := bytes.Cut(r.Content, []byte(secret))
			copy(r.Content[len(before):], "000000000")
			return nil
		})}, `{"card":"000000000"}`, ""},
		{"in order", []task.AfterHook{mask, after(func(r *task.Result) error {
			r.Content = append(append([]byte(` [ `), r.Content...), ']')
			return nil
		})}, `[{"card":"****"}]`, ""},
		{"makes an error", []task.AfterHook{after(func(r *task.Result) error { r.Error = "not for you"; return nil }), mask}, "", "not for you"},
		{"fails", []task.AfterHook{after(func(r *task.Result) error { return errors.New("broken: " + string(r.Content)) }), mask}, "", withheld},
		{"panics", []task.AfterHook{after(func(r *task.Result) error { panic(string(r.Content)) })}, "", withheld},
		{"ends its goroutine", []task.AfterHook{after(func(*task.Result) error { runtime.Goexit(); return nil })}, "", "the tool ended its goroutine"},
		{"fails with a broken error", []task.AfterHook{after(func(*task.Result) error { return (*nilError)(nil) })}, "", withheld},
		{"clears", []task.AfterHook{after(func(r *task.Result) error { r.Content = nil; return nil })}, "", withheld},
		{"leaves no JSON", []task.AfterHook{after(func(r *task.Result) error { r.Content = []byte(`{"card":`); return nil })}, "", withheld},
		{"leaves no UTF-8", []task.AfterHook{after(func(r *task.Result) error { r.Content = []byte("\"\xff\""); return nil })}, "", withheld},
		{"leaves too much", []task.AfterHook{after(func(r *task.Result) error {
			r.Content = []byte(`"` + strings.Repeat("x", 2<<20) + `"`)
			return nil
		})}, "", "at most"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			card := &fake{name: "card", call: func(tool.Context, map[string]any) (map[string]any, error) {
				return map[string]any{"card": secret}, nil
			}}
			var log safeBuffer
			got, all, result := runTool(t, card, func(c *engine.Config) {
				c.AfterHooks, c.Log = tc.hooks, zerolog.New(&log)
				c.ErrorHooks = []task.AfterHook{after(func(r *task.Result) error {
					r.Content, r.Error = []byte(`"an error hook saw the failure of an after hook"`), ""
					return nil
				})}
			})
			if string(result.Content) != tc.result || !strings.Contains(result.Error, tc.err) || (result.Outcome == task.OutcomeOK) != (tc.result != "") {
				t.Errorf("the call ended %s: %s, %s; want %s%s", result.Outcome, result.Content, result.Error, tc.result, tc.err)
			}
			seen, _ := json.Marshal(got)
			if tc.name != "looks" && (bytes.Contains(seen, []byte(secret)) || strings.Contains(result.Error, secret)) {
				t.Errorf("somebody sees the card: %s, %s", seen, result.Error)
			}
			if tc.result != "" && (len(all) != 1 || !strings.Contains(all[0].Parts, `"data":`+tc.result)) || tc.result == "" && len(all) > 0 {
				t.Errorf("published = %+v, want %s", all, tc.result)
			}
			if says := strings.Contains(log.String(), "an after hook"); says != (tc.err == withheld) {
				t.Errorf("the log says that a hook failed: %t\n%s", says, log.String())
			}
		})
	}
}

// nilError panics when it is asked what it says.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// An error hook has the last word on what a planner gets of a failure, and may make it a
// result, which the after hooks then see.
func TestErrorHooks(t *testing.T) {
	t.Parallel()
	seen := after(func(r *task.Result) error {
		r.Content = append(append([]byte(`["checked",`), r.Content...), ']')
		return nil
	})
	for _, tc := range []struct {
		name   string
		hook   func(r *task.Result) error
		result string
		err    string
	}{
		{"looks", func(*task.Result) error { return nil }, "", "no such card: " + secret},
		{"replaces", func(r *task.Result) error { r.Error = "no such card"; return nil }, "", "no such card"},
		{"makes a result", func(r *task.Result) error { r.Error, r.Content = "", []byte(`{}`); return nil }, `["checked",{}]`, ""},
		{"sets both", func(r *task.Result) error { r.Content = []byte(`{}`); return nil }, "", "no such card: " + secret},
		{"fails", func(r *task.Result) error { return errors.New(r.Error) }, "", "and so did a hook"},
		{"panics", func(r *task.Result) error { panic(r.Error) }, "", "and so did a hook"},
		{"clears", func(r *task.Result) error { r.Error = ""; return nil }, "", "and so did a hook"},
	} {
		for _, panics := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				card := &fake{name: "card", call: func(tool.Context, map[string]any) (map[string]any, error) {
					if panics {
						panic("broken")
					}
					return nil, errors.New("no such card: " + secret)
				}}
				_, _, result := runTool(t, card, func(c *engine.Config) {
					c.AfterHooks, c.ErrorHooks = []task.AfterHook{seen}, []task.AfterHook{after(tc.hook)}
				})
				want := tc.err
				if panics && strings.Contains(want, secret) {
					want = "the tool panicked; see the server's log"
				}
				if string(result.Content) != tc.result || !strings.Contains(result.Error, want) || result.Error == "" && want != "" {
					t.Errorf("the call ended %s: %s, %q; want %s%q", result.Outcome, result.Content, result.Error, tc.result, want)
				}
			})
		}
	}
}

// Hooks see the call as it ran, and the parts of a result stay parts when one of them is
// changed.
func TestAfterHookSeesTheCall(t *testing.T) {
	t.Parallel()
	var call tool.ToolCall
	var outcome task.Outcome
	var id string
	_, _, result := runTool(t, &fake{name: "echo2", call: func(_ tool.Context, a map[string]any) (map[string]any, error) {
		a["changed"] = true
		return map[string]any{}, nil
	}}, func(c *engine.Config) {
		c.AfterHooks = []task.AfterHook{func(ctx agent.ReadonlyContext, c tool.ToolCall, r *task.Result) error {
			call, outcome, id = c, r.Outcome, ctx.TaskID()
			return nil
		}}
	})
	if call.ID != "c1.1" || call.Name != "echo2" || len(call.Args) != 0 || outcome != task.OutcomeOK || id == "" || result.Outcome != task.OutcomeOK {
		t.Errorf("the hook saw %+v, %s of task %q", call, outcome, id)
	}
	mask := func(c *engine.Config) {
		c.AfterHooks = []task.AfterHook{after(func(r *task.Result) error {
			r.Content = bytes.ReplaceAll(r.Content, []byte(secret), []byte("****"))
			return nil
		})}
	}
	_, all, _ := runTool(t, yields("run", &tool.Result{Content: []agent.Part{{Text: secret}, {Raw: []byte("x"), Filename: "a"}}}), mask)
	if want := `[{"text":"****"},{"raw":"eA==","filename":"a"}]`; len(all) != 1 || all[0].Parts != want {
		t.Errorf("published = %+v, want %s", all, want)
	}
	_, all, result = runTool(t, yields("run", &tool.Result{Content: agent.Part{Text: secret}}), mask)
	if len(all) != 1 || all[0].Parts != `[{"text":"****"}]` || string(result.Content) != `"****"` {
		t.Errorf("published = %+v, result %s", all, result.Content)
	}
	// The text of pieces is public, and its replacement is the planner's.
	_, all, result = runTool(t, yields("run", piece(secret), piece(secret)), mask, func(c *engine.Config) { c.WholeText = true })
	if string(result.Content) != `"********"` || !strings.Contains(all[0].Parts, secret) {
		t.Errorf("published = %+v, result %s", all, result.Content)
	}
}

// Hooks are for calls that have ended: not for those that pause, that a person rejects,
// or whose outcome nobody knows.
func TestHooksSeeOnlyCallsThatEnd(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]error{
		"pauses":  &tool.Suspension{Wake: time.Now().Add(time.Hour)},
		"unknown": tool.ErrOutcomeUnknown,
		"asks":    tool.ErrConfirmationRequired,
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				var hooked atomic.Int32
				hook := after(func(r *task.Result) error { hooked.Add(1); r.Error, r.Content = "", []byte(`{}`); return nil })
				w.tools.extra = []tool.Tool{&fake{name: "run", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					if name == "asks" {
						return map[string]any{}, tool.RequestConfirmation(ctx, "really?", nil)
					}
					return nil, returns
				}}}
				w.start(func(c *engine.Config) { c.AfterHooks, c.ErrorHooks = []task.AfterHook{hook}, []task.AfterHook{hook} })
				id := w.begun(alice, w.calls("run", args{}))
				if n := hooked.Load(); n > 0 || w.get(id).Status.State.Terminal() {
					t.Errorf("hooks ran %d times, the task is %s", n, w.get(id).Status.State)
				}
				if name != "asks" {
					return
				}
				w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Reject}))
				synctest.Wait()
				if n := hooked.Load(); n > 0 || w.get(id).Status.State != a2a.TaskStateCanceled {
					t.Errorf("a rejected call: hooks ran %d times, the task is %s", n, w.get(id).Status.State)
				}
			})
		})
	}
}

// A hook that hangs is given up with its call, whose result nobody sees unchecked.
func TestHookThatHangs(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		w.tools.extra = []tool.Tool{&fake{name: "run", is: tool.Annotations{ReadOnly: true}, call: func(tool.Context, map[string]any) (map[string]any, error) {
			return map[string]any{"card": secret}, nil
		}}}
		w.start(func(c *engine.Config) {
			c.AfterHooks = []task.AfterHook{after(func(*task.Result) error { <-release; return nil })}
		})
		id := w.begun(alice, w.calls("run", args{}))
		if s := w.get(id).Status.State; s != a2a.TaskStateWorking {
			t.Errorf("state = %s while a hook looks at the result", s)
		}
		time.Sleep(time.Hour)
		got := w.get(id)
		shown, _ := json.Marshal(got)
		if got.Status.State != a2a.TaskStateFailed || bytes.Contains(shown, []byte(secret)) {
			t.Errorf("the task is %s", shown)
		}
	})
}

// A hook makes no result of the error of a call that the server's shutdown interrupted.
func TestErrorHookAtShutdown(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		entered := make(chan struct{}, 2)
		w.tools.extra = []tool.Tool{&fake{name: "run", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
		change := func(c *engine.Config) {
			c.ErrorHooks = []task.AfterHook{after(func(r *task.Result) error { r.Error, r.Content = "", []byte(`"fine"`); return nil })}
		}
		w.start(change)
		id := w.begin(w.calls("run", args{}))
		<-entered
		w.restart(change)
		w.settled(id, a2a.TaskStateInputRequired)
		w.asksOutcome(id)
		w.wantAudited("finished_late", 0)
	})
}

// A hook that returns the arguments as they are changes nothing: an edit is taken.
func TestEditWithAHookThatChangesNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
			raw, err := json.Marshal(c.Args)
			return task.HookResult{Args: raw}, err
		}}
		w.start()
		id := w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "x"}))
		if err := w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Edit, Args: []byte(`{"amount":2,"to":"x"}`)}); err != nil {
			t.Errorf("edit = %v", err)
		}
	})
}

// A step takes long, because a hook does. A call that the gates allowed when the step began is judged again
// if they are replaced before it starts.
func TestReloadBeforeTheStart(t *testing.T) {
	for _, action := range []approval.Action{approval.ActionDeny, approval.ActionAsk} {
		runInMemory(t, string(action), func(t *testing.T, w *world) {
			hooked, release := make(chan struct{}), make(chan struct{})
			slow := sync.OnceFunc(func() {
				close(hooked)
				<-release
			})
			w.cfg.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
				if c.Name == "lookup" {
					slow()
				}
				return task.HookResult{}, nil
			}}
			w.startTools(&fake{name: "lookup"}, &fake{name: "pay", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
				w.tools.ran(ctx, "pay", a)
				return map[string]any{"ok": true}, nil
			}})
			m := w.calls("pay", args{}, "lookup", args{})
			sent := make(chan a2a.TaskID)
			go func() { sent <- w.begin(m) }()
			<-hooked
			w.freeze("pay", action)
			close(release)
			id := <-sent
			synctest.Wait()
			if n := w.tools.count("pay"); n != 0 || len(w.waiting(id)) > 0 != (action == approval.ActionAsk) {
				t.Errorf("pay ran %d times, and %d questions wait; the task is %s", n, len(w.waiting(id)), w.get(id).Status.State)
			}
		})
	}
}

// If a hook fails, the call requires approval: a grant is none.
func TestNoGrantIfAHookFails(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		broken := false
		w.cfg.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
			if broken {
				return task.HookResult{}, errors.New("the sanctions list cannot be reached")
			}
			return task.HookResult{}, nil
		}}
		w.mailing(mails(approval.GrantTerms{Vary: []string{"/to"}}))
		w.grantOf(alice, w.mail(alice, "c", args{"amount": 1, "to": "x"}), approval.GrantRequest{Scope: approval.GrantTime})
		w.wantAsked(w.mail(alice, "c", args{"amount": 1, "to": "y"}), false)
		broken = true
		w.wantAsked(w.mail(alice, "c", args{"amount": 1, "to": "an address on the list"}), true)
	})
}

// Whoever decides is told that a check has failed, also where a gate asks anyway: an allowed call
// whose hook fails says so.
func TestApproverIsToldOfAFailedHook(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Hooks = []task.Hook{func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
			return task.HookResult{}, errors.New("the sanctions list cannot be reached")
		}}
		w.mailing(mails(approval.GrantTerms{}))
		if one := w.pendingOf(alice, w.mail(alice, "c", args{"amount": 1})); !strings.Contains(one.Question(), "failed") {
			t.Errorf("the question is %q, and does not say that a check has failed", one.Question())
		}
	})
}
