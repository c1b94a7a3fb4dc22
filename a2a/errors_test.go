package a2a

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// worst is an error whose every text is as large as it gets in JSON.
func worst(text string) *wireError {
	e := errInvalidParams.saying(text)
	e.own = "APPROVAL_MALFORMED"
	e.metadata = map[string]string{"approval": text, "pending": text, "state": text, "digest": text, "by": text, "at": text, "verb": text, "allowed": text}
	for range min(1000, 1+1<<20/len(text)) {
		e.violations = append(e.violations, violation{text, text})
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
		for way, body := range map[string][]byte{"HTTP": w.Body.Bytes(), "JSON-RPC": rpcFault(id, e, false /* plain */), "JSON-RPC 0.3": rpcFault(id, e, true /* plain */)} {
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
