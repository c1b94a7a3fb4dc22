package v03_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/internal/strictjson"
)

// What a request may not be is refused in words that name the field, and what 0.3 does not
// have is no way to say something in 1.0.
func TestSendRequest(t *testing.T) {
	t.Parallel()
	rpc := func(part string) string {
		return `{"message":{"messageId":"m","role":"user","parts":[` + part + `]}}`
	}
	rest := func(part string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","content":[` + part + `]}}`
	}
	parts := func(part string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + part + `]}}`
	}
	for _, tc := range []struct {
		name, in string
		form     v03.Form
		want     string // of 1.0, or the error
	}{
		{"nothing", `{}`, v03.JSONRPC, `{}`},
		{"no object", `[]`, v03.JSONRPC, "the request must be an object"},
		{"no message", `{"message":null,"extra":{"message":1}}`, v03.JSONRPC, `{"message":null}`},
		{"a message of another type", `{"message":"x"}`, v03.JSONRPC, `{"message":"x"}`},
		{"snake case", `{"message":{"message_id":"m","context_id":"c","task_id":"t","reference_task_ids":["a"],"role":"user","parts":[]},"configuration":{"history_length":1,"accepted_output_modes":["a"]}}`, v03.JSONRPC,
			`{"message":{"messageId":"m","contextId":"c","taskId":"t","referenceTaskIds":["a"],"role":"ROLE_USER","parts":[]},"configuration":{"historyLength":1,"acceptedOutputModes":["a"]}}`},
		{"escaped names", `{"mess\u0061ge":{"r\u006fle":"user"}}`, v03.JSONRPC, `{"message":{"role":"ROLE_USER"}}`},
		{"names of 1.0", `{"tenant":"x","message":{"role":"user","parts":[{"kind":"text","text":"x","raw":"eA==","url":"u","mediaType":"a/b","filename":"f"}],"content":[{"text":"y"}]},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"u"}}}`, v03.JSONRPC,
			`{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{}}`},
		{"role of 1.0", `{"message":{"role":"ROLE_USER"}}`, v03.JSONRPC, `message.role must be "user"`},
		{"role of agents", `{"message":{"role":"agent"}}`, v03.JSONRPC, `{"message":{"role":"ROLE_AGENT"}}`},
		{"another kind", `{"message":{"kind":"task"}}`, v03.JSONRPC, `message.kind must be "message"`},
		{"text", rpc(`{"text":"x"}`), v03.JSONRPC, parts(`{"text":"x"}`)},
		{"text and data", rpc(`{"kind":"text","text":"x","data":{}}`), v03.JSONRPC, "message.parts[0] has more than one of text, file and data"},
		{"text twice", rpc(`{"kind":"text","text":"x"},{"kind":"data","text":"x"}`), v03.JSONRPC, `message.parts[1] has text, but its kind is "data"`},
		{"no kind of part", rpc(`{"kind":"image","text":"x"}`), v03.JSONRPC, `message.parts[0].kind must be "text", "file" or "data"`},
		{"a kind that is no string", rpc(`{"kind":["text"],"text":"x"}`), v03.JSONRPC, `message.parts[0].kind must be "text", "file" or "data"`},
		{"nothing in a part", rpc(`{"kind":"text","text":null}`), v03.JSONRPC, "message.parts[0] has no content: give it text, file or data"},
		{"a part of another type", rpc(`null`), v03.JSONRPC, "message.parts[0] must be an object"},
		{"data of another type", rpc(`{"kind":"data","data":[1]}`), v03.JSONRPC, "message.parts[0].data must be an object"},
		{"a file of another type", rpc(`{"kind":"file","file":"x"}`), v03.JSONRPC, "message.parts[0].file must be an object"},
		{"an empty file", rpc(`{"kind":"file","file":{"name":"x","bytes":null}}`), v03.JSONRPC, "message.parts[0].file has no content: give it bytes or a uri"},
		{"a file twice", rpc(`{"kind":"file","file":{"uri":"x","bytes":"eA=="}}`), v03.JSONRPC, "message.parts[0].file has its content or its address more than once"},
		{"a file of HTTP+JSON", rpc(`{"kind":"file","file":{"fileWithUri":"x"}}`), v03.JSONRPC, "message.parts[0].file has no content: give it bytes or a uri"},
		{"a file", rpc(`{"kind":"file","file":{"bytes":"eA==","mime_type":"a/b","name":"n"}}`), v03.JSONRPC, parts(`{"raw":"eA==","filename":"n","mediaType":"a/b"}`)},
		{"a mark without a value", rpc(`{"kind":"data","data":{"value":1,"x":2},"metadata":{"data_part_compat":true}}`), v03.JSONRPC, parts(`{"data":{"value":1,"x":2},"metadata":{"data_part_compat":true}}`)},
		{"a mark that is no bool", rpc(`{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":"true"}}`), v03.JSONRPC, parts(`{"data":{"value":1},"metadata":{"data_part_compat":"true"}}`)},
		{"blocking", `{"configuration":{"blocking":true}}`, v03.JSONRPC, `{"configuration":{}}`},
		{"not blocking", `{"configuration":{"blocking":false,"historyLength":0}}`, v03.JSONRPC, `{"configuration":{"historyLength":0,"returnImmediately":true}}`},
		{"unset", `{"configuration":{"blocking":null,"historyLength":null}}`, v03.JSONRPC, `{"configuration":{}}`},
		{"blocking of another type", `{"configuration":{"blocking":"false"}}`, v03.JSONRPC, "configuration.blocking must be true or false"},
		{"a webhook", `{"configuration":{"pushNotificationConfig":{"id":"","url":"u","token":"t","authentication":{"schemes":["A","B"],"credentials":"c"},"taskId":"x"}}}`, v03.JSONRPC,
			`{"configuration":{"taskPushNotificationConfig":{"url":"u","token":"t","authentication":{"scheme":"A","credentials":"c"}}}}`},
		{"no schemes", `{"configuration":{"pushNotificationConfig":{"url":"u","authentication":{"schemes":[]}}}}`, v03.JSONRPC, `{"configuration":{"taskPushNotificationConfig":{"url":"u","authentication":{}}}}`},
		{"schemes of another type", `{"configuration":{"pushNotificationConfig":{"url":"u","authentication":{"schemes":"Bearer"}}}}`, v03.JSONRPC, "configuration.pushNotificationConfig.authentication.schemes must be a list"},

		{"an empty address", rpc(`{"kind":"file","file":{"uri":""}}`), v03.JSONRPC, "message.parts[0].file has no content: give it bytes or a uri"},
		{"an empty content", rpc(`{"kind":"file","file":{"bytes":""}}`), v03.JSONRPC, parts(`{"raw":""}`)},
		{"a media type twice", rpc(`{"kind":"file","file":{"bytes":"eA==","mimeType":"text/plain","mime_type":"text/html"}}`), v03.JSONRPC, "message.parts[0].file has its mimeType more than once"},

		{"REST", rest(`{"text":"x"}`), v03.REST, parts(`{"text":"x"}`)},
		{"REST, data", rest(`{"data":{"data":{"a":1}}}`), v03.REST, parts(`{"data":{"a":1}}`)},
		{"REST, data by itself", rest(`{"data":{"a":1}}`), v03.REST, "message.content[0].data must be an object with data, and nothing else"},
		{"REST, data of TypeScript", rest(`{"kind":"data","data":{"data":{"a":1}}}`), v03.REST, parts(`{"data":{"data":{"a":1}}}`)},
		{"REST, encoded once", rest(`{"file":{"fileWithBytes":"/wBy"}}`), v03.REST, parts(`{"raw":"/wBy"}`)},
		{"REST, encoded twice", rest(`{"file":{"file_with_bytes":"L3dCeQ=="}}`), v03.REST, parts(`{"raw":"/wBy"}`)},
		{"REST, a text of four letters and a line end, encoded once", rest(`{"file":{"fileWithBytes":"dGVzdAo="}}`), v03.REST, parts(`{"raw":"dGVzdAo="}`)},
		{"REST, an empty address", rest(`{"file":{"fileWithUri":""}}`), v03.REST, "message.content[0].file has no content: give it fileWithBytes or fileWithUri"},
		{"REST, the name of the proto", `{"request":{"role":"ROLE_USER"}}`, v03.REST, `{"message":{"role":"ROLE_USER"}}`},
		{"a request in a request", `{"request":{"role":"user"}}`, v03.JSONRPC, `{}`},
		{"REST, a history without limit", `{"configuration":{"blocking":true,"historyLength":"0"}}`, v03.REST, `{"configuration":{}}`},
		{"REST, and as a double", `{"configuration":{"blocking":true,"historyLength":-0.0e1}}`, v03.REST, `{"configuration":{}}`},
		{"REST, a history of one", `{"configuration":{"blocking":true,"historyLength":"1"}}`, v03.REST, `{"configuration":{"historyLength":"1"}}`},
		{"REST, no base64", rest(`{"file":{"fileWithBytes":"%"}}`), v03.REST, parts(`{"raw":"%"}`)},
		{"REST, a number", rest(`{"file":{"fileWithBytes":1}}`), v03.REST, "message.content[0].file.fileWithBytes must be a string"},
		{"REST, a number as role", `{"message":{"role":1}}`, v03.REST, `{"message":{"role":1}}`},
		{"REST, not blocking", `{"configuration":{}}`, v03.REST, `{"configuration":{"returnImmediately":true}}`},
		{"REST, TypeScript waits", `{"configuration":{},"message":{"kind":"message"}}`, v03.REST, `{"message":{},"configuration":{}}`},
		{"REST, no configuration", `{}`, v03.REST, `{}`},
		{"REST, a webhook", `{"configuration":{"blocking":true,"push_notification":{"id":"i","url":"u"}}}`, v03.REST, `{"configuration":{"taskPushNotificationConfig":{"url":"u","id":"i"}}}`},
	} {
		got, err := v03.SendRequest([]byte(tc.in), tc.form)
		if wrong, is := errors.AsType[*v03.Error](err); is {
			got = []byte(wrong.Error())
		} else if err != nil {
			t.Errorf("%s: %v, want a *v03.Error", tc.name, err)
		}
		if string(got) != tc.want {
			t.Errorf("%s: %s is\n%s, want\n%s", tc.name, tc.in, got, tc.want)
		}
	}
}

