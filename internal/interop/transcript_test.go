package interop

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the transcripts in testdata/transcripts again")

// A transcript is a conversation as it was: what a person did, what went over the wire,
// and what the client showed. It is kept in testdata/transcripts of the repository, with other names for what is
// different each time.
type transcript struct {
	tape *tape
	text strings.Builder
	seen map[string]string // messages that are there, by their id
}

const cardPath = "/.well-known/agent-card.json"

// person begins a turn of the person at the client.
func (tr *transcript) person(turn string) { fmt.Fprintf(&tr.text, "== %s\n\n", turn) }

// wire adds what went over the wire since the last time, but for the agent card and the
// extended one, which are the same for everybody and are fetched when a client likes to.
func (tr *transcript) wire(t *testing.T) {
	t.Helper()
	for _, e := range tr.tape.take() {
		if e.path == cardPath || bytes.Contains(e.asked, []byte(`"agent/getAuthenticatedExtendedCard"`)) {
			continue
		}
		if tr.seen == nil {
			tr.seen = map[string]string{}
		}
		e.write(t, &tr.text, tr.seen)
		tr.text.WriteByte('\n')
	}
}

// shows adds what the client showed.
func (tr *transcript) shows(t *testing.T, raw json.RawMessage) {
	t.Helper()
	tr.lines(layOut(t, decodeAny(t, raw), ""))
}

// lines adds what the client showed, as it was printed.
func (tr *transcript) lines(printed string) {
	tr.text.WriteString("shows\n" + strings.TrimRight(printed, "\n") + "\n\n")
}

// check compares with what testdata has of the client.
func (tr *transcript) check(t *testing.T, client, name string) {
	t.Helper()
	got := strings.TrimRight(anonymous(tr.text.String()), "\n") + "\n"
	file := filepath.Join("..", "..", "testdata", "transcripts", client, name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if that is correct, run go test with -update:\n%s", file, diff)
	}
}

// What is different each time, and what is written instead. A number that follows says
// which one it is.
var different = []struct {
	found *regexp.Regexp
	name  string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`\bapprove [a-z2-7]{8}\b`), "approve CODE"},
	{regexp.MustCompile(`"no [a-z2-7]{8}\b`), `"no CODE`},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`http://(127\.0\.0\.1|localhost):\d+`), "SERVER"},
}

var timestamp = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// The AI SDK's ids look like words elsewhere.
var shortID = regexp.MustCompile(`"messageId": ?"([0-9A-Za-z]{16})"`)

// anonymous returns a text with other names for what is different each time.
func anonymous(text string) string {
	for n := 1; ; n++ {
		found := shortID.FindStringSubmatch(text)
		if found == nil {
			break
		}
		text = strings.ReplaceAll(text, found[1], fmt.Sprintf("MESSAGE-%d", n))
	}
	for _, d := range different {
		names := map[string]string{}
		text = d.found.ReplaceAllStringFunc(text, func(found string) string {
			if names[found] == "" {
				names[found] = fmt.Sprintf("%s-%d", d.name, len(names)+1)
			}
			return names[found]
		})
	}
	return timestamp.ReplaceAllString(text, "TIME")
}
