package a2a

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/internal/golden"
)

//go:generate go test -count=1 -run ^TestErrorsDocument$ . -update

// TestErrorsDocument compares docs/errors.md with the tables.
func TestErrorsDocument(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| reason | JSON-RPC | HTTP | status | when | next step |\n|---|---|---|---|---|---|\n")
	for _, e := range wireErrors {
		fmt.Fprintf(&b, "| `%s` | %d | %d | `%s` | %s | %s |\n", e.reason, e.code, e.status, e.grpc, e.when, e.next)
	}
	document := filepath.Join("..", "docs", "errors.md")
	golden.Section(t, document, "errors", b.String())
	b.Reset()
	b.WriteString("| reason | when | next step |\n|---|---|---|\n")
	for _, c := range approval.Cases() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Reason, c.When, c.Next)
	}
	golden.Section(t, document, "approval errors", b.String())
}

// Every error of the table goes out as the table says, on both bindings.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, e := range wireErrors {
		t.Run(fmt.Sprint(e.reason, " ", e.status), func(t *testing.T) {
			t.Parallel()
			if !strings.HasSuffix(e.when, ".") || !strings.HasSuffix(e.next, ".") || strings.Contains(e.when+e.next, "|") {
				t.Errorf("when is %q and next is %q, want sentences that a table can hold", e.when, e.next)
			}
			if w, known := toWire(fmt.Errorf("on the way: %w", e.wireError)); w != e.wireError || !known {
				t.Errorf("toWire() = %+v, %v, want the error itself", w, known)
			}
			if e.theirs != nil {
				if w, _ := toWire(fmt.Errorf("on the way: %w", e.theirs)); w.reason != e.reason || w.code != e.code {
					t.Errorf("toWire(%v) = %d %s, want %d %s", e.theirs, w.code, w.reason, e.code, e.reason)
				}
			}
			type detail struct{ Domain, Reason string }
			var rest struct {
				Error struct {
					Code    int
					Status  string
					Details []detail
				}
			}
			answer := httptest.NewRecorder()
			writeError(answer, httptest.NewRequest(http.MethodGet, "/tasks", nil), e.wireError)
			if err := json.Unmarshal(answer.Body.Bytes(), &rest); err != nil {
				t.Fatal(err)
			}
			want := detail{errorDomain, e.reason}
			if got := rest.Error; answer.Code != e.status || got.Code != e.status || got.Status != e.grpc || len(got.Details) != 1 || got.Details[0] != want {
				t.Errorf("over HTTP+JSON it is %d %+v, want %d %s %v", answer.Code, got, e.status, e.grpc, want)
			}
			var rpc struct {
				Error struct {
					Code int
					Data []detail
				}
			}
			if err := json.Unmarshal(rpcFault([]byte("1"), e.wireError, false /* plain */), &rpc); err != nil {
				t.Fatal(err)
			}
			if got := rpc.Error; got.Code != e.code || len(got.Data) != 1 || got.Data[0] != want {
				t.Errorf("over JSON-RPC it is %+v, want %d %v", got, e.code, want)
			}
		})
	}
}

// No error goes out that the tables do not have: neither one that the code declares,
// nor one that a wire case has seen.
func TestErrorTableIsComplete(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, name := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				if of, ok := literal.Type.(*ast.Ident); ok && of.Name == "wireError" {
					declared++
				}
			}
			return true
		})
	}
	if declared != len(wireErrors) {
		t.Errorf("the package declares %d errors, and wireErrors has %d: add the new one there, and say what to do next", declared, len(wireErrors))
	}

	type pair struct {
		code   int
		reason string
	}
	known, refused := map[pair]bool{}, map[string]bool{}
	for _, e := range wireErrors {
		known[pair{e.code, e.reason}], known[pair{e.status, e.reason}] = true, true
	}
	for _, c := range approval.Cases() {
		refused[string(c.Reason)] = true
	}
	codeOrReason := regexp.MustCompile(`"code": (-?\d+)|"reason": "([A-Z][A-Z_]+)"`)
	files, err := filepath.Glob("../testdata/wire/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at := pair{}
		for _, m := range codeOrReason.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" {
				at.code, _ = strconv.Atoi(m[1])
				continue
			}
			seen[m[2]] = true
			if at.reason = m[2]; !known[at] && !refused[at.reason] {
				t.Errorf("%s: the error %d %s is in no table", file, at.code, at.reason)
			}
		}
	}
	for reason := range refused {
		if !seen[reason] {
			t.Errorf("no wire case shows %s", reason)
		}
	}
	// What it takes to see these is beyond a wire case; TestErrorTable has their form.
	elsewhere := map[string]bool{"DATA_LOSS": true, "RESOURCE_EXHAUSTED": true, "RATE_LIMIT_EXCEEDED": true}
	for _, e := range wireErrors {
		if seen[e.reason] == elsewhere[e.reason] {
			t.Errorf("%s: seen in a wire case: %v, want %v", e.reason, seen[e.reason], !elsewhere[e.reason])
		}
	}
}
