package a2a_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	v03 "a2a-server/a2a/v03"
)

// oldNames are the methods of 0.3, and what their answers are.
var oldNames = map[string]struct {
	name, path string
	task       bool // the answer is a task by itself
}{
	"SendMessage": {"message/send", "POST /v1/message:send", false}, "SendStreamingMessage": {"message/stream", "POST /v1/message:stream", false},
	"GetTask": {"tasks/get", "GET /v1/tasks/ID", true}, "CancelTask": {"tasks/cancel", "POST /v1/tasks/ID:cancel", true},
	"SubscribeToTask": {"tasks/resubscribe", "GET /v1/tasks/ID:subscribe", false},
}

// TestApprovalsOverBothVersions plays the wire cases of approvals, in every dialect, over
// both forms of 0.3: each answer is the one of 1.0, which its file has, as 0.3 writes it.
func TestApprovalsOverBothVersions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/wire/approval-*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("testdata/wire holds %d cases of approvals, %v", len(files), err)
	}
	for _, file := range files {
		for form, name := range map[v03.Form]string{v03.JSONRPC: "JSON-RPC", v03.REST: "HTTP+JSON"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
				t.Parallel()
				archive, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if form == v03.REST { // where 0 is no limit
					for i := range archive.Files {
						archive.Files[i].Data = bytes.ReplaceAll(archive.Files[i].Data, []byte(`"historyLength": 0`), []byte(`"historyLength": 100`))
					}
				}
				now, old := playVersions(t, archive, nil), playVersions(t, archive, &form)
				if len(now) != len(old) || len(now) == 0 {
					t.Fatalf("%d answers in 1.0, %d in 0.3", len(now), len(old))
				}
				for i := range now {
					if d := cmp.Diff(now[i].as(t, form), old[i].facts(t)); d != "" {
						t.Fatalf("answer %d, to %s (-of 1.0 +of 0.3):\n%s", i+1, now[i].method, d)
					}
				}
			})
		}
	}
}

// playedAnswer is an answer to a request that has a method in both versions.
type playedAnswer struct {
	method string
	body   []byte
}

// playVersions plays a case in 1.0 or, with a form, in 0.3.
func playVersions(t *testing.T, in *txtar.Archive, form *v03.Form) []playedAnswer {
	t.Helper()
	server := startWireServer(t, zerolog.Nop(), wireSetup(t, in))
	run := &wireRun{t: t, url: server.listen(t), named: map[string]string{}, open: map[string]*wireAnswer{}, layout: wireLayout{written: map[string]bool{}}}
	methods := map[string]string{}
	var all []playedAnswer
	read := func(name string) {
		answer := run.open[name]
		delete(run.open, name)
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		// For later requests, by the same names.
		for kind, pattern := range map[string]string{"context": `"contextId":"([0-9a-f-]{36})"`, "message": `"messageId":"([0-9a-f-]{36})"`} {
			for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(body, -1) {
				if !strings.HasPrefix(string(m[1]), "019b7c00") && run.named[string(m[1])] == "" {
					n := kind
					for i := 2; run.taken(n); i++ {
						n = fmt.Sprint(kind, " ", i)
					}
					run.named[string(m[1])] = n
				}
			}
		}
		for value, name := range run.named {
			body = bytes.ReplaceAll(body, []byte(value), []byte("{{"+name+"}}"))
		}
		all = append(all, playedAnswer{methods[name], body})
	}
	for _, f := range in.Files {
		what, name, _ := strings.Cut(f.Name, " ")
		switch what {
		case "wait":
			d, err := time.ParseDuration(name)
			if err != nil {
				t.Fatal(err)
			}
			server.clock.Add(int64(d))
		case "shutdown":
			server.engine.Stop(0 /* grace */)
		case "request":
			text, method := string(f.Data), ""
			if rest, ok := strings.CutPrefix(text, "JSON-RPC "); ok {
				line, rest, _ := strings.Cut(rest, "\n")
				head, params, ok := strings.Cut(rest, "\n\n")
				if !ok { // there are no further headers
					head, params = "", strings.TrimSpace(rest)
				}
				if _, both := oldNames[line]; both {
					if method = line; form != nil {
						text = oldRequest(t, *form, line, head, run.expand(params))
					}
				}
			}
			methods[name] = method
			run.open[name] = run.send(text)
			if name == "" {
				read("")
			}
		case "response":
			if name != "" {
				read(name)
			}
		}
	}
	return all
}

