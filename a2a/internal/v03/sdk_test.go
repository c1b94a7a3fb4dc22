package v03_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	legacy "github.com/a2aproject/a2a-go/a2a"
	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	v03 "a2a-server/a2a/internal/v03"
)

// samples makes values of A2A 1.0 in all their forms.
type samples struct{ *rand.Rand }

func (s samples) some() bool { return s.IntN(2) == 0 }

func (s samples) text() string {
	return []string{"", "x", "a \"quoted\" \\ text\\", "{[,:]}", "é <b>&\u2028", "\x01\n\t", strings.Repeat("long ", 50), `\"`, "]"}[s.IntN(9)]
}

func (s samples) metadata() map[string]any {
	if s.some() {
		return nil
	}
	m := map[string]any{"k" + s.text(): s.value(2)}
	if s.some() {
		m["kind"] = "task"
	}
	return m
}

func (s samples) value(depth int) any {
	switch s.IntN(7) {
	case 0:
		return nil
	case 1:
		return s.some()
	case 2:
		return float64(s.IntN(1000)) / 8
	case 3:
		return s.text()
	case 4:
		if depth > 0 {
			return []any{s.value(depth - 1), s.value(depth - 1)}
		}
	case 5, 6:
		if depth > 0 {
			return map[string]any{s.text(): s.value(depth - 1), "parts": []any{}, "status": s.value(depth - 1)}
		}
	}
	return float64(1)
}

func (s samples) part() *sdk.Part {
	p := &sdk.Part{Metadata: s.metadata()}
	switch s.IntN(5) {
	case 0:
		p.Content = sdk.Text(s.text())
	case 1:
		p.Content, p.Filename, p.MediaType = sdk.Raw(s.text()+"."), s.text(), "text/plain"
	case 2:
		p.Content, p.MediaType = sdk.URL("https://example.com/"+s.text()), s.text()
	case 3:
		p.Content = sdk.Data{Value: map[string]any{"data": s.value(2), s.text(): s.value(1)}}
	default:
		value := s.value(2)
		if value == nil { // the SDK cannot decode what it encodes
			value = []any{}
		}
		p.Content = sdk.Data{Value: value}
	}
	return p
}

func (s samples) parts() sdk.ContentParts {
	all := sdk.ContentParts{s.part()}
	for s.some() {
		all = append(all, s.part())
	}
	return all
}

func (s samples) message() *sdk.Message {
	m := &sdk.Message{ID: "m" + s.text(), ContextID: s.text(), TaskID: sdk.TaskID(s.text()), Role: sdk.MessageRoleUser, Parts: s.parts(), Metadata: s.metadata()}
	if s.some() {
		m.Role = sdk.MessageRoleAgent
	}
	if s.some() {
		m.Extensions, m.ReferenceTasks = []string{"urn:x"}, []sdk.TaskID{"t1", "t2"}
	}
	return m
}

var states = []sdk.TaskState{
	sdk.TaskStateSubmitted, sdk.TaskStateWorking, sdk.TaskStateCompleted, sdk.TaskStateFailed, sdk.TaskStateCanceled, sdk.TaskStateRejected,
	sdk.TaskStateInputRequired, sdk.TaskStateAuthRequired,
}

func (s samples) status() sdk.TaskStatus {
	at := time.UnixMilli(s.Int64N(1 << 40)).UTC()
	st := sdk.TaskStatus{State: states[s.IntN(len(states))], Timestamp: &at}
	if s.some() {
		st.Message = s.message()
	}
	return st
}

func (s samples) artifact() *sdk.Artifact {
	return &sdk.Artifact{ID: "a" + sdk.ArtifactID(s.text()), Name: s.text(), Description: s.text(), Parts: s.parts(), Metadata: s.metadata()}
}

func (s samples) event() sdk.Event {
	switch s.IntN(4) {
	case 0:
		return s.message()
	case 1:
		t := &sdk.Task{ID: "t", ContextID: s.text(), Status: s.status(), Metadata: s.metadata()}
		for s.some() {
			t.Artifacts = append(t.Artifacts, s.artifact())
		}
		for s.some() {
			t.History = append(t.History, s.message())
		}
		return t
	case 2:
		return &sdk.TaskStatusUpdateEvent{TaskID: "t", ContextID: s.text(), Status: s.status(), Metadata: s.metadata()}
	}
	return &sdk.TaskArtifactUpdateEvent{TaskID: "t", ContextID: s.text(), Artifact: s.artifact(), Append: s.some(), LastChunk: s.some(), Metadata: s.metadata()}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// decoded returns JSON as a value; what is empty and what is missing are the same.
func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// without returns a decoded value without members that are empty, false or of a name.
func without(v any, names ...string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			drop := false
			for _, n := range names {
				drop = drop || n == name
			}
			if value = without(value, names...); !drop && value != nil && value != "" && value != false {
				out[name] = value
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = without(v[i], names...)
		}
		return out
	}
	return v
}

