// Command decide asks for a transfer and approves it, with the Go SDK.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

const approval = "urn:a2a-server:extension:tool-approval:v1"

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	card, err := agentcard.DefaultResolver.Resolve(ctx, os.Getenv("SERVER"))
	if err != nil {
		return err
	}
	client, err := a2aclient.NewFromCard(ctx, card)
	if err != nil {
		return err
	}
	send := func(m *a2a.Message) (*a2a.Task, error) {
		result, err := client.SendMessage(ctx, &a2a.SendMessageRequest{Message: m})
		task, _ := result.(*a2a.Task) // a call that is asked for is a task
		return task, err
	}

	task, err := send(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("/transfer_money amount=5 to=go")))
	if err != nil {
		return err
	}
	var asked struct{ Approvals []struct{ ID, Digest string } }
	if raw, err := json.Marshal(task.Status.Message.Metadata[approval]); err != nil || json.Unmarshal(raw, &asked) != nil {
		return fmt.Errorf("no question in %s", raw)
	}
	var decisions []any
	for _, q := range asked.Approvals {
		decisions = append(decisions, map[string]any{"id": q.ID, "digest": q.Digest, "decision": "approve"})
	}
	answer := a2a.NewMessageForTask(a2a.MessageRoleUser, task,
		a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": decisions}))
	if task, err = send(answer); err != nil {
		return err
	}
	fmt.Println(task.Status.State, task.Artifacts[0].Parts[0].Data())
	return nil
}
