package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// call is the context of a call; what these tools do not use is not there.
type call struct {
	context.Context //nolint:containedctx // it is one
	others

	id string
}

// others are the methods that these tools do not call.
type others struct{ tool.Context }

func (c call) TaskID() string         { return "task" }
func (c call) FunctionCallID() string { return c.id }

var noon = time.Date(2026, 5, 1, 12, 0, 0, 999, time.UTC)

func newTools(t *testing.T) (registry *tool.Registry, ledger string) {
	t.Helper()
	ledger = filepath.Join(t.TempDir(), "ledger.jsonl")
	set, err := builtin.New(builtin.Config{Ledger: ledger, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	return tool.NewRegistry(set), ledger
}

func lookup[T tool.Tool](t *testing.T, r *tool.Registry, name string) T {
	t.Helper()
	e, err := r.Lookup(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	as, ok := e.Tool.(T)
	if !ok {
		t.Fatalf("tool %s is a %T", name, e.Tool)
	}
	return as
}

func TestNewWithoutLedger(t *testing.T) {
	t.Parallel()
	if _, err := builtin.New(builtin.Config{}); err == nil {
		t.Error("New() = nil, want an error")
	}
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	registry, _ := newTools(t)
	type declared struct {
		Asks bool
		tool.Annotations
	}
	for name, want := range map[string]declared{
		"echo":           {Annotations: tool.Annotations{ReadOnly: true, Idempotent: true}},
		"stream":         {Annotations: tool.Annotations{ReadOnly: true}},
		"transfer_money": {Asks: true, Annotations: tool.Annotations{Destructive: true}},
	} {
		it := lookup[tool.Tool](t, registry, name)
		asks, _ := tool.NeedsApproval(nil, it, nil)
		if diff := cmp.Diff(want, declared{asks, tool.AnnotationsOf(it)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	registry, _ := newTools(t)
	for name, cases := range map[string]map[string]bool{
		"echo": {`{"text":"x"}`: true, `{"text":""}`: true, `{}`: false, `{"text":1}`: false, `{"text":"x","more":1}`: false},
		"stream": {
			`{}`: true, `{"chunks":1,"size":1}`: true, `{"chunks":100000,"size":65536,"interval":"1.5s"}`: true, `{"interval":"1m30s"}`: true,
			`{"chunks":0}`: false, `{"chunks":100001}`: false, `{"size":0}`: false, `{"size":65537}`: false, `{"chunks":1.5}`: false,
			`{"interval":"-1s"}`: false, `{"interval":"10"}`: false, `{"interval":""}`: false, `{"interval":"soon"}`: false,
		},
		"transfer_money": {
			`{"amount":5,"to":"bob"}`: true, `{"amount":0.01,"to":"bob"}`: true,
			`{"amount":0,"to":"bob"}`: false, `{"amount":-1,"to":"bob"}`: false, `{"amount":"5","to":"bob"}`: false, `{"amount":5,"to":""}`: false, `{"amount":5}`: false,
		},
	} {
		e, err := registry.Lookup(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		for args, fits := range cases {
			var v any
			if err := json.Unmarshal([]byte(args), &v); err != nil {
				t.Fatal(err)
			}
			if err := e.Schema.Validate(v); (err == nil) != fits {
				t.Errorf("%s: Validate(%s) = %v, want it to fit: %v", name, args, err, fits)
			}
		}
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	registry, _ := newTools(t)
	got, err := lookup[tool.CallableTool](t, registry, "echo").Call(call{Context: t.Context()}, map[string]any{"text": "hello"})
	if diff := cmp.Diff(map[string]any{"result": "hello"}, got); err != nil || diff != "" {
		t.Errorf("Call() error %v (-want +got):\n%s", err, diff)
	}
}

// The pieces of a stream are one text, whatever their size: a piece that is missing
// or doubled would break it.
func TestStream(t *testing.T) {
	t.Parallel()
	registry, _ := newTools(t)
	stream := lookup[tool.StreamingTool](t, registry, "stream")
	whole := ""
	for r, err := range stream.CallStreaming(call{Context: t.Context()}, map[string]any{"chunks": 1, "size": 65536}) {
		if err != nil {
			t.Fatal(err)
		}
		whole, _ = r.Content.(string)
	}
	for _, c := range []struct{ chunks, size int }{{1, 1}, {1000, 7}, {3, 4096}, {700, 50}, {20, 65}} {
		var text strings.Builder
		n := 0
		for r, err := range stream.CallStreaming(call{Context: t.Context()}, map[string]any{"chunks": c.chunks, "size": c.size}) {
			if err != nil {
				t.Fatal(err)
			}
			piece, _ := r.Content.(string)
			if len(piece) != c.size || !r.Streaming {
				t.Fatalf("piece %d has %d bytes, streaming %v, want %d", n, len(piece), r.Streaming, c.size)
			}
			text.WriteString(piece)
			n++
		}
		if n != c.chunks || text.String() != whole[:c.chunks*c.size] {
			t.Errorf("%d pieces of %d bytes: got %d that do not continue each other", c.chunks, c.size, n)
		}
	}
}

func TestStreamInterval(t *testing.T) {
	t.Parallel()
	registry, _ := newTools(t)
	stream := lookup[tool.StreamingTool](t, registry, "stream")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for _, err := range stream.CallStreaming(call{Context: t.Context()}, map[string]any{"chunks": 5, "interval": "10ms"}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 40*time.Millisecond {
			t.Errorf("5 pieces, 10ms apart, took %v, want 40ms", took)
		}
	})
}

func TestStreamCanceled(t *testing.T) {
	t.Parallel()
	registry, _ := newTools(t)
	stream := lookup[tool.StreamingTool](t, registry, "stream")
	why := errors.New("no longer wanted")
	for _, interval := range []string{"0s", "24h"} {
		t.Run(interval, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			n := 0
			var got error
			for _, err := range stream.CallStreaming(call{Context: ctx}, map[string]any{"chunks": 1000, "interval": interval}) {
				if got = err; err == nil {
					n++
					cancel(why)
				}
			}
			if n != 1 || !errors.Is(got, why) {
				t.Errorf("%d pieces and %v, want 1 and %v", n, got, why)
			}
		})
	}
}

func TestStreamLetGo(t *testing.T) {
	t.Parallel()
	registry, _ := newTools(t)
	for _, err := range lookup[tool.StreamingTool](t, registry, "stream").CallStreaming(call{Context: t.Context()}, map[string]any{"chunks": 2}) {
		if err != nil {
			t.Error(err)
		}
		break // a tool that continues all the same panics here
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	registry, ledger := newTools(t)
	transfer := lookup[tool.CallableTool](t, registry, "transfer_money")
	got, err := transfer.Call(call{Context: t.Context(), id: "c1.1"}, map[string]any{"amount": 12.5, "to": "bob"})
	want := map[string]any{"transferred": json.Number("12.5"), "to": "bob", "ledger": "task/c1.1"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Call() error %v (-want +got):\n%s", err, diff)
	}
	text, err := os.ReadFile(ledger)
	if want := `{"time":"2026-05-01T12:00:00Z","task":"task","call":"c1.1","args":{"amount":12.5,"to":"bob"}}` + "\n"; err != nil || string(text) != want {
		t.Errorf("the ledger is %q, %v, want %q", text, err, want)
	}
	if info, err := os.Stat(ledger); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("Stat() = %v, %v, want mode 0600", info, err)
	}
}

func TestTransferAtOnce(t *testing.T) {
	t.Parallel()
	registry, ledger := newTools(t)
	transfer := lookup[tool.CallableTool](t, registry, "transfer_money")
	const runs = 20
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			if _, err := transfer.Call(call{Context: t.Context(), id: fmt.Sprint("c", i)}, map[string]any{"amount": i + 1, "to": "bob"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		var e struct{ Call string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		seen[e.Call] = true
	}
	if len(seen) != runs {
		t.Errorf("the ledger has %d calls, want %d:\n%s", len(seen), runs, text)
	}
}

func TestTransferWithoutFolder(t *testing.T) {
	t.Parallel()
	set, err := builtin.New(builtin.Config{Ledger: filepath.Join(t.TempDir(), "missing", "ledger.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	transfer := lookup[tool.CallableTool](t, tool.NewRegistry(set), "transfer_money")
	if _, err := transfer.Call(call{Context: t.Context()}, map[string]any{"amount": 1, "to": "bob"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Call() = %v, want %v", err, os.ErrNotExist)
	}
}
