package wire

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"a2a-server/internal/failure"
	"a2a-server/internal/golden"
	"a2a-server/internal/httpd"
	"a2a-server/store"
	"a2a-server/task/engine"
)

//go:generate go test -count=1 -run ^TestErrorsDocument$ . -update

const errorsDocument = "../../../docs/errors.md"

// TestErrorsDocument compares docs/errors.md with the table.
func TestErrorsDocument(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| reason | JSON-RPC | HTTP | status | when | next step |\n|---|---|---|---|---|---|\n")
	for _, e := range Errors {
		fmt.Fprintf(&b, "| `%s` | %d | %d | `%s` | %s | %s |\n", e.Reason, e.Code, e.Status, e.GRPC, e.When, e.Next)
	}
	golden.Section(t, errorsDocument, "errors", b.String())
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
				if of, ok := literal.Type.(*ast.Ident); ok && of.Name == "Error" {
					declared++
				}
			}
			return true
		})
	}
	if declared != len(Errors) {
		t.Errorf("the package declares %d errors, and wireErrors has %d: add the new one there, and say what to do next", declared, len(Errors))
	}

	type pair struct {
		code   int
		reason string
	}
	known, refused := map[pair]bool{}, map[string]bool{}
	for _, e := range Errors {
		known[pair{e.Code, e.Reason}], known[pair{e.Status, e.Reason}] = true, true
	}
	document, err := os.ReadFile(errorsDocument)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(APPROVAL_[A-Z]+(?:_[A-Z]+)*)` \\|").FindAllStringSubmatch(string(document), -1) {
		refused[m[1]] = true // which package approval compares with its own
	}
	codeOrReason := regexp.MustCompile(`"code": (-?\d+)|"reason": "([A-Z][A-Z_]+)"`)
	files, err := filepath.Glob("../../../testdata/wire/*.txtar")
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
	for _, e := range Errors {
		if seen[e.Reason] == elsewhere[e.Reason] {
			t.Errorf("%s: seen in a wire case: %v, want %v", e.Reason, seen[e.Reason], !elsewhere[e.Reason])
		}
	}
}

// What clients read of an error by program is whole as long as it is of a usual size.
func TestErrorsKeepWhatClientsRead(t *testing.T) {
	t.Parallel()
	pending := strings.TrimSuffix(strings.Repeat("019b7c00-0000-7000-8000-000000000001.a10,", 64), ",")
	long := strings.Repeat("<", 1000)
	e := ErrInvalidParams.Saying(long)
	e.Own = "APPROVAL_MALFORMED"
	for range 1000 {
		e.Violations = append(e.Violations, Violation{long, long})
	}
	e.Metadata = map[string]string{"pending": pending}
	if got := e.Limited().Metadata["pending"]; got != pending {
		t.Errorf("the list of 64 approvals is %.100q… of %d characters, want all of its %d", got, len(got), len(pending))
	}
}

// An error about a message that was recorded never says that nothing was written.
func TestErrorsAboutRecordedMessages(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]int{
		store.ErrDataLoss: http.StatusInternalServerError,
		engine.ErrBusy:    http.StatusServiceUnavailable, httpd.ErrStopping: http.StatusServiceUnavailable,
	} {
		w, known := Of(&engine.RecordedError{Started: []string{"pay (c1.1)"}, Cause: fmt.Errorf("write: %w", cause)})
		if w.Status != want || !known || !strings.Contains(w.Message, "was recorded") || !strings.Contains(w.Message, "pay (c1.1)") || strings.Contains(w.Message, "nothing was written") {
			t.Errorf("after %v: %d %q (known %v), want %d and what is known", cause, w.Status, w.Message, known, want)
		}
	}
	w, known := Of(fmt.Errorf("wait: %w; %w", httpd.ErrStopping, engine.ErrUncertain))
	if w.Status != http.StatusServiceUnavailable || !known || !strings.Contains(w.Message, "may still take effect") {
		t.Errorf("a wait for the disk that a shutdown cut off: %d %q (known %v), want 503 and that it is uncertain", w.Status, w.Message, known)
	}
}

// Every kind of failure has an error, which clients find in docs/errors.md.
func TestEveryKindOfFailureHasAnError(t *testing.T) {
	t.Parallel()
	for kind := range failure.Kinds {
		row := ofKind[kind]
		listed := slices.ContainsFunc(Errors, func(e Documented) bool {
			return e.Error == row
		})
		if !listed && kind != failure.Refused {
			t.Errorf("failure kind %d has the error %+v, want one of wireErrors", kind, row)
		}
	}
}