// What we write is what the SDK makes of the same value.
func TestEventsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		e := samples{rand.New(rand.NewPCG(seed, 1))}.event()
		raw := encode(t, sdk.StreamResponse{Event: e})
		old, err := a2av0.FromV1Event(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v03.AppendEvent([]byte("data: "), raw, v03.JSONRPC)
		if err != nil {
			t.Fatalf("seed %d: %v of %s", seed, err, raw)
		}
		if d := cmp.Diff(without(decoded(t, encode(t, old))), without(decoded(t, got[len("data: "):]))); d != "" {
			t.Fatalf("seed %d, %s:\n%s", seed, raw, d)
		}
		rest, err := v03.AppendEvent(nil, raw, v03.REST)
		if err != nil {
			t.Fatalf("seed %d: %v of %s", seed, err, raw)
		}
		theirs, err := pbjson.ToProtoStreamEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		// It wraps no data (10), has final only in terminal states (9), and a field that a2a.v1
		// does not have.
		if strings.Contains(string(got), "data_part_compat") {
			continue
		}
		if d := cmp.Diff(without(decoded(t, theirs), "final", "referenceTaskIds"), without(decoded(t, rest), "final", "referenceTaskIds")); d != "" {
			t.Fatalf("seed %d, REST, %s:\n%s", seed, raw, d)
		}
	}
}

// Defects 9 and 9b: final is true in terminal states and at input-required, in both forms.
func TestFinal(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		want := state.Terminal() || state == sdk.TaskStateInputRequired
		raw := encode(t, sdk.StreamResponse{Event: &sdk.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: sdk.TaskStatus{State: state}}})
		for _, form := range []v03.Form{v03.JSONRPC, v03.REST} {
			got, err := v03.AppendEvent(nil, raw, form)
			if err != nil || strings.Contains(string(got), `"final":true`) != want || !strings.Contains(string(got), `"final":`) {
				t.Errorf("%s in form %d = %s, %v, want final %v", state, form, got, err, want)
			}
		}
	}
}

// Defect 10: data that is not an object is wrapped, in both forms, and comes back as it was.
func TestDataIsWrapped(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`[1,"x"]`, `"x"`, `1`, `null`, `true`, `{"value":1}`, `{}`} {
		for _, metadata := range []string{"", `,"metadata":{}`, `,"metadata":null`, `,"metadata":{"a":1}`, `,"metadata":{"data_part_compat":false,"a":{}}`} {
			part := `{"data":` + value + metadata + `}`
			raw := `{"message":{"messageId":"m","parts":[` + part + `],"role":"ROLE_USER"}}`
			for _, form := range []v03.Form{v03.JSONRPC, v03.REST} {
				old, err := v03.AppendEvent(nil, []byte(raw), form)
				if err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
				wrapped := value[0] != '{'
				if strings.Contains(string(old), `"data_part_compat":true`) != wrapped || strings.Contains(string(old), `{"value":`+value+`}`) != wrapped {
					t.Errorf("%s in form %d = %s", part, form, old)
				}
				params := string(old)
				if form == v03.JSONRPC {
					params = `{"message":` + params + `}`
				}
				back, err := v03.SendRequest([]byte(params), form)
				if err != nil {
					t.Fatalf("%s: %v", old, err)
				}
				var got struct {
					Message struct {
						Parts []struct {
							Data     json.RawMessage
							Metadata map[string]any
						}
					}
				}
				if err := json.Unmarshal(back, &got); err != nil || len(got.Message.Parts) != 1 || string(got.Message.Parts[0].Data) != value {
					t.Errorf("%s in form %d comes back as %s, %v", part, form, back, err)
				}
				if _, marked := got.Message.Parts[0].Metadata["data_part_compat"]; marked && wrapped {
					t.Errorf("%s comes back marked: %s", part, back)
				}
			}
		}
	}
}

