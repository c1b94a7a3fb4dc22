package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"a2a-server/client"
	"a2a-server/task/inbox/api"
)

// The Task of A2A and its events, as far as a page shows them.
type (
	a2aTask struct {
		History   []api.Message `json:"history"`
		Artifacts []a2aArtifact `json:"artifacts"`
		Status    a2aStatus     `json:"status"`
		Metadata  struct {
			Model *modelAnswer `json:"urn:a2a-server:model"`
		} `json:"metadata"` // of an update
	}
	// modelAnswer is the value of task.ModelKey.
	modelAnswer struct {
		Step       int    `json:"step"` // 0: not known
		Model      string `json:"model"`
		Finish     string `json:"finish"`
		In         int    `json:"inputTokens"`
		Cached     int    `json:"cachedTokens"`
		Out        int    `json:"outputTokens"`
		DurationMS int64  `json:"durationMs"`
	}
	a2aStatus struct {
		State     string       `json:"state"`
		Timestamp time.Time    `json:"timestamp"`
		Message   *api.Message `json:"message"`
	}
	a2aArtifact struct {
		ID    string     `json:"artifactId"`
		Name  string     `json:"name"`
		Parts []api.Part `json:"parts"`
	}
	a2aEvent struct {
		Task           *a2aTask `json:"task"`
		StatusUpdate   *a2aTask `json:"statusUpdate"` // its status
		ArtifactUpdate *struct {
			Artifact  a2aArtifact `json:"artifact"`
			LastChunk bool        `json:"lastChunk"`
		} `json:"artifactUpdate"`
	}
)

// part is a part of a message or an artifact on a page.
type part struct {
	Text long
	File string // description of a file, instead of Text
	Data []leaf // likewise
}

// partsOf returns parts for a page. Adjacent texts are joined: a streamed artifact has a part
// for each chunk.
func (t *texts) partsOf(all []api.Part) []part {
	var out []part
	text, open := "", false
	flush := func() {
		if open {
			out = append(out, part{Text: t.longText(text)})
		}
		text, open = "", false
	}
	for i := 0; i < len(all); i++ {
		p := &all[i]
		switch {
		case p.Text != nil:
			text, open = text+*p.Text, true
			continue
		case len(p.Data) > 0:
			flush()
			out = append(out, part{Data: tree(p.Data)})
			if i+1 < len(all) && all[i+1].Text != nil && sameJSON(p.Data, []byte(*all[i+1].Text)) {
				i++ // for clients that read only text
			}
		case p.URL != "":
			flush()
			out = append(out, part{File: fmt.Sprintf("%s %s at %s", p.Filename, p.MediaType, p.URL)})
		default:
			flush()
			out = append(out, part{File: fmt.Sprintf("%s %s, %s", p.Filename, p.MediaType, size(len(p.Raw)))})
		}
	}
	flush()
	return out
}

// shows reports whether an artifact has the result or the error of a call.
func (a *a2aArtifact) shows(c *client.Call) bool {
	text, texts := "", true
	for i := range a.Parts {
		if p := &a.Parts[i]; p.Text == nil {
			texts = false
		} else {
			text += *p.Text
		}
	}
	if !texts {
		return len(a.Parts[0].Data) > 0 && sameJSON(a.Parts[0].Data, c.Result)
	}
	if c.Outcome != "ok" {
		return text != "" && text == c.Error
	}
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string
	return sameJSON(c.Result, quoted) || sameJSON(c.Result, []byte(`{"result":`+string(quoted)+`}`))
}

// sameJSON reports whether two JSON values have the same rows.
func sameJSON(a, b []byte) bool {
	rows := tree(a)
	return len(rows) > 0 && slices.EqualFunc(rows, tree(b), func(l, other leaf) bool { return l.Path == other.Path && l.raw == other.raw })
}
