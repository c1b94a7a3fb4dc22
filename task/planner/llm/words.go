package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"a2a-server/task"
)

// Bounds of a text in a request, in bytes of JSON.
const (
	maxResult  = 64 << 10 // of a call
	maxEarlier = 4 << 10  // the results of an earlier task
)

// endedText says how tasks have ended to which a message refers.
func endedText(all []task.EndedTask) string {
	lines := []string{"[These tasks have ended meanwhile:]"}
	for _, t := range all {
		lines = append(lines, fmt.Sprintf("Task %s ended in state %s at %s: %s", t.ID, t.State, t.At.UTC().Format(time.RFC3339), cmp.Or(t.Text, "without a text")))
	}
	return strings.Join(lines, "\n")
}

// result returns the result of a call as the model is told of it, in the role of a tool, with at
// most so many bytes.
func (w *Words) result(r *task.Result, most int) string {
	switch {
	case r.Outcome == task.OutcomeOK, r.Outcome == task.OutcomeResponded, r.Refusal():
		if why := notFollowed(r); why != "" {
			return cut(string(encode(map[string]string{"error": why})), most)
		}
		var text string
		if json.Unmarshal(r.Content, &text) != nil {
			text = string(r.Content)
		}
		text = cut(text, most)
		if r.Outcome == task.OutcomeOK && r.Actions.RequireInput {
			text += "\n[The user was asked: " + prompt(r) + "]"
		}
		return text
	case r.Outcome == task.OutcomeRejected:
		text := fill(w.Rejected, "tool_name", r.Call.Name)
		if r.Decision == "" { // on this call: the error names the earlier rejection
			return cut(text+" "+r.Error, most)
		}
		return w.noted(text, r.Note)
	}
	return cut(string(encode(map[string]string{"error": r.Error})), most)
}

// edited returns the text about an edit, which stands before the call.
func (w *Words) edited(r *task.Result, args string) string {
	return w.noted(fill(w.Edited, "tool_name", r.Call.Name, "final_tool_params", args), r.Note)
}

func (w *Words) feedback(note string) string { return fill(w.Feedback, "feedback", note) }

func (w *Words) noted(text, note string) string {
	if note == "" {
		return text
	}
	return text + " " + w.feedback(note)
}

// fill fills placeholders into a template, all at once: a value cannot bring in another.
func fill(template string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "{" + pairs[i] + "}"
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// cut returns the beginning of a text that has more than so many bytes as JSON, with the number of
// the bytes that are missing.
func cut(text string, most int) string {
	n := len(text)
	for size := len(encode(text)); n > 0 && size > most; size = len(encode(text[:n])) {
		for n = n * max(most, 0) / size; n > 0 && !utf8.RuneStart(text[n]); {
			n--
		}
	}
	if n == len(text) {
		return text
	}
	return fmt.Sprintf("%s\n[%d more bytes are not shown]", text[:n], len(text)-n)
}