// What we read is what the SDK makes of the same request.
func TestRequestsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		s := samples{rand.New(rand.NewPCG(seed, 2))}
		m := s.message()
		blocking, length := s.some(), s.IntN(5)
		old := &legacy.MessageSendParams{Message: a2av0.FromV1Message(m), Metadata: s.metadata()}
		if s.some() {
			old.Config = &legacy.MessageSendConfig{AcceptedOutputModes: []string{"text/plain"}, HistoryLength: &length}
			if s.some() {
				old.Config.Blocking = &blocking
			}
			if s.some() {
				old.Config.PushConfig = &legacy.PushConfig{ID: "p", URL: "https://example.com", Token: s.text(), Auth: &legacy.PushAuthInfo{Schemes: []string{"Bearer", "Basic"}, Credentials: "x"}}
			}
		}
		raw := encode(t, old)
		want, err := a2av0.ToV1SendMessageRequest(old)
		if err != nil {
			t.Fatal(err)
		}
		if want.Config != nil && want.Config.PushConfig != nil {
			want.Config.PushConfig.TaskID = "" // the message has it
		}
		converted, err := v03.SendRequest(raw, v03.JSONRPC)
		if err != nil {
			t.Fatalf("seed %d: %v of %s", seed, err, raw)
		}
		var got sdk.SendMessageRequest
		if err := json.Unmarshal(converted, &got); err != nil {
			t.Fatalf("seed %d: %v of %s, from %s", seed, err, converted, raw)
		}
		if d := cmp.Diff(want, &got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("seed %d, %s:\n%s", seed, raw, d)
		}

		req := &sdk.SendMessageRequest{Message: m, Metadata: s.metadata()}
		m.ReferenceTasks = nil
		for _, p := range m.Parts {
			if d, ok := p.Content.(sdk.Data); ok { // it wraps none
				if _, object := d.Value.(map[string]any); !object {
					p.Content = sdk.Data{Value: map[string]any{"a": d.Value}}
				}
			}
		}
		if s.some() {
			req.Config = &sdk.SendMessageConfig{ReturnImmediately: s.some(), HistoryLength: &[]int{1 + s.IntN(5)}[0], AcceptedOutputModes: []string{"text/plain"}}
		}
		raw, err = pbjson.ToProtoSendMessageRequest(req)
		if err != nil {
			t.Fatal(err)
		}
		converted, err = v03.SendRequest(raw, v03.REST)
		if err != nil {
			t.Fatalf("seed %d, REST: %v of %s", seed, err, raw)
		}
		got = sdk.SendMessageRequest{}
		if err := json.Unmarshal(converted, &got); err != nil {
			t.Fatalf("seed %d, REST: %v of %s, from %s", seed, err, converted, raw)
		}
		if d := cmp.Diff(req, &got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("seed %d, REST, %s:\n%s", seed, raw, d)
		}
	}
}

// Push configs are those of the SDK, in both directions.
func TestPushConfigsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	for i, c := range []*sdk.PushConfig{
		{TaskID: "t", ID: "i", URL: "https://example.com/hook"},
		{TaskID: "t", ID: "i", URL: "https://example.com/\"", Token: "x", Auth: &sdk.PushAuthInfo{Scheme: "Bearer", Credentials: "c"}},
	} {
		raw := encode(t, c)
		got, err := v03.AppendPushConfig(nil, raw, v03.JSONRPC)
		if err != nil {
			t.Fatal(err)
		}
		old := encode(t, a2av0.FromV1PushConfig(c))
		if d := cmp.Diff(without(decoded(t, old)), without(decoded(t, got))); d != "" {
			t.Errorf("%d: %s", i, d)
		}
		rest, err := v03.AppendPushConfig(nil, raw, v03.REST)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := pbjson.ToProtoPushConfigResponse(c)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(without(decoded(t, theirs)), without(decoded(t, rest))); d != "" {
			t.Errorf("%d, REST: %s", i, d)
		}
		for form, raw := range map[v03.Form][]byte{v03.JSONRPC: old, v03.REST: must(pbjson.ToProtoCreatePushConfigRequest(c))} {
			back, err := v03.CreatePushConfig(raw, form)
			if err != nil {
				t.Fatal(err)
			}
			want := *c
			if form == v03.REST {
				want.TaskID = "" // it is in the path
			}
			var got sdk.PushConfig
			if err := json.Unmarshal(back, &got); err != nil {
				t.Fatalf("%s: %v", back, err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d, form %d: %s", i, form, d)
			}
		}
	}
	// Defect 7: no configs are an empty list, and a deletion has a result.
	for raw, want := range map[string]string{
		`{"configs":[],"nextPageToken":""}`: `[]`, `{"nextPageToken":""}`: `[]`,
		`{"configs":[{"taskId":"t","id":"a","url":"u"}]}`: `[{"taskId":"t","pushNotificationConfig":{"id":"a","url":"u"}}]`,
	} {
		if got, err := v03.AppendPushConfigs([]byte("x["), []byte(raw), v03.JSONRPC); err != nil || string(got) != "x["+want {
			t.Errorf("%s = %s, %v, want %s", raw, got, err, want)
		}
	}
	if got, err := v03.AppendDeleted(nil, []byte("{}"), v03.JSONRPC); err != nil || string(got) != "null" {
		t.Errorf("a deletion = %s, %v, want null", got, err)
	}
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprint("encode: ", err))
	}
	return raw
}
