package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool/agent"
)

// Earlier returns an ended task as a planner is told of it.
func Earlier(f *fold.Fold) (task.EarlierTask, error) {
	state := f.View.State()
	var asked []string
	for i := range f.Messages {
		var m a2a.Message
		if f.Messages[i].For != event.ForPlanner {
			continue
		}
		if err := json.Unmarshal(f.Messages[i].Message, &m); err != nil {
			return task.EarlierTask{}, fmt.Errorf("decode message: %w", err)
		}
		if text := textOf(&m); text != "" {
			asked = append(asked, text)
		}
	}
	answer, said := f.View.Answer(isSaid)
	return task.EarlierTask{ID: f.View.TaskID(), Asked: strings.Join(asked, "\n"), Answered: answer, Said: said, State: state}, nil
}

// MaxEndedText is how much of the text of an ended task is repeated to its client and to planners, in bytes.
const MaxEndedText = 4 << 10

// Ended returns how the task of f has ended, with the beginning of the text of its last status and of its
// answer, as far as f has them; zero: it has not.
func Ended(f *fold.Fold) task.Ended {
	if f.Header.Phase != store.Final {
		return task.Ended{}
	}
	text := f.View.StatusText()
	if answer, _ := f.View.Answer(isSaid); answer != "" && answer != text {
		text = strings.TrimPrefix(text+"\n"+answer, "\n")
	}
	if n := MaxEndedText - len("…"); len(text) > MaxEndedText {
		for !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n] + "…"
	}
	return task.Ended{At: f.Header.StatusTime.Time(), Text: text}
}

// Memories returns an ended task as entries of a memory: what was asked and answered, and the
// outcomes of calls. The metadata names the task, and as path the part of it.
func Memories(f *fold.Fold) ([]agent.MemoryResult, error) {
	e, err := Earlier(f)
	if err != nil {
		return nil, err
	}
	var all []agent.MemoryResult
	add := func(author, part, text string) {
		if text != "" {
			all = append(all, agent.MemoryResult{Content: text, Author: author, Time: f.Header.StatusTime.Time(), Metadata: map[string]any{
				"task": f.View.TaskID(), "path": f.View.TaskID() + "/" + part,
			}})
		}
	}
	add("user", "asked", e.Asked)
	if e.Said {
		add("agent", "said", e.Answered)
	}
	for _, s := range f.Steps {
		for _, c := range s.Progress {
			text := c.Error
			if len(c.Result) > 0 && json.Unmarshal(c.Result, &text) != nil {
				text = string(c.Result)
			}
			add(c.Tool, c.ID, text)
		}
	}
	return all, nil
}