// A request for a webhook has one id and one config, wherever a client may write them.
func TestCreatePushConfig(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		form     v03.Form
		want     string // of 1.0, or the error
	}{
		{"in JSON-RPC", `{"taskId":"t","pushNotificationConfig":{"id":"i","url":"u"}}`, v03.JSONRPC, `{"taskId":"t","url":"u","id":"i"}`},
		{"two configs", `{"taskId":"t","pushNotificationConfig":{"url":"u"},"push_notification_config":{"token":"t"}}`, v03.JSONRPC, "pushNotificationConfig is given more than once"},
		{"one id twice", `{"configId":"a","config":{"pushNotificationConfig":{"id":"a","url":"u"}}}`, v03.REST, `{"url":"u","id":"a"}`},
		{"two ids", `{"configId":"a","config":{"pushNotificationConfig":{"id":"b","url":"u"}}}`, v03.REST, "config.pushNotificationConfig.id differs from the other id in the request: give one of them"},
		{"two ids, the other way", `{"config":{"pushNotificationConfig":{"id":"b","url":"u"}},"configId":"a"}`, v03.REST, "configId differs from the other id in the request: give one of them"},
		{"two places", `{"config":{"pushNotificationConfig":{"url":"u"}},"pushNotificationConfig":{"token":"t"}}`, v03.REST, "pushNotificationConfig is given more than once"},
		{"two places in the config", `{"config":{"pushNotificationConfig":{"url":"u"},"push_notification_config":{"token":"t"}}}`, v03.REST, "config.pushNotificationConfig is given more than once"},
	} {
		got, err := v03.CreatePushConfig([]byte(tc.in), tc.form)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != tc.want {
			t.Errorf("%s: %s is\n%s, want\n%s", tc.name, tc.in, got, tc.want)
		}
	}
}

