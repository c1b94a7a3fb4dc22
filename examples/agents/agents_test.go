package agents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts the server of a file, with the server below it where the test has it.
func start(t *testing.T, file, data, address, below string) *a2aservertest.Server {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), file)
	text := strings.ReplaceAll(string(content), "http://"+address, below)
	if err := os.WriteFile(here, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a2aservertest.New(t, testserver.Config{File: here, Set: map[string]string{"data": data}}.Must(t))
}

func TestAgents(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	bank := start(t, "bank.yaml", data, "", "")
	office := start(t, "office.yaml", t.TempDir(), "127.0.0.1:8082", bank.URL)
	desk := start(t, "desk.yaml", t.TempDir(), "127.0.0.1:8081", office.URL)

	task := desk.Send("/office /bank /transfer_money amount=5 to=bob")
	asks := desk.Wait(task.ID, a2a.TaskStateInputRequired)
	pending := desk.Pending(asks)
	if len(pending) != 1 || !strings.Contains(string(pending[0].Payload), `"agent":"office/bank"`) {
		t.Fatalf("the desk asks %+v", pending)
	}
	edit := approval.Decision{ID: pending[0].ID, Type: approval.Edit, Args: json.RawMessage(`{"amount": 4, "to": "bob"}`)}
	if err := desk.Approvals().Decide(t.Context(), auth.Anonymous(), edit); err != nil {
		t.Fatal(err)
	}
	if text := desk.Text(desk.Wait(task.ID, a2a.TaskStateCompleted)); !strings.Contains(text, `"transferred":4`) {
		t.Errorf("the task says %s", text)
	}
	if ledger, err := os.ReadFile(filepath.Join(data, "ledger.jsonl")); err != nil || strings.Count(string(ledger), "\n") != 1 {
		t.Errorf("the ledger is %s, %v", ledger, err)
	}
}