// oldRequest returns a request of 1.0 in 0.3, as a section of a case.
func oldRequest(t *testing.T, form v03.Form, method, head, params string) string {
	t.Helper()
	old := oldNames[method]
	var body []byte
	var path string
	if strings.HasPrefix(method, "Send") {
		var req sdk.SendMessageRequest
		if err := json.Unmarshal([]byte(params), &req); err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		if form == v03.JSONRPC {
			legacy := a2av0.FromV1SendMessageRequest(&req)
			raw, err := json.Marshal(legacy)
			if err != nil {
				t.Fatal(err)
			}
			body = raw
		} else {
			raw, err := pbjson.ToProtoSendMessageRequest(&req)
			if err != nil {
				t.Fatal(err)
			}
			body = raw
		}
		path = old.path
	} else {
		var fields struct {
			ID            string
			HistoryLength *int
		}
		if err := json.Unmarshal([]byte(params), &fields); err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		path = strings.ReplaceAll(old.path, "ID", fields.ID)
		if fields.HistoryLength != nil {
			path += fmt.Sprint("?historyLength=", *fields.HistoryLength)
		}
		if body = []byte(params); form == v03.REST {
			body = nil
		}
	}
	if head != "" {
		head = strings.TrimSuffix(head, "\n") + "\n"
	}
	if form == v03.JSONRPC {
		return "JSON-RPC " + old.name + "\n" + head + "\n" + string(body)
	}
	if len(body) > 0 {
		head += "Content-Type: application/json\n"
	}
	return path + "\n" + head + "\n" + string(body)
}

// as returns what is compared of an answer of 1.0, as 0.3 writes it.
func (a playedAnswer) as(t *testing.T, form v03.Form) []any {
	t.Helper()
	old, both := oldNames[a.method]
	if !both {
		return a.facts(t)
	}
	convert := v03.AppendEvent
	if old.task {
		convert = v03.AppendTask
	}
	var all []any
	for _, frame := range sseData(a.body) {
		var answer struct {
			Result json.RawMessage
			Error  *struct {
				Message string
				Data    []map[string]any
			}
		}
		if err := json.Unmarshal(frame, &answer); err != nil {
			t.Fatalf("%s: %v", frame, err)
		}
		if answer.Error != nil {
			if form == v03.REST { // which has other names for the parts, and for data in them
				for _, d := range answer.Error.Data {
					violations, _ := d["fieldViolations"].([]any)
					for _, v := range violations {
						if of, is := v.(map[string]any); is {
							field := strings.Replace(fmt.Sprint(of["field"]), "message.parts", "message.content", 1)
							of["field"] = strings.Replace(field, "].data", "].data.data", 1)
						}
					}
				}
			}
			details := make([]any, len(answer.Error.Data))
			for i, d := range answer.Error.Data {
				details[i] = d
			}
			all = append(all, []any{answer.Error.Message, details})
			continue
		}
		text, err := convert(nil, answer.Result, form)
		if err != nil {
			t.Fatalf("%s: %v", frame, err)
		}
		all = append(all, string(text))
		if a.method == "SubscribeToTask" && bytes.Contains(frame, []byte(`"TASK_STATE_INPUT_REQUIRED"`)) {
			return all // in 0.3 the stream ends here
		}
	}
	return all
}

// facts returns what is compared of an answer of 0.3.
func (a playedAnswer) facts(t *testing.T) []any {
	t.Helper()
	var all []any
	for _, frame := range sseData(a.body) {
		var answer struct {
			Result json.RawMessage
			Error  *struct {
				Message string
				Data    struct{ Details any }
				Details any
			}
		}
		if err := json.Unmarshal(frame, &answer); err != nil && a.method != "" {
			t.Fatalf("%s: %v", frame, err)
		}
		switch {
		case a.method == "":
			all = append(all, string(frame))
		case answer.Error != nil && answer.Error.Details != nil:
			all = append(all, []any{answer.Error.Message, answer.Error.Details})
		case answer.Error != nil:
			all = append(all, []any{answer.Error.Message, answer.Error.Data.Details})
		case answer.Result != nil:
			all = append(all, string(answer.Result))
		default:
			all = append(all, string(frame))
		}
	}
	return all
}

// sseData returns the data of a stream, or a whole answer.
func sseData(body []byte) [][]byte {
	if !bytes.HasPrefix(body, []byte("id: ")) && !bytes.HasPrefix(body, []byte("data: ")) && !bytes.HasPrefix(body, []byte(": ")) {
		return [][]byte{bytes.TrimSpace(body)}
	}
	var all [][]byte
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			all = append(all, bytes.TrimSpace(data))
		}
	}
	return all
}
