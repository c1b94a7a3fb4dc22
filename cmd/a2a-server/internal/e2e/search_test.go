package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/cmd/a2a-server/internal/app"
	"a2a-server/internal/testserver"
	"a2a-server/store/boltstore"
	"a2a-server/tool/searchtool"
)

// library writes the files of a folder beside a configuration.
func searched(t *testing.T, text string, files map[string]string) (c testserver.Config, folder string) {
	t.Helper()
	c, file := configured(t, text)
	for name, content := range files {
		path := filepath.Join(filepath.Dir(file), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return c, filepath.Dir(file)
}

// find sends a search, and returns its result.
func (in *instance) find(t *testing.T, id, call string) (r searchtool.Result) {
	t.Helper()
	task := in.send(t, id, call)
	if task.Status.State != "TASK_STATE_COMPLETED" {
		t.Fatalf("%s: %s", call, in.everything(t, task.ID))
	}
	var whole struct {
		Artifacts []struct {
			Parts []struct {
				Data json.RawMessage `json:"data"`
				Text string          `json:"text"`
			} `json:"parts"`
		} `json:"artifacts"`
	}
	in.rpc(t, "GetTask", map[string]any{"id": task.ID}, &whole)
	part := whole.Artifacts[0].Parts[0]
	if err := json.Unmarshal([]byte(string(part.Data)+part.Text), &r); err != nil {
		t.Fatalf("%s: %+v: %v", call, whole, err)
	}
	return r
}

const searchDocs = "tools:\n  - {search: docs, description: Searches., folder: docs}\n"

// The index is in the data folder, is used by the next process, follows the configuration, and is
// in no backup; a folder that is no longer searched loses its index at the next start.
func TestSearch(t *testing.T) {
	t.Parallel()
	c, folder := searched(t, searchDocs, map[string]string{"docs/a.md": "# Harbor\n\nThe quokka pays.", "wiki/b.md": "A narwhal.", "docs/never.md": "zebrafish"})
	in := start(t, c)
	if r := in.find(t, "m1", "/docs query=quokka"); len(r.Results) != 1 || r.Results[0].Path != "a.md" || r.Results[0].Line != 3 || !strings.Contains(r.Results[0].Text, "pays") {
		t.Errorf("the search found %+v", r)
	}
	indexes := func() []os.DirEntry {
		t.Helper()
		all, err := os.ReadDir(filepath.Join(c.Set["data"], "search"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	first := indexes()
	if len(first) != 1 || !strings.HasPrefix(first[0].Name(), "docs-") {
		t.Fatalf("the data folder has the indexes %v", first)
	}
	rewrite(t, c.File, "tools:\n  - {search: docs, description: Searches., folders: [docs, wiki]}\n")
	in.reload(t)
	if r := in.find(t, "m2", "/docs query=narwhal"); len(r.Results) != 1 || r.Results[0].Path != "wiki/b.md" {
		t.Errorf("after a reload the search found %+v", r)
	}
	in.halt(t)
	if _, err := os.Stat(filepath.Join(folder, "docs", "a.md")); err != nil {
		t.Error(err)
	}

	made := filepath.Join(t.TempDir(), "backup")
	if err := backUp(t, c.Set["data"], made); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(made)
	if err != nil || strings.Contains(string(raw), "zebrafish") {
		t.Errorf("the backup has a document that no search found, or %v", err)
	}

	in = start(t, c)
	if r := in.find(t, "m3", "/docs query=quokka"); len(r.Results) != 1 || r.Results[0].Path != "docs/a.md" {
		t.Errorf("after a restart the search found %+v", r)
	}
	if now := indexes(); len(now) != 1 || now[0].Name() == first[0].Name() {
		t.Errorf("after a restart there are the indexes %v, before there was %v", now, first)
	}
}

// backUp writes a backup of a stopped server's store.
func backUp(t *testing.T, data, to string) error {
	t.Helper()
	db, err := boltstore.Open(filepath.Join(data, "tasks.db"))
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = db.Backup(t.Context(), io.Writer(f))
	return errors.Join(err, f.Close(), db.Close())
}

// A folder that does not exist keeps no server from starting; the calls fail and say why.
func TestSearchWithoutFolder(t *testing.T) {
	t.Parallel()
	c, _ := searched(t, searchDocs, nil)
	if err := testserver.Check(c); err == nil || !strings.Contains(err.Error(), "docs") {
		t.Errorf("Check() = %v", err)
	}
	in := start(t, c)
	task := in.send(t, "m1", "/docs query=quokka")
	if all := in.everything(t, task.ID); task.Status.State != "TASK_STATE_FAILED" || !strings.Contains(all, "no such file") {
		t.Errorf("the search said %s", all)
	}
}

// A single call makes its own index, waits for it, and removes it.
func TestSearchByCommand(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("docs/%d.md", i)] = fmt.Sprintf("quokka %d", i)
	}
	c, _ := searched(t, searchDocs, files)
	var stdout, stderr strings.Builder
	args := []string{"tools", "call", "docs", "query=quokka 217", "--config", c.File, "--data", c.Set["data"]}
	if code := app.Run(t.Context(), args, c.Environment, nil, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "217.md") || strings.Contains(stdout.String(), "note") {
		t.Errorf("it exits with %d:\n%s%s", code, stdout.String(), stderr.String())
	}
	if _, err := os.Stat(filepath.Join(c.Set["data"], "search")); err == nil {
		t.Error("the call has made an index in the data folder")
	}
	left, err := filepath.Glob(filepath.Join(temporary, "a2a-server-search-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("the call left %q, %v", left, err)
	}
}

// A search of the memory finds the earlier tasks of its context, with the task and the call.
func TestSearchMemory(t *testing.T) {
	t.Parallel()
	c, _ := configured(t, "tools:\n  - {search: earlier, description: Searches., memory: true}\n  - {builtin: demo}\n")
	in := start(t, c)
	said := func(id, where, text string) (task taskAnswer) {
		t.Helper()
		m := message(id, text)
		m["message"].(map[string]any)["contextId"] = where //nolint:errcheck // message makes it
		task, _ = in.sendAs(t, m)
		return task
	}
	first := said("m1", "c1", `/echo text="the quokka pays"`)
	said("m2", "c2", `/echo text="another quokka"`)
	found := said("m3", "c1", "/earlier query=quokka")
	all := in.everything(t, found.ID)
	if !strings.Contains(all, first.ID+"/c1.1") || !strings.Contains(all, "quokka pays") || strings.Contains(all, "another") {
		t.Errorf("the search found %s", all)
	}
}
