package a2a

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"a2a-server/a2a/internal/jsonrpc"
	"a2a-server/a2a/internal/wire"
)

// worst is an error whose every text is as large as it gets in JSON.
func worst(text string) *wire.Error {
	e := wire.ErrInvalidParams.Saying(text)
	e.Own = "APPROVAL_MALFORMED"
	e.Metadata = map[string]string{"approval": text, "pending": text, "state": text, "digest": text, "by": text, "at": text, "verb": text, "allowed": text}
	for range min(1000, 1+1<<20/len(text)) {
		e.Violations = append(e.Violations, wire.Violation{Field: text, Description: text})
	}
	return e
}

// No error has 64 KiB, whoever writes it and whatever it is about.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	id := []byte(`"` + strings.Repeat("x", 1022) + `"`) // the longest
	for name, text := range map[string]string{
		"markup":      strings.Repeat("<", 20_000),
		"invisible":   strings.Repeat("\u202e", 20_000),
		"separators":  strings.Repeat("\u2028", 20_000),
		"not UTF-8":   strings.Repeat("\xff", 20_000),
		"four bytes":  strings.Repeat("👍", 20_000),
		"line breaks": strings.Repeat("\n", 20_000),
		"short":       strings.Repeat("<", 150),
	} {
		e := worst(text)
		w := httptest.NewRecorder()
		writeError(w, httptest.NewRequest(http.MethodGet, "/tasks", nil), e)
		for way, body := range map[string][]byte{"HTTP": w.Body.Bytes(), "JSON-RPC": jsonrpc.Fault(id, e, false /* plain */), "JSON-RPC 0.3": jsonrpc.Fault(id, e, true /* plain */)} {
			if !json.Valid(body) || len(body) > 64<<10 {
				t.Errorf("%s, %s: %d bytes: %.300s", name, way, len(body), body)
			}
			if !utf8.Valid(body) || strings.ContainsAny(string(body), "\u202e\u2028") {
				t.Errorf("%s, %s: something in it is hidden: %.300q", name, way, body)
			}
		}
	}
}

// Every error of the table goes out as the table says, on both bindings.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, e := range wire.Errors {
		t.Run(fmt.Sprint(e.Reason, " ", e.Status), func(t *testing.T) {
			t.Parallel()
			if !strings.HasSuffix(e.When, ".") || !strings.HasSuffix(e.Next, ".") || strings.Contains(e.When+e.Next, "|") {
				t.Errorf("when is %q and next is %q, want sentences that a table can hold", e.When, e.Next)
			}
			if w, known := wire.Of(fmt.Errorf("on the way: %w", e.Error)); w != e.Error || !known {
				t.Errorf("toWire() = %+v, %v, want the error itself", w, known)
			}
			if e.SDK != nil {
				if w, _ := wire.Of(fmt.Errorf("on the way: %w", e.SDK)); w.Reason != e.Reason || w.Code != e.Code {
					t.Errorf("toWire(%v) = %d %s, want %d %s", e.SDK, w.Code, w.Reason, e.Code, e.Reason)
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
			writeError(answer, httptest.NewRequest(http.MethodGet, "/tasks", nil), e.Error)
			if err := json.Unmarshal(answer.Body.Bytes(), &rest); err != nil {
				t.Fatal(err)
			}
			want := detail{wire.ErrorDomain, e.Reason}
			if got := rest.Error; answer.Code != e.Status || got.Code != e.Status || got.Status != e.GRPC || len(got.Details) != 1 || got.Details[0] != want {
				t.Errorf("over HTTP+JSON it is %d %+v, want %d %s %v", answer.Code, got, e.Status, e.GRPC, want)
			}
			var rpc struct {
				Error struct {
					Code int
					Data []detail
				}
			}
			if err := json.Unmarshal(jsonrpc.Fault([]byte("1"), e.Error, false /* plain */), &rpc); err != nil {
				t.Fatal(err)
			}
			if got := rpc.Error; got.Code != e.Code || len(got.Data) != 1 || got.Data[0] != want {
				t.Errorf("over JSON-RPC it is %+v, want %d %v", got, e.Code, want)
			}
		})
	}
}
