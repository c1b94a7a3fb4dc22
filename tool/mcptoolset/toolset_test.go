package mcptoolset_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/mcptoolset"
)

// transports are the ways to reach theServer.
func transports() map[string]func(testing.TB) mcptoolset.Config {
	return map[string]func(testing.TB) mcptoolset.Config{
		"pipe":  func(t testing.TB) mcptoolset.Config { return over(t, theServer) },
		"stdio": func(t testing.TB) mcptoolset.Config { return command(t, "good") },
		"http":  func(t testing.TB) mcptoolset.Config { return web(t, streamable(t, theServer())) },
		"stateless http": func(t testing.TB) mcptoolset.Config {
			return web(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return theServer() }, &mcp.StreamableHTTPOptions{Stateless: true}))
		},
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	for name, config := range transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := open(t, config(t))
			if got := result(t, named(t, set, "echo"), map[string]any{"text": "hello"}); got.Content != "hello" || got.Streaming || got.Error != "" {
				t.Errorf("echo = %+v", got)
			}

			all, err := call(t.Context(), named(t, set, "structured"), nil)
			want := []*tool.Result{
				{Content: []agent.Part{{Raw: []byte("png"), MediaType: "image/png"}}, Streaming: true, Artifact: "content"},
				{Content: map[string]any{"sum": 3.0}},
			}
			if diff := cmp.Diff(want, all); diff != "" || err != nil {
				t.Errorf("structured (-want +got), %v:\n%s", err, diff)
			}

			wantParts := []agent.Part{
				{Text: "see"},
				{Raw: []byte("png"), MediaType: "image/png"},
				{Raw: []byte("wav"), MediaType: "application/octet-stream"},
				{Raw: []byte{1, 2}, MediaType: "application/x-b", Filename: "b.bin", Metadata: map[string]any{"uri": "file:///a/b.bin"}},
				{Text: "a note", Filename: "1", Metadata: map[string]any{"uri": "demo://notes/1"}},
				{URL: "https://example.com/x", Filename: "x", MediaType: "text/html"},
				{Text: "a link that cannot be used: javascript:alert(1)"},
			}
			if diff := cmp.Diff(any(wantParts), result(t, named(t, set, "media"), nil).Content); diff != "" {
				t.Errorf("media (-want +got):\n%s", diff)
			}

			if got := result(t, named(t, set, "fail"), nil); got.Error != `the disk is \u202efull` || got.Content != nil {
				t.Errorf("fail = %+v", got)
			}
			if _, err := call(t.Context(), named(t, set, "refuse"), nil); err == nil || errors.Is(err, tool.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "not today") {
				t.Errorf("refuse: %v", err)
			}
			if _, err := call(t.Context(), named(t, set, "echo"), map[string]any{"text": 1.0}); err == nil || !strings.Contains(err.Error(), "/text") {
				t.Errorf("echo with a number: %v", err)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for name, config := range transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := open(t, config(t))
			var got reports
			if _, err := call(tool.ContextWithCallValues(t.Context(), &tool.CallValues{Reporter: &got}), named(t, set, "progress"), nil); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "http") {
				return // there, notifications and results come in any order
			}
			got.mu.Lock()
			defer got.mu.Unlock()
			if n := len(got.all); n == 0 || got.all[n-1] != (tool.Progress{Done: 5, Total: 5, Message: `step\u202e`}) {
				t.Errorf("progress = %+v, want 5 of 5 in the end", got.all)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	servers := transports()
	delete(servers, "stateless http") // nothing tells its handler that the call is canceled
	for name, config := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := open(t, config(t))
			wait := named(t, set, "wait")
			why := errors.New("no longer needed")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(why)
			if _, err := call(ctx, wait, nil); errors.Is(err, tool.ErrOutcomeUnknown) || !errors.Is(err, why) {
				t.Errorf("canceled before: %v, want %v", err, why)
			}
			var running reports
			ctx, cancel = context.WithCancelCause(tool.ContextWithCallValues(t.Context(), &tool.CallValues{Reporter: &running}))
			done := make(chan error)
			go func() {
				_, err := call(ctx, wait, nil)
				done <- err
			}()
			eventually(t, "the call is running", func() bool { return running.n() == 1 && set.Status().Calls == 1 })
			cancel(why)
			if err := <-done; !errors.Is(err, tool.ErrOutcomeUnknown) || !errors.Is(err, why) {
				t.Errorf("canceled while it ran: %v, want unknown", err)
			}
			result(t, named(t, set, "echo"), map[string]any{"text": "x"})
		})
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	config := over(t, theServer)
	config.Prefix, config.Only = "files_", []string{"echo", "fail"}
	config.Trust = []string{"echo"}
	config.Approve = []string{"fail"}
	set := open(t, config)
	if got := names(t, set); !slices.Equal(got, []string{"files_echo", "files_fail"}) {
		t.Fatalf("tools = %q", got)
	}
	echo, fail := named(t, set, "files_echo"), named(t, set, "files_fail")
	if got := tool.AnnotationsOf(echo); !got.ReadOnly {
		t.Errorf("annotations of a trusted tool = %+v", got)
	}
	if got := tool.AnnotationsOf(fail); got != (tool.Annotations{}) {
		t.Errorf("annotations of a tool that is not trusted = %+v", got)
	}
	if got := tool.ToDefinition(fail).Claims; !slices.Equal(got, []string{"destructive"}) {
		t.Errorf("claims = %q", got)
	}
	if ask, _ := tool.NeedsApproval(nil, echo, nil); ask {
		t.Error("echo needs an approval")
	}
	if ask, _ := tool.NeedsApproval(nil, fail, nil); !ask {
		t.Error("fail needs no approval")
	}
	a, _ := set.Tools(nil)
	if err := set.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, _ := set.Tools(nil); &a[0] != &b[0] {
		t.Error("after the same tools were listed again, Tools returns another slice")
	}
	if s := set.Status(); !s.Connected || len(s.Problems) > 0 || s.Err != nil {
		t.Errorf("status = %+v", s)
	}
	result(t, echo, map[string]any{"text": "x"})
}
