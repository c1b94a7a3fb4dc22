package openapitoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"a2a-server/tool"
	"a2a-server/tool/httptool"
	"a2a-server/tool/openapitoolset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// callContext is the context of a call that has nothing but ids.
type callContext struct {
	context.Context //nolint:containedctx // it is one
	others
}

// others are the methods that no tool here calls.
type others struct{ tool.Context }

func (callContext) TaskID() string         { return "task-1" }
func (callContext) FunctionCallID() string { return "call-1" }

// call runs a tool of a set once.
func call(t *testing.T, set tool.Toolset, name, args string) (*tool.Result, error) {
	t.Helper()
	one := named(t, set, name)
	s, ok := tool.As[tool.StreamingTool](one)
	if !ok {
		t.Fatalf("%s cannot be called", name)
	}
	decoded, err := tool.DecodeArgs([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range s.CallStreaming(callContext{Context: t.Context()}, decoded) {
		return r, err
	}
	return nil, errors.New("the tool yielded nothing")
}

// named returns a tool of a set.
func named(t *testing.T, set tool.Toolset, name string) tool.Tool {
	t.Helper()
	for _, one := range tools(t, set) {
		if one.Name() == name {
			return one
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

func tools(t *testing.T, set tool.Toolset) []tool.Tool {
	t.Helper()
	all, err := set.Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// schema returns the schema of a tool of a set, and checks that it compiles.
func schema(t *testing.T, set tool.Toolset, name string) map[string]any {
	t.Helper()
	s := tool.ToDefinition(named(t, set, name)).Parameters
	if _, err := tool.CompileSchema(s); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatal(err)
	}
	delete(plain, "$comment")
	return plain
}

// build returns the tools of a document for servers of the test.
func build(t *testing.T, c openapitoolset.Config) tool.Toolset {
	t.Helper()
	set, problems, err := openapitoolset.New(config(t, c))
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return set
}

func config(t *testing.T, c openapitoolset.Config) openapitoolset.Config {
	t.Helper()
	client, err := httptool.NewClient(httptool.ClientConfig{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Name == "" {
		c.Name = "it"
	}
	if c.Only == nil {
		c.Only = []string{"*"}
	}
	if c.Server == "" {
		c.Server = "https://api.example"
	}
	c.Client = client
	return c
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
