package search_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
	"a2a-server/tool/searchtool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A search cites the file and the line in which the words are.
func TestSearch(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, testserver.Config{File: "a2a-server.yaml"}.Must(t))
	var found searchtool.Result
	for until := time.Now().Add(time.Minute); (found.Documents == 0 || found.Note != "") && time.Now().Before(until); { // the index is made first
		found = searchtool.Result{}
		done := s.Wait(s.Send(`/docs query="back up the store while the server runs"`).ID, a2a.TaskStateCompleted)
		if err := json.Unmarshal([]byte(s.Text(done)), &found); err != nil {
			t.Fatalf("the result is %q: %v", s.Text(done), err)
		}
	}
	i := slices.IndexFunc(found.Results, func(m searchtool.Match) bool { return m.Path == "operations.md" })
	if i < 0 {
		t.Fatalf("operations.md is not among %+v", found)
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", found.Results[i].Path))
	if err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(string(raw), "\n")[found.Results[i].Line-1]; !strings.Contains(line, "back") && !strings.Contains(line, "Back") {
		t.Errorf("line %d is %q", found.Results[i].Line, line)
	}
	if found.Documents < 20 || found.Note != "" {
		t.Errorf("%d documents, %q", found.Documents, found.Note)
	}
}