// A part with an empty address, which the log of an older server may have, is a part in 0.3,
// so that one message does not hide its task, and no list. HTTP+JSON has no field for the tasks
// that a message refers to, and the SDK for Python refuses an answer with a field that it does not
// know.
func TestMessagesOfEachForm(t *testing.T) {
	t.Parallel()
	for message, want := range map[string][2]string{
		`{"message":{"parts":[{"metadata":{"a":1}}]}}`: {
			v03.JSONRPC: `{"kind":"message","parts":[{"kind":"file","file":{"uri":""},"metadata":{"a":1}}]}`,
			v03.REST:    `{"message":{"content":[{"file":{"fileWithUri":""},"metadata":{"a":1}}]}}`,
		},
		`{"message":{"messageId":"m","referenceTaskIds":["a"],"role":"ROLE_USER"}}`: {
			v03.JSONRPC: `{"kind":"message","messageId":"m","referenceTaskIds":["a"],"role":"user"}`,
			v03.REST:    `{"message":{"messageId":"m","role":"ROLE_USER"}}`,
		},
	} {
		for form, want := range want {
			got, err := v03.AppendEvent(nil, []byte(message), v03.Form(form))
			if err != nil || string(got) != want {
				t.Errorf("in form %d = %s, %v, want %s", form, got, err, want)
			}
		}
	}
}

