package a2a_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"a2a-server/a2a"
	"a2a-server/internal/golden"
	"a2a-server/internal/testlog"
	"a2a-server/task/engine"
)

// TestWire sends the requests of every file in testdata/wire of the repository to a
// server of its own and compares the answers, byte by byte. testdata/README.md has the
// format.
func TestWire(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/wire holds %d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, file, string(txtar.Format(runWire(t, archive))))
		})
	}
}

// wireSetup reads how a case wants its server.
func wireSetup(t *testing.T, in *txtar.Archive) wireChange {
	return func(engine *engine.Config, protocol *a2a.Config) {
		for _, f := range in.Files {
			if name, is := strings.CutPrefix(f.Name, "planner "); is {
				if engine.Planner = wirePlanners[name]; engine.Planner == nil {
					t.Fatalf("section %q: there is no such planner", f.Name)
				}
			}
			if f.Name != "server" {
				continue
			}
			for line := range strings.Lines(string(f.Data)) {
				switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
				case "versions.strict":
					protocol.StrictVersions = value == "true"
				case "versions.v03":
					protocol.OnlyV1 = value == "false"
				case "push":
					offerPush(t, engine, protocol)
				case "agent.input_modes":
					protocol.Card.InputModes = strings.Split(value, ", ")
				default:
					t.Fatalf("section server: a case cannot set %q", key)
				}
			}
		}
	}
}

// runWire runs a case and returns it with the answers that it got.
func runWire(t *testing.T, in *txtar.Archive) *txtar.Archive {
	t.Helper()
	if !bytes.HasPrefix(in.Comment, []byte("A2A ")) && !bytes.HasPrefix(in.Comment, []byte("architecture")) && !bytes.HasPrefix(in.Comment, []byte("JSON-RPC")) {
		t.Fatal("the first line does not say which clause or rule the case guards")
	}
	server := startWireServer(t, zerolog.New(testlog.New(t)), wireSetup(t, in))
	run := &wireRun{
		t: t, url: server.listen(t), named: map[string]string{}, open: map[string]*wireAnswer{},
		layout: wireLayout{written: map[string]bool{}},
	}
	out := &txtar.Archive{Comment: in.Comment}
	for _, f := range in.Files {
		what, name, _ := strings.Cut(f.Name, " ")
		switch what {
		case "server", "planner":
			out.Files = append(out.Files, f)
		case "wait":
			d, err := time.ParseDuration(name)
			if err != nil {
				t.Fatal(err)
			}
			server.clock.Add(int64(d))
			out.Files = append(out.Files, f)
		case "shutdown":
			server.engine.Stop(0 /* grace */)
			out.Files = append(out.Files, f)
		case "request":
			if run.open[name] != nil {
				t.Fatalf("request %q is made before the one before it has its response", name)
			}
			run.open[name] = run.send(string(f.Data))
			out.Files = append(out.Files, f)
			if name == "" { // nobody waits: its response can be written even when the file has none yet
				out.Files = append(out.Files, txtar.File{Name: "response", Data: []byte(run.read(run.open[name]))})
				delete(run.open, name)
			}
		case "response":
			if name == "" {
				continue // written with its request
			}
			if run.open[name] == nil {
				t.Fatalf("response %q has no request", name)
			}
			out.Files = append(out.Files, txtar.File{Name: f.Name, Data: []byte(run.read(run.open[name]))})
			delete(run.open, name)
		default:
			t.Fatalf("section %q: there are server, planner, request, response, wait and shutdown", f.Name)
		}
	}
	for name := range run.open {
		t.Fatalf("request %q has no response: name one where its stream has ended", name)
	}
	return out
}
