package agenttool

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// view is the child as far as it is known: its status, and its artifacts, in their order.
type view struct {
	status    a2a.TaskStatus
	artifacts []*gathered
	kept      int // bytes in artifacts, up to maxKept
}

// errArtifacts is the error of a child with too many artifacts. Their names stay in memory.
var errArtifacts = publicError(fmt.Sprintf("its task has more than %d artifacts, or one whose id has more than %d bytes", maxNames, maxID))

// gathered is the content of an artifact for the planner, up to maxResult.
type gathered struct {
	id      a2a.ArtifactID
	whole   *a2a.Artifact // of a snapshot, until it is published
	text    strings.Builder
	data    []any
	files   int
	size    int
	omitted int // bytes
}

// rests reports whether the child does nothing: it has ended, or waits for an answer to another
// message than ignored.
func (v *view) rests(ignored string) bool {
	if s := v.status.State; s != a2a.TaskStateInputRequired && s != a2a.TaskStateAuthRequired {
		return s.Terminal()
	}
	return ignored == "" || v.status.Message == nil || v.status.Message.ID != ignored
}

// snapshot replaces the view. The error is errArtifacts.
func (v *view) snapshot(t *a2a.Task) error {
	*v = view{status: t.Status}
	for _, a := range t.Artifacts {
		if a == nil {
			continue
		}
		n, err := v.add(a, true /* more */)
		if err != nil {
			return err
		}
		v.artifacts[n].whole = a
	}
	return nil
}

// add adds the content of a chunk, and returns the place of its artifact. The error is errArtifacts.
func (v *view) add(a *a2a.Artifact, more bool) (n int, _ error) {
	if n = slices.IndexFunc(v.artifacts, func(g *gathered) bool { return g.id == a.ID }); n < 0 {
		if n = len(v.artifacts); n >= maxNames || len(a.ID) > maxID {
			return 0, errArtifacts
		}
		v.artifacts = append(v.artifacts, &gathered{id: a.ID})
	}
	g := v.artifacts[n]
	v.kept -= g.size
	if !more {
		*g = gathered{id: a.ID}
	}
	for _, p := range a.Parts {
		if p != nil {
			g.add(p, min(maxResult, maxKept-v.kept))
		}
	}
	v.kept += g.size
	return n, nil
}

// add adds a part, up to limit bytes in all. ADK's function calls and responses are steps on the way, and no result: an agent
// that fails to reach another one completes its task with such a part alone.
func (g *gathered) add(p *a2a.Part, limit int) {
	switch {
	case p.Metadata["adk_type"] == "function_call" || p.Metadata["adk_type"] == "function_response":
	case p.Text() != "":
		text := strings.ToValidUTF8(p.Text(), "\uFFFD")
		if room := max(0, limit-g.size); len(text) > room {
			kept := strings.ToValidUTF8(text[:room], "") // without a part of a character
			g.omitted += len(text) - len(kept)
			text = kept
		}
		g.text.WriteString(text)
		g.size += len(text)
	case p.Data() != nil:
		raw, err := json.Marshal(p.Data())
		if err != nil || g.size+len(raw) > limit {
			g.omitted += len(raw)
			return
		}
		g.data = append(g.data, p.Data())
		g.size += len(raw)
	default:
		g.files++
	}
}

// publish publishes the artifacts of a snapshot, in place of what earlier runs have published.
func (r *run) publish() {
	r.live = true
	for n, g := range r.view.artifacts {
		if g.whole != nil {
			r.piece(n, g.whole.Parts, true)
		}
		g.whole = nil
	}
}

// piece publishes parts of the artifact n of the child. Its artifacts beyond the first have the names
// a2 to a16, and the rest shares the last.
func (r *run) piece(n int, parts a2a.ContentParts, replace bool) {
	name := ""
	if n > 0 {
		name = "a" + strconv.Itoa(min(n, maxArtifacts)+1)
		replace = replace && n <= maxArtifacts
	}
	var content []agent.Part
	size := 0
	flush := func() {
		if !r.stopped && (len(content) > 0 || replace) {
			if len(content) == 0 {
				content = []agent.Part{{Text: ""}}
			}
			r.stopped = !r.yield(&tool.Result{Content: content, Streaming: true, Artifact: name, Replace: replace}, nil)
		}
		content, size, replace = nil, 0, false
	}
	for _, p := range parts {
		for _, one := range partsOf(p) {
			n := len(one.Text) + len(one.Raw)
			if size > 0 && size+n > maxPiece {
				flush()
			}
			content, size = append(content, one), size+n
		}
	}
	if len(content) > 0 {
		flush()
	}
}

