package a2a

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
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
	id := []byte(`"` + strings.Repeat("x", maxID-2) + `"`)
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
		var theirs *sdk.Error
		if !errors.As((&handler{s: &Server{}}).fail(t.Context(), e, "SendMessage"), &theirs) {
			t.Fatal("the SDK gets no error of its own")
		}
		details, err := json.Marshal([]any{theirs.Message, theirs.TypedDetails})
		if err != nil {
			t.Fatal(err)
		}
		for way, body := range map[string][]byte{"HTTP": w.Body.Bytes(), "JSON-RPC": rpcFault(id, e, false /* plain */), "JSON-RPC 0.3": rpcFault(id, e, true /* plain */), "SDK": details} {
			if !json.Valid(body) || len(body) > 64<<10 {
				t.Errorf("%s, %s: %d bytes: %.300s", name, way, len(body), body)
			}
			if !utf8.Valid(body) || strings.ContainsAny(string(body), "\u202e\u2028") {
				t.Errorf("%s, %s: something in it is hidden: %.300q", name, way, body)
			}
		}
	}
}

// What clients read of an error by program is whole as long as it is of a usual size.
func TestErrorsKeepWhatClientsRead(t *testing.T) {
	t.Parallel()
	pending := strings.TrimSuffix(strings.Repeat("019b7c00-0000-7000-8000-000000000001.a10,", 64), ",")
	e := worst(strings.Repeat("<", 1000))
	e.metadata = map[string]string{"pending": pending}
	if got := e.limited().metadata["pending"]; got != pending {
		t.Errorf("the list of 64 approvals is %.100q… of %d characters, want all of its %d", got, len(got), len(pending))
	}
}
