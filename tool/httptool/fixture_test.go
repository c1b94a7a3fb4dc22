package httptool_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"a2a-server/tool"
	"a2a-server/tool/httptool"
)

func TestMain(m *testing.M) {
	// Tests mostly wait, for answers and for time limits: more of them run side by side than there
	// are processors, unless -parallel says otherwise.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // it is a flag of every test program
	}
	goleak.VerifyTestMain(m)
}

// callContext is the context of a call that has nothing but ids.
type callContext struct {
	context.Context //nolint:containedctx // it is one
	others
}

// others are the methods that no tool here calls.
type others struct{ tool.Context }

func (callContext) TaskID() string         { return "task-1" }
func (callContext) FunctionCallID() string { return "call-1" }

// call runs a tool once.
func call(ctx context.Context, t tool.StreamingTool, args map[string]any) (*tool.Result, error) {
	if args == nil {
		args = map[string]any{}
	}
	var result *tool.Result
	var failed error
	n := 0
	for r, err := range t.CallStreaming(callContext{Context: ctx}, args) {
		result, failed = r, err
		n++
	}
	if n != 1 {
		return nil, errors.New("the tool did not yield one result")
	}
	return result, failed
}

// client returns a client for servers of the test.
func client(t *testing.T, c httptool.ClientConfig) *httptool.Client {
	t.Helper()
	if c.Allow == nil {
		c.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}
	cl, err := httptool.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// build returns a tool with a client for servers of the test, unless c has one.
func build(t *testing.T, c httptool.Config) tool.StreamingTool {
	t.Helper()
	if c.Name == "" {
		c.Name = "it"
	}
	if c.Client == nil {
		c.Client = client(t, httptool.ClientConfig{})
	}
	made, err := httptool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// sent is a request as a server got it.
type sent struct {
	method, uri string
	header      http.Header
	body        string
}

// record returns a server that passes on each request and answers with {}.
func record(t *testing.T) (address string, requests <-chan sent) {
	t.Helper()
	got := make(chan sent, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Method, r.RequestURI, r.Header, string(body)}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// answering returns a server that answers as the handler does.
func answering(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// raw returns a server that does with each connection what serve does, and closes it.
func raw(t *testing.T, serve func(c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c, bufio.NewReader(c))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

func properties(p map[string]any, required ...any) map[string]any {
	schema := map[string]any{"properties": p}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func kind(k string) map[string]any { return map[string]any{"type": k} }

// quiet drops what a server logs about clients that fail on purpose.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
