package a2a_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// An error about a request of 0.3 calls fields what the request calls them, and says nothing
// of the request of 1.0 that it became.
func TestOldNamesInErrors(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(e *engine.Config, c *a2a.Config) { offerPush(t, e, c) })
	const id = "019b7c00-0000-7000-8000-000000000001"
	if w := s.ask(t, http.MethodPost, "/message:send", `{"message":{"messageId":"first","role":"ROLE_USER","parts":[{"text":"/echo text=x"}]}}`); !strings.Contains(w.Body.String(), id) {
		t.Fatal(w.Body)
	}
	const (
		rpcMessage  = `"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]`
		restMessage = `"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]`
		pbMessage   = `"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]`
		badHook     = `{"url":"ftp://x","authentication":{"schemes":["a b"],"credentials":"c"}}`
	)
	field := regexp.MustCompile(`"field":"([^"]*)"`)
	message := regexp.MustCompile(`"message":"((?:[^"\\]|\\.)*)"`)
	check := func(what, text string, got []string, begins string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) || !strings.HasPrefix(text, begins) {
			t.Errorf("%s: %q about %q, want %q about %q", what, text, got, begins, want)
		}
		if all := text + strings.Join(got, " "); regexp.MustCompile(`line \d|taskPush|statusTimestamp|\braw\b|filename|mediaType|returnImmediately`).MatchString(all) {
			t.Errorf("%s names what the client has not sent: %s", what, all)
		}
	}
	hooks := func(in string) []string { return []string{in + ".url", in + ".authentication.schemes"} }
	for _, c := range []struct {
		method, body, message string
		fields                []string
	}{
		{"message/send", `{"message":{}}`, "message.messageId is required", []string{"message.messageId", "message.role", "message.parts"}},
		{"message/send", `{"message":{"messageId":"m","role":"agent","parts":[{"text":"x"}]}}`, `message.role must be \"user\"`, []string{"message.role"}},
		{"message/send", `{"message":{"messageId":5}}`, "the request cannot be decoded: invalid value for string field messageId: 5", nil},
		{"message/send", `{"message":{"messageId":"m","role":"user","parts":{}}}`, "message.parts must be a list", []string{"message.parts"}},
		{"message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"file","file":{"bytes":5}}]}}`, "message.parts[0].file.bytes must be", []string{"message.parts[0].file.bytes"}},
		{"message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"file","file":{"bytes":"%"}}]}}`, `the request cannot be decoded: invalid value for bytes field bytes: \"%\"`, nil},
		{"message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"file","file":{"uri":"u","name":5}}]}}`, "message.parts[0].file.name must be", []string{"message.parts[0].file.name"}},
		{"message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"data","data":{"type":"approval_response","decisions":[{"id":"x","decision":"perhaps"}]}}]}}`, "message.taskId is required", []string{"message.taskId"}},
		{"message/send", `{"message":{` + rpcMessage + `},"configuration":{"historyLength":-1}}`, "configuration.historyLength must", []string{"configuration.historyLength"}},
		{"message/send", `{"message":{` + rpcMessage + `},"configuration":{"pushNotificationConfig":` + badHook + `}}`, "configuration.pushNotificationConfig.url must", hooks("configuration.pushNotificationConfig")},
		{"tasks/pushNotificationConfig/set", `{"taskId":"` + id + `","pushNotificationConfig":` + badHook + `}`, "pushNotificationConfig.url must", hooks("pushNotificationConfig")},
		{"tasks/pushNotificationConfig/set", `{"pushNotificationConfig":{"url":"u"}}`, "taskId is", []string{"taskId"}},
		{"tasks/pushNotificationConfig/get", `{}`, "id is", []string{"id"}},
		{"tasks/pushNotificationConfig/get", `{"id":5}`, "id must be", []string{"id"}},
		{"tasks/pushNotificationConfig/get", `{"id":"` + id + `","pushNotificationConfigId":5}`, "pushNotificationConfigId must be", []string{"pushNotificationConfigId"}},
		{"tasks/pushNotificationConfig/list", `{}`, "id is", []string{"id"}},
		{"tasks/pushNotificationConfig/delete", `{"id":"` + id + `"}`, "pushNotificationConfigId is", []string{"pushNotificationConfigId"}},
		{"POST /v1/message:send", `{"message":{}}`, "message.messageId is required", []string{"message.messageId", "message.role", "message.content"}},
		{"POST /v1/message:send", `{"message":{"kind":"message","parts":[],"role":"user","messageId":"m"}}`, "message.parts must have", []string{"message.parts"}},
		{"POST /v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{}]}}`, "message.content[0] has no", []string{"message.content[0]"}},
		{"POST /v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"file":{"fileWithBytes":"%"}}]}}`, `the request cannot be decoded: invalid value for bytes field fileWithBytes: \"%\"`, nil},
		{"POST /v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"file":{"fileWithUri":""}}]}}`, "message.content[0].file has no content: give it fileWithBytes", []string{"message.content[0].file"}},
		{"POST /v1/message:send", `{"message":{` + restMessage + `},"configuration":{"pushNotification":` + badHook + `}}`, "configuration.pushNotification.url must", hooks("configuration.pushNotification")},
		{"POST /v1/message:send", `{"message":{` + restMessage + `},"configuration":{"pushNotificationConfig":` + badHook + `}}`, "configuration.pushNotificationConfig.url must", hooks("configuration.pushNotificationConfig")},
		{"POST /v1/tasks/" + id + "/pushNotificationConfigs", `{"config":{"pushNotificationConfig":` + badHook + `}}`, "config.pushNotificationConfig.url must", hooks("config.pushNotificationConfig")},
		{"POST /v1/tasks/" + id + "/pushNotificationConfigs", `{"pushNotificationConfig":` + badHook + `}`, "pushNotificationConfig.url must", hooks("pushNotificationConfig")},
		{"GET /v1/tasks?lastUpdatedTime=x", ``, "lastUpdatedTime cannot be", []string{"lastUpdatedTime"}},
		{"GET /v1/tasks/" + id + "?historyLength=-1", ``, "historyLength must", []string{"historyLength"}},
	} {
		verb, path, rest := strings.Cut(c.method, " ")
		body := c.body
		if !rest {
			verb, path, body = http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":`+c.body+`}`
		}
		answer := s.ask(t, verb, path, body).Body.String()
		var got []string
		for _, m := range field.FindAllStringSubmatch(answer, -1) {
			got = append(got, m[1])
		}
		text := message.FindStringSubmatch(answer)
		if text == nil {
			t.Errorf("%s %s is no error: %s", c.method, c.body, answer)
			continue
		}
		check(c.method+" "+c.body, text[1], got, c.message, c.fields...)
	}
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	client := oldpb.NewA2AServiceClient(dialGRPC(t, at))
	for _, c := range []struct {
		body, message string
		fields        []string
	}{
		{`{}`, "request is required", []string{"request"}},
		{`{"message":{"role":"ROLE_AGENT"}}`, "request.messageId is", []string{"request.messageId", "request.role", "request.content"}},
		{`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}`, "request.content[0] has no content", []string{"request.content[0]"}},
		{`{"message":{` + pbMessage + `},"configuration":{"historyLength":-1}}`, "configuration.historyLength must", []string{"configuration.historyLength"}},
		{`{"message":{` + pbMessage + `},"configuration":{"pushNotification":` + badHook + `}}`, "configuration.pushNotification.url must", hooks("configuration.pushNotification")},
	} {
		var in oldpb.SendMessageRequest
		if err := protojson.Unmarshal([]byte(c.body), &in); err != nil {
			t.Fatal(err)
		}
		_, err := client.SendMessage(as(t.Context(), "alice"), &in)
		_, _, got := details(err)
		check("gRPC "+c.body, status.Convert(err).Message(), got, c.message, c.fields...)
	}
	var in oldpb.CreateTaskPushNotificationConfigRequest
	if err := protojson.Unmarshal([]byte(`{"parent":"tasks/`+id+`","config":{"pushNotificationConfig":`+badHook+`}}`), &in); err != nil {
		t.Fatal(err)
	}
	_, err := client.CreateTaskPushNotificationConfig(as(t.Context(), "alice"), &in)
	_, _, got := details(err)
	check("gRPC, a webhook", status.Convert(err).Message(), got, "config.pushNotificationConfig.url must", hooks("config.pushNotificationConfig")...)
}
