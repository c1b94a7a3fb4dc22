package a2a_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// wireAnswer is an answer whose body may still be on its way.
type wireAnswer struct{ *http.Response }

// wireHeaders are the headers that are compared.
var wireHeaders = []string{
	"Content-Type", "Cache-Control", "X-Content-Type-Options", "Cross-Origin-Resource-Policy", "ETag", "Last-Modified", "Allow", "WWW-Authenticate", "Retry-After", "A2A-Extensions", "X-A2A-Extensions", "X-Accel-Buffering", "Vary",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
}

// wireAlways are the headers that every answer has, and that are written down only when
// one has another value.
var wireAlways = map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}

// read reads an answer to its end and writes it down: the status, the headers that
// matter, an empty line, and the body. JSON is laid out, and of a stream each frame.
// What differs from run to run has a name instead, so that a later request can use it.
func (run *wireRun) read(a *wireAnswer) string {
	run.t.Helper()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		run.t.Fatalf("read answer after %d bytes: %v", len(body), err)
	}
	checkDocumented(run.t, a.Request, a.StatusCode, a.Header.Get("Content-Type"), body)
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", a.StatusCode, http.StatusText(a.StatusCode))
	for name := range wireAlways {
		if got := a.Header.Values(name); len(got) != 1 {
			run.t.Errorf("the answer %d has the header %s %d times, want once", a.StatusCode, name, len(got))
		}
	}
	for _, name := range wireHeaders {
		for _, value := range a.Header.Values(name) {
			if value == wireAlways[name] {
				continue
			}
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if len(body) > 0 {
		b.WriteByte('\n')
	}
	switch {
	case len(body) == 0:
	case strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream"):
		run.writeFrames(&b, string(body))
	default:
		b.WriteString(run.indent(body))
	}
	return run.name(b.String())
}

// indent writes the JSON of an answer for people.
func (run *wireRun) indent(raw []byte) string {
	run.t.Helper()
	text, err := run.layout.layout(raw)
	if err != nil {
		run.t.Errorf("the answer is not JSON: %v: %.300q", err, raw)
		text = string(raw)
	}
	return text + "\n"
}

// writeFrames writes the frames of a stream, and insists on their form.
func (run *wireRun) writeFrames(b *strings.Builder, body string) {
	run.t.Helper()
	body = strings.ReplaceAll(body, ": still here\n\n", "") // on a slow machine
	rest, ok := strings.CutSuffix(body, "\n\n")
	if !ok {
		run.t.Errorf("the stream does not end with a whole frame: %.300q", body)
	}
	for i, frame := range strings.Split(rest, "\n\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		for line := range strings.SplitSeq(frame, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				line = "data: " + strings.TrimSuffix(run.indent([]byte(data)), "\n")
			}
			b.WriteString(line + "\n")
		}
	}
}

// wireVolatile finds what differs from run to run: the ids that the engine makes of
// time and chance, UUIDs of version 7, those that the script planner makes, of version 4, the tokens of pages, and the digest of the card.
var wireVolatile = map[string]*regexp.Regexp{
	"context": regexp.MustCompile(`"contextId": "([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21})"`),
	"message": regexp.MustCompile(`"messageId": "([0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f-]{21})"`),
	"page":    regexp.MustCompile(`"nextPageToken": "([^"]+)"`),
	"etag":    regexp.MustCompile(`(?m)^ETag: (.+)$`),
}

// name puts a name in the place of each volatile value: {{context}} for the first
// one, {{context-2}} for the next.
func (run *wireRun) name(text string) string {
	for kind, pattern := range wireVolatile {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			if run.named[found[1]] != "" {
				continue
			}
			name := kind
			for n := 2; run.taken(name); n++ {
				name = fmt.Sprintf("%s-%d", kind, n)
			}
			run.named[found[1]] = name
		}
	}
	for value, name := range run.named {
		text = strings.ReplaceAll(text, value, "{{"+name+"}}")
	}
	return text
}

func (run *wireRun) taken(name string) bool {
	for _, other := range run.named {
		if other == name {
			return true
		}
	}
	return false
}
