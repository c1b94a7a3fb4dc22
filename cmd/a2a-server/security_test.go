//go:build unix

package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const deployDoc = "../../docs/deploy.md"

// The blocks of docs/deploy.md lead from nothing to a server on all addresses, with TLS, keys
// of three roles and a webhook.
func TestDeployDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(deployDoc)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "a2a"), 0o700); err != nil {
		t.Fatal(err)
	}
	told := make(chan http.Header, 100)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		told <- r.Header
	}))
	t.Cleanup(receiver.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(folder, "a2a", "hook.crt"), authority, 0o600); err != nil {
		t.Fatal(err)
	}
	const webhook = "https://ci.example.com/hook"
	var here []string // what the document names, and what the test has instead
	for name, mine := range map[string]string{
		"push: {enabled: true, jwt: true}\n": "push: {enabled: true, jwt: true, networks: [127.0.0.1], ca: hook.crt}\n",
		webhook:                              receiver.URL,
	} {
		if strings.Count(string(text), name) != 1 {
			t.Fatalf("the document does not have %q once", name)
		}
		here = append(here, name, mine)
	}
	s := openShell(t, folder)
	s.paste(t, "PATH="+filepath.Dir(binary(t))+":$PATH\nexport A2A_SERVER_LISTEN=0.0.0.0:${A2A_SERVER_LISTEN##*:} A2A_SERVER_GRPC_LISTEN=0.0.0.0:0\n")
	s.document(t, deployDoc, string(text), strings.NewReplacer(here...), func(commands string) {
		if strings.Contains(commands, webhook) {
			wantTold(t, told)
		}
	})
}

// document pastes all blocks of a document, and compares what they print with what the document
// says. The shell is closed afterwards.
func (s *shell) document(t *testing.T, file, text string, here *strings.Replacer, done func(commands string)) {
	t.Helper()
	after, shown := text, 0
	for _, rest := range strings.Split(text, shellFence)[1:] {
		commands, rest, _ := strings.Cut(rest, "```\n")
		want, ok := strings.CutPrefix(rest, "\n"+outputFence)
		if !ok {
			t.Fatalf("%s\nis not followed by what it prints", commands)
		}
		want, _, _ = strings.Cut(want, "```\n")
		got := s.paste(t, here.Replace(commands))
		if diff := cmp.Diff(stable(want), stable(got)); diff != "" && !*update {
			t.Errorf("%s\nprints something else (-document +printed); -update writes it down:\n%s", commands, diff)
		}
		done(commands)
		after = strings.Replace(after, blockText(commands, want), blockText(commands, got), 1)
		shown++
	}
	if s.close(t); shown < 4 {
		t.Errorf("the document has %d blocks of shell", shown)
	}
	s.dead(t, s.servers)
	if *update {
		if err := os.WriteFile(file, []byte(after), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
}

// Who pastes docs/approvals-api.md into a shell lists, extends, decides and follows approvals.
func TestApprovalsAPIDocument(t *testing.T) {
	t.Parallel()
	const file = "../../docs/approvals-api.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := openShell(t, t.TempDir())
	s.paste(t, "PATH="+filepath.Dir(binary(t))+":$PATH\n")
	s.document(t, file, string(text), strings.NewReplacer(), func(string) {})
}

// wantTold reports an error unless a webhook gets the four notifications of a task that
// runs at once, each with what its owner has set and with a token of the server.
func wantTold(t *testing.T, told <-chan http.Header) {
	t.Helper()
	for range 4 {
		select {
		case h := <-told:
			if h.Get("A2A-Notification-Token") != "kept-by-the-receiver" || !strings.HasPrefix(h.Get("Authorization"), "Bearer ey") {
				t.Errorf("the webhook gets %v", h)
			}
		case <-time.After(time.Minute):
			t.Fatal("the webhook is not told")
		}
	}
}