// What is no value of 1.0 is an error, whatever it is, and nothing of it is appended.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		``, `{`, `{"`, `{"task"`, `{"task":`, `{"task":{`, `{"task":{"status":{"state":"TASK_STATE_NEW"}}}`, `{"task":{"status":{"state":3}}}`, `{"task":[]}`,
		`{"task":{}} x`, `{"task":{},"message":{}}`, `{"message":{"parts":[{"text":"x"`, `{"message":{"parts":["x"]}}`, `{"other":{}}`, `null`, `"task"`, `{"task":{"a" 1}}`,
		`{"task":{"\u00":1}}`, `{"message":{"parts":[{"data":1,"metadata":{"a"}}]}}`, `{"message":{"parts":[{"raw":1}]}}`, `{"task":{"id":}}`, `{"task":{"id":"x\"}}`,
	} {
		for _, form := range []v03.Form{v03.JSONRPC, v03.REST} {
			if raw == `{"message":{"parts":[{"raw":1}]}}` && form == v03.JSONRPC {
				continue // it is copied
			}
			if got, err := v03.AppendEvent([]byte("before"), []byte(raw), form); err == nil || string(got) != "before" {
				t.Errorf("%s in form %d = %s, %v, want an error", raw, form, got, err)
			}
		}
	}
}

// Bytes of a tool that are not UTF-8 are sent as in 1.0.
func TestAnswersKeepBytes(t *testing.T) {
	t.Parallel()
	const raw = "{\"task\":{\"artifacts\":[{\"parts\":[{\"text\":\"\xff\"}]}]}}"
	if got, err := v03.AppendEvent(nil, []byte(raw), v03.JSONRPC); err != nil || !strings.Contains(string(got), "\xff") {
		t.Errorf("%q, %v", got, err)
	}
}

// Answers are written by this server; still, nothing panics, and what comes out is JSON.
func FuzzAppendEvent(f *testing.F) {
	for _, seed := range []string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"x"}],"role":"ROLE_AGENT"}},"artifacts":[{"artifactId":"a","parts":[{"raw":"eA=="}]}],"history":[]}}`,
		`{"statusUpdate":{"status":{"state":"TASK_STATE_FAILED"}}}`, `{"artifactUpdate":{"artifact":{"parts":[{"data":[1],"metadata":{"a":1}}]}}}`, `{"configs":[{"taskId":"t","id":"a","url":"u","authentication":{"scheme":"x"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, form := range []v03.Form{v03.JSONRPC, v03.REST} {
			for name, write := range map[string]func(dst, src []byte, form v03.Form) ([]byte, error){
				"AppendEvent": v03.AppendEvent, "AppendTask": v03.AppendTask, "AppendTasks": v03.AppendTasks,
				"AppendPushConfig": v03.AppendPushConfig, "AppendPushConfigs": v03.AppendPushConfigs,
			} {
				got, err := write(nil, raw, form)
				if err == nil && json.Valid(raw) && !json.Valid(got) {
					t.Fatalf("%s of %s is %s", name, raw, got)
				}
			}
		}
	})
}

// reversed returns JSON whose objects have their members in the opposite order.
func reversed(t *testing.T, d *json.Decoder) []byte {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch token {
	case json.Delim('['):
		out := []byte("[")
		for d.More() {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, reversed(t, d)...)
		}
		_, _ = d.Token()
		return append(out, ']')
	case json.Delim('{'):
		var members [][]byte
		for d.More() {
			name := reversed(t, d)
			members = append(members, append(append(name, ':'), reversed(t, d)...))
		}
		_, _ = d.Token()
		slices.Reverse(members)
		return append(append([]byte("{"), bytes.Join(members, []byte(","))...), '}')
	}
	return encode(t, token)
}

