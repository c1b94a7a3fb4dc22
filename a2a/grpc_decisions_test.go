package a2a_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"

	"a2a-server/a2a"
)

// Of contradictory decisions that come at once, over every binding and version, exactly one
// counts, and nobody is told otherwise.
func TestDecisionsOverEveryBinding(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop())
	web := httptest.NewServer(s.handler)
	t.Cleanup(web.Close)
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	client, old := a2apb.NewA2AServiceClient(conn), oldpb.NewA2AServiceClient(conn)
	for round := range 20 {
		sent, err := client.SendMessage(as(t.Context(), "alice"), &a2apb.SendMessageRequest{Message: textMessage(fmt.Sprint("ask", round), "/transfer amount=1 to=bob")})
		if err != nil {
			t.Fatal(err)
		}
		id := sent.GetTask().GetId()
		over := func(path, body string) func(string, string) string {
			return func(message, word string) string {
				status, got := post(t, web.URL+path, strings.NewReplacer("TASK", id, "ID", message, "WORD", word).Replace(body), "Authorization", "Bearer alice")
				return fmt.Sprint(status, " ", got)
			}
		}
		ways := map[string]func(message, word string) string{
			"JSON-RPC":        over("/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"ID","taskId":"TASK","role":"ROLE_USER","parts":[{"text":"WORD"}]}}}`),
			"JSON-RPC of 0.3": over("/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"ID","taskId":"TASK","role":"user","parts":[{"kind":"text","text":"WORD"}]}}}`),
			"HTTP":            over("/message:send", `{"message":{"messageId":"ID","taskId":"TASK","role":"ROLE_USER","parts":[{"text":"WORD"}]}}`),
			"HTTP of 0.3":     over("/v1/message:send", `{"message":{"messageId":"ID","taskId":"TASK","role":"ROLE_USER","content":[{"text":"WORD"}]}}`),
			"gRPC": func(message, word string) string {
				m := textMessage(message, word)
				m.TaskId = id
				got, err := client.SendMessage(as(t.Context(), "alice"), &a2apb.SendMessageRequest{Message: m})
				return fmt.Sprint(got, err)
			},
			"gRPC of 0.3": func(message, word string) string {
				m := &oldpb.Message{MessageId: message, TaskId: id, Role: oldpb.Role_ROLE_USER, Parts: []*oldpb.Part{{Part: &oldpb.Part_Text{Text: word}}}}
				got, err := old.SendMessage(as(t.Context(), "alice"), &oldpb.SendMessageRequest{Request: m})
				return fmt.Sprint(got, err)
			},
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		outcome := map[string]string{}
		n := 0
		for name, way := range ways {
			word := []string{"yes", "no"}[n%2]
			n++
			all.Go(func() {
				got := way(fmt.Sprint(round, name), word)
				mu.Lock()
				defer mu.Unlock()
				outcome[name+" "+word] = got
			})
		}
		all.Wait()
		final, err := client.GetTask(as(t.Context(), "alice"), &a2apb.GetTaskRequest{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		want := map[a2apb.TaskState]string{a2apb.TaskState_TASK_STATE_COMPLETED: "yes", a2apb.TaskState_TASK_STATE_CANCELED: "no"}[final.GetStatus().GetState()]
		agreed := 0
		for who, got := range outcome {
			switch {
			case strings.Contains(got, "UNSUPPORTED_OPERATION"), strings.Contains(got, "APPROVAL_CONFLICT"),
				strings.Contains(got, "code = FailedPrecondition"), strings.Contains(got, "code = InvalidArgument"):
			case want != "" && strings.HasSuffix(who, " "+want):
				agreed++ // who decides the same at the same time is told what has become of it
			default:
				t.Errorf("the task is %v; %s was told %s", final.GetStatus(), who, got)
			}
		}
		if agreed == 0 || len(final.GetHistory()) != 3 {
			t.Errorf("the task is %v after %d messages, and %d agree", final.GetStatus(), len(final.GetHistory()), agreed)
		}
	}
}
