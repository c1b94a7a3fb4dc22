package a2a_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wireRun is one run of a case.
type wireRun struct {
	t      *testing.T
	url    string
	named  map[string]string      // volatile values of answers → the names that stand for them
	open   map[string]*wireAnswer // by the name of the request
	layout wireLayout
}

// wireClient asks for nothing by itself, and does not wait forever.
var wireClient = &http.Client{
	Timeout: time.Minute,
	// A request that says "Expect: 100-continue" holds its body back until the server
	// wants it, so that a refusal of the head is not lost in a connection that is reset.
	Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true, ExpectContinueTimeout: time.Minute},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// wireDirective is what cannot be written as text, or is not known beforehand:
//
//	{{repeat 1000 [}}  a text many times; of braces, it may be one closing one
//	{{hex ff fe}}      bytes
//	{{context}}        a value of an earlier answer, by the name that it has there
var wireDirective = regexp.MustCompile(`\{\{(repeat \d+ \}|.*?)\}\}`)

func (run *wireRun) expand(text string) string {
	return wireDirective.ReplaceAllStringFunc(text, func(found string) string {
		found = found[2 : len(found)-2]
		what, rest, _ := strings.Cut(found, " ")
		switch what {
		case "repeat":
			count, text, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(count)
			if err != nil {
				run.t.Fatalf("{{%s}}: %v", found, err)
			}
			return strings.Repeat(text, n)
		case "hex":
			raw, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
			if err != nil {
				run.t.Fatalf("{{%s}}: %v", found, err)
			}
			return string(raw)
		}
		for value, name := range run.named {
			if name == found {
				return value
			}
		}
		run.t.Fatalf("{{%s}} is no directive, and no answer so far has a value of this name", found)
		return ""
	})
}

// send sends a request, which is written like one of HTTP: method and target,
// header lines, an empty line, the body. Nothing is added to it but Content-Length,
// and not even that with "Transfer-Encoding: chunked".
//
// "JSON-RPC Method" as the first line is a POST at the base URL of a request with
// the id 1; the body is its params.
func (run *wireRun) send(text string) *wireAnswer {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	body = run.expand(strings.TrimSuffix(body, "\n"))
	method, target, _ := strings.Cut(lines[0], " ")
	header := http.Header{}
	if method == "JSON-RPC" {
		params := ""
		if body != "" {
			params = `,"params":` + body
		}
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q%s}`, target, params)
		method, target = http.MethodPost, "/"
		header.Set("Content-Type", "application/json")
	}
	r, err := http.NewRequestWithContext(run.t.Context(), method, run.url+run.expand(target), strings.NewReader(body))
	if err != nil {
		run.t.Fatal(err)
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		value = run.expand(strings.TrimSpace(value))
		switch {
		case !ok:
			run.t.Fatalf("%q is no header line", line)
		case name == "Host":
			r.Host = value
		case name == "Transfer-Encoding":
			r.ContentLength = -1
			r.Body = io.NopCloser(bytes.NewReader([]byte(body)))
		default:
			header.Add(name, value)
		}
	}
	r.Header = header
	resp, err := wireClient.Do(r)
	if err != nil {
		run.t.Fatalf("%s: %v", lines[0], err)
	}
	run.t.Cleanup(func() { resp.Body.Close() })
	return &wireAnswer{Response: resp}
}
