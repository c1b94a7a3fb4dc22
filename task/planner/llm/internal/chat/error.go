package chat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// An Error says why there is no answer.
type Error struct {
	Reason     string        // for clients: no address, and no text of the other side
	Detail     string        // for the log, short and without secrets; may be empty
	Temporary  bool          // the same request may succeed later
	RetryAfter time.Duration // that the server asks for; 0: none
}

// Error returns the reason.
func (e *Error) Error() string { return e.Reason }

// lost is the error of an answer that ended too early.
func lost(format string, args ...any) *Error {
	return &Error{Reason: "the model's answer ended before it was complete", Detail: fmt.Sprintf(format, args...), Temporary: true}
}

// unusable is the error of an answer that would be no better the next time.
func unusable(detail, format string, args ...any) *Error {
	return &Error{Reason: fmt.Sprintf(format, args...), Detail: detail}
}

// ofStatus returns the error of a response whose status is not 200.
func ofStatus(status int, body string, after time.Duration) *Error {
	e := &Error{Reason: fmt.Sprintf("the model's server answered %d %s", status, http.StatusText(status)), Detail: body, RetryAfter: after}
	e.Reason = strings.TrimSpace(e.Reason)
	switch e.Temporary = temporary(status); {
	case e.Temporary:
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Reason += ": the operator has to check planner.llm.key"
	case status == http.StatusNotFound:
		e.Reason += ": the operator has to check planner.llm.url and planner.llm.model"
	}
	return e
}

func temporary(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500
}

// wireError is an error as servers send it: an object, or only a text.
type wireError struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // a number or a text
}

// lasting matches types and codes of errors that the same request has again, such as
// context_length_exceeded. A limit of requests or tokens a minute is none.
var lasting = regexp.MustCompile(`(?i)invalid|context_length|quota|billing|not_found|authentication|permission|content_filter|content_policy|unsupported|deactivated`)

// errorIn returns the error that an answer has in place of content; nil: it has none. raw is the
// member error of the answer, and object its member object.
func errorIn(raw json.RawMessage, object string, whole []byte) *Error {
	if len(raw) == 0 || string(raw) == "null" {
		if object != "error" { // vLLM
			return nil
		}
		raw = whole
	}
	var e wireError
	if json.Unmarshal(raw, &e) != nil {
		_ = json.Unmarshal(raw, &e.Message) // a text, or nothing that we know
	}
	var status int
	if json.Unmarshal(e.Code, &status) != nil {
		status = 0
	}
	kind := e.Type + " " + string(e.Code)
	stays := status >= 400 && !temporary(status) || lasting.MatchString(kind) && !strings.Contains(kind, "rate_limit")
	return &Error{Reason: "the model's server reports an error in its answer", Detail: kind + " " + e.Message, Temporary: !stays}
}