// partsOf returns a part of the child as this server can publish it: a long text in pieces, and a
// link that is no web address as text.
func partsOf(p *a2a.Part) []agent.Part {
	if p == nil {
		return nil
	}
	out := agent.Part{Filename: visible.Clip(p.Filename, 200), MediaType: visible.Clip(p.MediaType, 100)}
	switch {
	case p.Text() != "":
		var all []agent.Part
		for text := strings.ToValidUTF8(p.Text(), "\uFFFD"); text != ""; {
			piece := strings.ToValidUTF8(text[:min(len(text), maxPiece)], "") // without a part of a character
			all = append(all, agent.Part{Text: piece, MediaType: out.MediaType})
			text = text[len(piece):]
		}
		return all
	case p.Data() != nil:
		out.Data = p.Data()
	case p.Raw() != nil:
		out.Raw = p.Raw()
	case p.URL() != "":
		u, err := url.Parse(string(p.URL()))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return []agent.Part{{Text: visible.Clip(string(p.URL()), 500)}}
		}
		out.URL = string(p.URL())
	default:
		return nil
	}
	return []agent.Part{out}
}

// final returns the result of a child in a final state, or its error.
func (r *run) final() (*tool.Result, error) {
	said := ""
	if m := r.view.status.Message; m != nil {
		said = textOf(m.Parts)
	}
	if s := r.view.status.State; s != a2a.TaskStateCompleted {
		what := map[a2a.TaskState]string{
			a2a.TaskStateCanceled: "its task was canceled", a2a.TaskStateRejected: "it rejected the task", a2a.TaskStateFailed: "its task failed",
		}[s]
		if what == "" {
			what = "its task ended in an unknown state"
		}
		if said == "" {
			said = r.view.text()
		}
		if said != "" {
			what += ": " + visible.ClipText(said, maxError)
		}
		return nil, r.where(publicError(what))
	}
	if !r.live {
		r.publish()
	}
	return r.result(said, r.view.artifacts)
}

// replied returns the result of an agent that answered without a task.
func (r *run) replied() (*tool.Result, error) {
	g := &gathered{}
	for _, p := range r.reply.Parts {
		if p != nil {
			g.add(p, maxResult)
		}
	}
	return r.result("", []*gathered{g})
}

func (v *view) text() string {
	var b strings.Builder
	for _, g := range v.artifacts {
		b.WriteString(g.text.String())
	}
	return b.String()
}

// result returns what the planner gets: a text, or an object with text, data, the number of files,
// and of bytes that were omitted. A final state without any content is an error: some agents
// complete a task although what they delegated has failed.
func (r *run) result(said string, all []*gathered) (*tool.Result, error) {
	var texts []string
	total := &gathered{}
	for _, g := range all {
		if g.size+total.size > maxResult {
			total.omitted += g.size + g.omitted
			continue
		}
		if g.text.Len() > 0 {
			texts = append(texts, g.text.String())
		}
		total.data = append(total.data, g.data...)
		total.files += g.files
		total.size += g.size
		total.omitted += g.omitted
	}
	if said != "" && !slices.Contains(texts, said) {
		if len(said)+total.size > maxResult {
			total.omitted += len(said)
		} else {
			texts = append(texts, said)
		}
	}
	text := strings.Join(texts, "\n")
	switch {
	case text == "" && len(total.data) == 0 && total.files == 0 && total.omitted == 0:
		return nil, r.where(fmt.Errorf("it ended its task without any result"))
	case len(total.data) == 0 && total.files == 0 && total.omitted == 0:
		return &tool.Result{Content: text}, nil
	}
	content := map[string]any{}
	if text != "" {
		content["text"] = text
	}
	if len(total.data) > 0 {
		content["data"] = total.data
	}
	if total.files > 0 {
		content["files"] = total.files
	}
	if total.omitted > 0 {
		content["omitted"] = total.omitted
	}
	return &tool.Result{Content: content}, nil
}