// Whatever valid JSON comes in, valid JSON comes out, or an error, and it means the same in
// whatever order its members are: what is said twice is refused, here or by the decoder, which
// accepts no name twice. The last one does not win.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"},{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}}]},"configuration":{"blocking":false}}`,
		`{"message":{"content":[{"file":{"fileWithBytes":"L3dCeQ=="}},{"data":{"data":{}}}]},"configuration":{"pushNotification":{"url":"u","authentication":{"schemes":["a"]}}},"metadata":{}}`,
		`{"taskId":"t","pushNotificationConfig":{"url":"u"}}`, `{"configId":"c","config":{"name":"n","pushNotificationConfig":{"id":"i"}}}`, `{ "id" : "x" , "pushNotificationConfigId" : null }`, `[]`, `{}`, `1`,
		`{"message":{"kind":"message","parts":[{"kind":"file","file":{"bytes":"eA==","uri":"u","mimeType":"a/b","mime_type":"c/d","name":"n"}}]},"configuration":{"historyLength":0}}`,
		`{"request":{"content":[{"data":{"data":{"value":1},"x":1},"text":null,"metadata":{"data_part_compat":true,"a":1}}],"parts":[]},"message":{},"configuration":{"pushNotification":{"id":"a","url":"u"},"pushNotificationConfig":{"id":"b"},"blocking":null}}`,
		`{"taskId":"t","task_id":"u","configId":"a","config_id":"b","config":{"name":"n","pushNotificationConfig":{"id":"c","url":"u","authentication":{"schemes":["a","b"],"credentials":"c"}},"push_notification_config":{"id":"c"}},"pushNotificationConfig":{"id":"i"}}`,
		`{"id":"t","pushNotificationConfigId":"a","push_notification_config_id":"b"}`,
		`{"message":{"parts":[{"file":{"fileWithBytes":"","file_with_bytes":"eA==","bytes":null}},{"kind":"text","text":"","data":{}}],"role":"user","messageId":"a","message_id":"b"}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, rest bool) {
		if strictjson.Validate(raw) != nil {
			return // requests are checked before
		}
		form := v03.JSONRPC
		if rest {
			form = v03.REST
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		other := reversed(t, d)
		for name, read := range map[string]func([]byte, v03.Form) ([]byte, error){
			"SendRequest": v03.SendRequest, "CreatePushConfig": v03.CreatePushConfig, "PushConfigRequest": v03.PushConfigRequest, "ListPushConfigsRequest": v03.ListPushConfigsRequest,
		} {
			var meant [2]string
			for i, in := range [][]byte{raw, other} {
				out, err := read(in, form)
				if _, is := errors.AsType[*v03.Error](err); err != nil && !is {
					t.Fatalf("%s of %s: %v, want a *v03.Error", name, in, err)
				}
				if err == nil {
					if !json.Valid(out) || len(out) > 4*len(in)+64 {
						t.Fatalf("%s of %s is %s", name, in, out)
					}
					err = strictjson.Validate(out)
				}
				if meant[i] = "refused"; err == nil {
					meant[i] = string(encode(t, decoded(t, out)))
				}
			}
			if meant[0] != meant[1] {
				t.Fatalf("%s of %s is\n%s, and of %s\n%s", name, raw, meant[0], other, meant[1])
			}
		}
	})
}
