package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testSamples runs the programs that docs/clients.md shows, as they are.
func testSamples(t *testing.T, p programs) {
	s := start(t, p.server, t.TempDir())
	samples, err := filepath.Abs("samples")
	if err != nil {
		t.Fatal(err)
	}
	for payee, command := range map[string][]string{
		"python":          {p.python["a2a-sdk"], filepath.Join(samples, "decide.py")},
		"agent-framework": {p.python["agent-framework"], filepath.Join(samples, "microsoft.py")},
		// Beside the packages that it imports.
		"typescript": {p.node, filepath.Join(filepath.Dir(p.script), "decide.mjs")},
		"go":         {p.sample},
		"curl":       {"sh", filepath.Join(samples, "decide.sh")},
	} {
		t.Run(payee, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := deadline(t)
			defer cancel()
			cmd := exec.CommandContext(ctx, command[0], command[1:]...)
			cmd.Dir = t.TempDir()
			cmd.Env = quiet(t, "SERVER="+s.url)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", cmd, err, out)
			}
			if !strings.Contains(string(out), "transferred") {
				t.Errorf("%s prints no transfer:\n%s", cmd, out)
			}
			var made []transfer
			for _, transfer := range s.transfers(t) {
				if transfer.To == payee {
					made = append(made, transfer)
				}
			}
			if diff := cmp.Diff([]transfer{{5, payee}}, made); diff != "" {
				t.Errorf("transfers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClientsDocument holds docs/clients.md to the files that the tests run: each block
// that names a file is a part of it.
func TestClientsDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```\\w+ (\\S+)\n(.*?)\n```\n").FindAllStringSubmatch(string(document), -1)
	if len(blocks) < 6 {
		t.Errorf("%d blocks name a file, want the samples that are not linked", len(blocks))
	}
	for _, block := range blocks {
		content, err := os.ReadFile(filepath.Join(root, block[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		// Indentation depends on what is around.
		if !strings.Contains(undented(string(content)), undented(block[2])) {
			t.Errorf("%s does not have these lines of docs/clients.md:\n%s", block[1], block[2])
		}
	}
	// The versions in the document are those that the tests use.
	for _, lock := range []string{"a2a-sdk", "google-adk", "agent-framework", "beeai", "crewai", "strands", "tools", "crewai-tool", "ag2", "agentscope"} {
		pinned, err := os.ReadFile(filepath.Join("python", lock, "requirements.in"))
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range regexp.MustCompile(`==(\S+)`).FindAllStringSubmatch(string(pinned), -1) {
			if !strings.Contains(string(document), version[1]) {
				t.Errorf("docs/clients.md does not say that %s is tested in version %s", lock, version[1])
			}
		}
	}
	for module, name := range map[string]string{"go.mod": "github.com/a2aproject/a2a-go/v2 ", "adkgo/go.mod": "google.golang.org/adk/v2 ", "js/package.json": `"@a2a-js/sdk": "`, "js03/package.json": `"@google/adk": "`, "jsagents/package.json": `"@mastra/core": "`} {
		content, err := os.ReadFile(module)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(regexp.QuoteMeta(name) + `v?([\w.]+)`).FindSubmatch(content)
		if len(found) < 2 || !strings.Contains(string(document), string(found[1])) {
			t.Errorf("docs/clients.md does not have the version in %s: %s", module, found)
		}
	}
}

// undented returns lines without what they begin with.
func undented(text string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, "")
}
