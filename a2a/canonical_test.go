package a2a_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"a2a-server/a2a"
	"a2a-server/internal/strictjson"
	"a2a-server/task"
	"a2a-server/task/engine"
)

var randomMessages = flag.Int("a2a.messages", 3000, "how many random messages TestMessagesAreCanonical sends")

// TestMessagesAreCanonical compares what a task keeps of a message with protojson: it is the message that
// protojson decodes, with the ids of its task, in the canonical form, and without unknown members.
func TestMessagesAreCanonical(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(e *engine.Config, c *a2a.Config) {
		e.Planner = plan(func() (*task.Step, error) { return &task.Step{End: &task.End{State: sdk.TaskStateCompleted}}, nil })
		c.Card.InputModes = []string{"*/*"}
	})
	r := sender{rand.New(rand.NewPCG(1, 2))} //nolint:gosec // repeatable
	for i := range *randomMessages {
		sent := r.message(i)
		kept, err := s.kept(sent)
		if err != nil {
			t.Fatalf("%v\nof %s", err, sent)
		}
		var want, got a2apb.Message
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(sent), &want); err != nil {
			t.Fatalf("%v in %s", err, sent)
		}
		if err := protojson.Unmarshal(kept, &got); err != nil {
			t.Fatalf("%v in %s", err, kept)
		}
		want.TaskId, want.ContextId = got.GetTaskId(), got.GetContextId()
		if want.GetTaskId() == "" || want.GetContextId() == "" {
			t.Fatalf("%s has not the ids of its task", kept)
		}
		withoutEmptyMetadata(&want)
		if diff := cmp.Diff(&want, &got, protocmp.Transform()); diff != "" {
			t.Fatalf("%s\nis kept as\n%s (-want +got):\n%s", sent, kept, diff)
		}
		text, err := protojson.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := canonical(t, text), canonical(t, kept); want != got {
			t.Fatalf("%s is kept as\n%s, want\n%s", sent, got, want)
		}
		if spaces := strings.ContainsAny(string(kept), "\n\t"); spaces {
			t.Fatalf("%s has spaces", kept)
		}
	}
}

// kept sends a message, and returns it as its task has it.
func (s *wireServer) kept(message string) (json.RawMessage, error) {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/message:send", strings.NewReader(`{"configuration":{"returnImmediately":true},"message":`+message+`}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	var answer struct {
		Task struct{ History []json.RawMessage }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Task.History) == 0 {
		return nil, fmt.Errorf("the answer is %d, %s: %w", w.Code, w.Body, err)
	}
	return answer.Task.History[0], nil
}

// withoutEmptyMetadata removes metadata without members, which the SDK does not keep.
func withoutEmptyMetadata(m *a2apb.Message) {
	if len(m.GetMetadata().GetFields()) == 0 {
		m.Metadata = nil
	}
	for _, p := range m.GetParts() {
		if len(p.GetMetadata().GetFields()) == 0 {
			p.Metadata = nil
		}
	}
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	form, err := strictjson.Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(form)
}

// sender writes messages at random, as clients may write them.
type sender struct{ *rand.Rand }

func (r sender) pick(texts ...string) string { return texts[r.IntN(len(texts))] }

// message returns the JSON of a message.
func (r sender) message(i int) string {
	all := []string{
		fmt.Sprintf(`%s:"m-%d"`, r.pick(`"messageId"`, `"message_id"`, `"message\u0049d"`), i),
		`"role":` + r.pick(`"ROLE_USER"`, `1`, `"ROLE\u005fUSER"`),
		`"parts":` + r.list(1, r.part),
	}
	for _, member := range []func() string{
		func() string { return `"contextId":` + r.pick(`""`, `null`) },
		func() string { return `"extensions":` + r.list(0, r.text) },
		func() string { return r.pick(`"referenceTaskIds":`, `"reference_task_ids":`) + r.list(0, r.text) },
		func() string { return `"metadata":` + r.object(0) },
		r.unknown,
	} {
		if r.IntN(3) == 0 {
			all = append(all, member())
		}
	}
	return r.members(all)
}

func (r sender) part() string {
	var all []string
	switch r.IntN(5) {
	case 0:
		all = append(all, `"raw":`+r.pick(`""`, `"AAEC/+8="`, `"AAEC_-8"`))
	case 1:
		all = append(all, `"url":`+r.pick(`"https://example.org/?a&b"`, `"x"`))
	case 2:
		all = append(all, `"data":`+r.value(0))
	default:
		all = append(all, `"text":`+r.text())
	}
	for _, member := range []func() string{
		func() string { return `"filename":` + r.text() },
		func() string { return r.pick(`"mediaType":`, `"media_type":`) + r.pick(`"text/plain"`, `""`, `null`) },
		func() string { return `"metadata":` + r.object(0) },
		r.unknown,
	} {
		if r.IntN(4) == 0 {
			all = append(all, member())
		}
	}
	return r.members(all)
}

func (r sender) unknown() string { return `"kind":` + r.value(1) }

func (r sender) text() string {
	return r.pick(`""`, `"x"`, `"<b>&\u003c\u0026"`, `"\u2028`+"\u2028"+`"`, `"\ud83d\ude00😀\/\\\""`, `"\b\f\n\r\t\u0000\u007f"`, `"é\u00e9漢"`)
}

func (r sender) value(depth int) string {
	n := r.IntN(9)
	if depth > 3 {
		n = r.IntN(7)
	}
	switch n {
	case 0:
		return `null`
	case 1:
		return r.pick(`true`, `false`)
	case 2, 3:
		return r.text()
	case 4:
		return r.pick(`0`, `-0`, `-0.0`, `1e3`, `1.50`, `0.1E-7`, `1e21`, `9007199254740991`, `5e-324`, `1.7976931348623157e308`, `100000000000000000000.0`)
	case 5:
		return fmt.Sprint(r.IntN(2000) - 1000)
	case 6:
		return fmt.Sprint(r.NormFloat64())
	case 7:
		return r.list(0, func() string { return r.value(depth + 1) })
	}
	return r.object(depth)
}

func (r sender) object(depth int) string {
	var all []string
	for i := range r.IntN(4) {
		all = append(all, fmt.Sprintf(`"%s%d":%s`, r.pick("a", "é", `\u003c`, "<", "\u2029", "z z", ""), i, r.value(depth+1)))
	}
	return r.members(all)
}

// members returns an object of members, in any order.
func (r sender) members(all []string) string {
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return "{" + r.space() + strings.Join(all, r.space()+","+r.space()) + r.space() + "}"
}

func (r sender) list(least int, element func() string) string {
	all := make([]string, least+r.IntN(3))
	for i := range all {
		all[i] = element()
	}
	return "[" + strings.Join(all, ","+r.space()) + "]"
}

func (r sender) space() string { return r.pick("", "", "", " ", "\n\t") }
