package yamlconfig_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/cmd/a2a-server/yamlconfig"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type none struct{}

// A program adds a tool to an operator's configuration, and changes a setting; gates of the file hold for it, and a
// reload reads the file again.
func TestReadConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("agent: {name: bank}\nlisten: 127.0.0.1:8080\ngates:\n- tool: pay\n")
	c, err := yamlconfig.ReadConfig(file, []string{"A2A_SERVER_LIMITS_GRACE=1s"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Settings.Agent.Name != "bank" || c.Settings.Limits.Grace.Seconds() != 1 {
		t.Errorf("the settings are %+v", c.Settings)
	}
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Description: "pays"},
		func(tool.Context, none) (string, error) { return "paid", nil }))
	var log bytes.Buffer
	c.Tools, c.Log, c.Settings.Listen = []tool.Toolset{tool.NewToolset("bank", pay)}, zerolog.New(zerolog.SyncWriter(&log)), "127.0.0.1:0"
	s := a2aservertest.New(t, c)
	asked := s.Send("/pay")
	if asked.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("with its gate pay is %s", asked.Status.State)
	}
	s.Approve(asked)
	if done := s.Wait(asked.ID, a2a.TaskStateCompleted); s.Text(done) != "paid" {
		t.Errorf("approved, pay says %q", s.Text(done))
	}
	write("agent: {name: bank}\nlisten: 127.0.0.1:8080\ngates: []\n")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if done := s.Send("/pay"); done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("without its gate pay is %s", done.Status.State)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "restart") {
		t.Errorf("what the program has changed is no change of the file:\n%s", log.String())
	}
	write("gates: {}\n")
	if _, err := yamlconfig.ReadConfig(file, nil); err == nil || !strings.Contains(err.Error(), file+":1:8: gates: expected a list") {
		t.Errorf("ReadConfig() = %v, want the place of the problem", err)
	}
}

// A program with callers of its own is refused with an operator who authenticates them, too.
func TestTwoAuthenticators(t *testing.T) {
	t.Parallel()
	c, err := yamlconfig.ReadConfig("", []string{"A2A_SERVER_AUTH_KEYS_FILE=" + filepath.Join(t.TempDir(), "keys.yaml"), "A2A_SERVER_STORE=memory"})
	if err != nil {
		t.Fatal(err)
	}
	c.Authenticator, c.Log = a2aservertest.Callers{}, zerolog.Nop()
	if _, err := a2aserver.New(c); err == nil || !strings.Contains(err.Error(), "authenticates its callers itself") {
		t.Errorf("New() = %v, want both named", err)
	}
}
