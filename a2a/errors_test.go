package a2a

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"a2a-server/internal/failure"
	"a2a-server/task/engine"
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

// An error about a message that was recorded never says that nothing was written.
func TestErrorsAboutRecordedMessages(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]int{
		engine.ErrReadOnly: http.StatusInternalServerError, engine.ErrDataLoss: http.StatusInternalServerError,
		engine.ErrBusy: http.StatusServiceUnavailable, ErrShutdown: http.StatusServiceUnavailable,
	} {
		w, known := toWire(&engine.RecordedError{Started: []string{"pay (c1.1)"}, Cause: fmt.Errorf("write: %w", cause)})
		if w.status != want || !known || !strings.Contains(w.message, "was recorded") || !strings.Contains(w.message, "pay (c1.1)") || strings.Contains(w.message, "nothing was written") {
			t.Errorf("after %v: %d %q (known %v), want %d and what is known", cause, w.status, w.message, known, want)
		}
	}
	w, known := toWire(fmt.Errorf("wait: %w; %w", ErrShutdown, engine.ErrUncertain))
	if w.status != http.StatusServiceUnavailable || !known || !strings.Contains(w.message, "may still take effect") {
		t.Errorf("a wait for the disk that a shutdown cut off: %d %q (known %v), want 503 and that it is uncertain", w.status, w.message, known)
	}
}

// Every kind of failure has an error, which clients find in docs/errors.md.
func TestEveryKindOfFailureHasAnError(t *testing.T) {
	t.Parallel()
	for kind := range failure.Kinds {
		row := ofKind[kind]
		listed := slices.ContainsFunc(wireErrors, func(e struct {
			*wireError
			when, next string
		}) bool {
			return e.wireError == row
		})
		if !listed && kind != failure.Refused {
			t.Errorf("failure kind %d has the error %+v, want one of wireErrors", kind, row)
		}
	}
}
