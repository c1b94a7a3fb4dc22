//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth/oidc/oidctest"
)

const securityDoc = "../../docs/security.md"

// Who pastes docs/security.md into a shell gets from nothing to a server on all addresses,
// with TLS, an issuer and three roles.
func TestSecurityDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(securityDoc)
	if err != nil {
		t.Fatal(err)
	}
	issuer, folder := oidctest.New(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "a2a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, group := range map[string]string{"alice": "staff", "olga": "oncall", "pete": "ops"} {
		token := issuer.Token(t, map[string]any{"sub": name, "groups": []string{group}})
		if err := os.WriteFile(filepath.Join(folder, "a2a", name+".token"), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const provider = "issuer: https://idp.example.com\n"
	if strings.Count(string(text), provider) != 1 {
		t.Fatalf("the document does not have %q once", provider)
	}
	s := openShell(t, folder)
	s.paste(t, "PATH="+filepath.Dir(binary(t))+":$PATH\nexport '"+noRaceSleep+"' A2A_SERVER_LISTEN=0.0.0.0:${A2A_SERVER_LISTEN##*:}\n")
	after, shown := string(text), 0
	for _, rest := range strings.Split(string(text), shellFence)[1:] {
		commands, rest, _ := strings.Cut(rest, "```\n")
		want, ok := strings.CutPrefix(rest, "\n"+outputFence)
		if !ok {
			t.Fatalf("%s\nis not followed by what it prints", commands)
		}
		want, _, _ = strings.Cut(want, "```\n")
		got := s.paste(t, strings.Replace(commands, provider, "issuer: "+issuer.URL+"\n      networks: [127.0.0.1]\n", 1))
		if diff := cmp.Diff(want, got); diff != "" && !*update {
			t.Errorf("%s\nprints something else (-document +printed); -update writes it down:\n%s", commands, diff)
		}
		after = strings.Replace(after, blockText(commands, want), blockText(commands, got), 1)
		shown++
	}
	if s.close(t); shown < 6 {
		t.Errorf("the document has %d blocks of shell", shown)
	}
	s.dead(t, s.servers)
	if *update {
		if err := os.WriteFile(securityDoc, []byte(after), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
}
