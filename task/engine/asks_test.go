package engine_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/tool"
)

// A tool that looks after its work from time to time asks its question once, also if the log
// has the question in another form than the tool.
func TestQuestionInAnotherFormIsAskedOnce(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(n int) tool.Question{
		"invalid UTF-8": func(int) tool.Question { return tool.Question{ID: "one", Kind: tool.AskQuestion, Hint: "which\xff?"} },
		"another order of members": func(n int) tool.Question {
			payload := []string{`{"from":1,"to":2}`, `{"to":2,"from":1}`}[n%2]
			return tool.Question{ID: "one", Kind: tool.AskConfirm, Hint: "really?", Payload: json.RawMessage(payload)}
		},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			k := newKeeper("look", func(_ tool.Context, n int) (map[string]any, error) {
				return nil, &tool.Suspension{Asks: []tool.Question{ask(n)}, Wake: time.Now().Add(time.Minute)}
			})
			w.startTools(k)
			id := w.begun(alice, w.calls("look", args{}))
			first := w.onlyOne(id)
			pass(5 * time.Minute)
			synctest.Wait()
			if n := len(k.seen()); n < 5 {
				t.Fatalf("the tool was entered %d times, want 5 or more", n)
			}
			if now, all := w.onlyOne(id), w.asked(id); now.ID != first.ID || len(all) != 1 {
				t.Errorf("%s is pending of %v, want %s alone", now.ID, idsOf(all), first.ID)
			}
		})
	}
}
