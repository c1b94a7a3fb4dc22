package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// programs are the paths of what the tests run.
type programs struct {
	server, phrases, cli, adkgo, sample, node, script, js03, jsagents, idp, curl string
	python                                                                       map[string]string // the interpreter of each client in Python
}

// root is the folder of the server's module. Tests run in the folder of their
// package.
const root = "../.."

// examples returns the path of a sample of docs/clients.md.
func examples(name string) string { return filepath.Join(root, "examples", "clients", name) }

// prepare builds the programs and installs the JavaScript client, all in a folder
// that goes away with the tests.
func prepare(t *testing.T) programs {
	dir := t.TempDir()
	p := programs{
		server:   filepath.Join(dir, "a2a-server"),
		phrases:  filepath.Join(dir, "phrases"),
		cli:      filepath.Join(dir, "a2a"),
		adkgo:    filepath.Join(dir, "adkgo"),
		sample:   filepath.Join(dir, "sample"),
		node:     find(t, "node", "install Node.js 20 or newer"),
		script:   filepath.Join(dir, "js", "drive.mjs"),
		jsagents: filepath.Join(dir, "jsagents"),
		js03:     filepath.Join(dir, "js03"),
		idp:      filepath.Join(dir, "idp", "idp.mjs"),
		curl:     find(t, "curl", "install curl"),
	}
	checkNode(t, p.node)
	npm := find(t, "npm", "install npm, which comes with Node.js")
	t.Run("prepare", func(t *testing.T) {
		t.Run("server", func(t *testing.T) {
			t.Parallel()
			must(t, root, "go", "build", "-o", dir, "./cmd/a2a-server", "./internal/faults/phrases")
		})
		t.Run("command line", func(t *testing.T) {
			t.Parallel()
			must(t, ".", "go", "build", "-o", p.cli, "github.com/a2aproject/a2a-go/v2/cmd/a2a")
			must(t, ".", "go", "build", "-o", p.sample, "./samples/decide")
		})
		t.Run("ADK for Go", func(t *testing.T) {
			t.Parallel()
			must(t, "adkgo", "go", "build", "-o", p.adkgo, ".")
		})
		t.Run("JavaScript client", func(t *testing.T) {
			t.Parallel()
			installNode(t, npm, filepath.Dir(p.script), "js/drive.mjs", "js/package.json", "js/package-lock.json", "js/.npmrc", "samples/decide.mjs", "js/blocking.mjs",
				examples("client.mjs"), examples("wait.mjs"), examples("poll.mjs"), examples("webhook.mjs"))
		})
		t.Run("JavaScript frameworks of 0.3", func(t *testing.T) {
			t.Parallel()
			installNode(t, npm, p.js03, "js03/adk.mjs", "js03/provider.mjs", "js03/package.json", "js03/package-lock.json", "js03/.npmrc")
		})
		t.Run("OpenID Connect provider", func(t *testing.T) {
			t.Parallel()
			installNode(t, npm, filepath.Dir(p.idp), "idp/idp.mjs", "idp/package.json", "idp/package-lock.json", "idp/.npmrc")
		})
		p.python = map[string]string{}
		var mu sync.Mutex
		clients := []string{"a2a-sdk", "google-adk", "agent-framework", "mcp", "mcp-servers", "crewai", "beeai", "strands", "tools"}
		if *playMatrix {
			clients = append(clients, "crewai-tool", "ag2", "agentscope")
			t.Run("JavaScript frameworks of the matrix", func(t *testing.T) {
				t.Parallel()
				installNode(t, npm, p.jsagents, "jsagents/mastra.mjs", "jsagents/gemini.mjs", "jsagents/package.json", "jsagents/package-lock.json", "jsagents/.npmrc")
			})
		}
		for _, name := range clients {
			t.Run(name+" for Python", func(t *testing.T) {
				t.Parallel()
				interpreter := installPython(t, name)
				mu.Lock()
				defer mu.Unlock()
				p.python[name] = interpreter
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return p
}

// installNode copies files into a new folder, so that two runs are not in each other's
// way, and installs there what their lock names.
func installNode(t *testing.T, npm, dir string, files ...string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must(t, dir, npm, "ci", "--prefer-offline", "--ignore-scripts")
}

// find returns the path of a program. Without it nothing is shown, so it is not a
// reason to skip.
func find(t *testing.T, name, advice string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("no %s: %s (%v)", name, advice, err)
	}
	return path
}

func checkNode(t *testing.T, node string) {
	t.Helper()
	out := must(t, ".", node, "--version")
	major, _, _ := strings.Cut(strings.TrimPrefix(out, "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		t.Fatalf("node is %q: the JavaScript client needs Node.js 20 or newer", strings.TrimSpace(out))
	}
}

// must runs a command in a folder and returns its output.
func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // a first build on a slow machine
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s in %s: %v\n%s", cmd, dir, err, out)
	}
	return string(out)
}
