package call

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"a2a-server/internal/visible"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// stream runs a streaming tool. Chunks are published as they come. The result is the output
// not marked as streaming; without one, it is the beginning of the text of the chunks. Output
// after the end, from a goroutine that the tool left running, is refused.
func (r *Run) stream(x *toolContext, s tool.StreamingTool) *rules.RunEnded {
	var mu sync.Mutex
	var final *tool.Result
	var failed error
	over := false
	s.CallStreaming(x, r.entry.Args)(func(chunk *tool.Result, err error) bool {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return false
		}
		switch {
		case err != nil:
			failed = err
		case chunk == nil:
			failed = errors.New("the tool yielded nothing")
		case chunk.Streaming:
			failed = r.publishChunk(chunk)
		default:
			final, failed = chunk, r.final(chunk)
		}
		over = failed != nil
		return !over
	})
	mu.Lock()
	defer mu.Unlock()
	over = true
	if failed == nil && final == nil && errors.Is(context.Cause(x), errToolTimeout) {
		failed = errToolTimeout // whether it has ended its work, or left it when it was told to end, is unknown
	}
	o := &rules.RunEnded{Err: failed}
	switch {
	case failed != nil:
	case final != nil:
		o.Replace = final.Replace
		o.Result, o.Parts, o.Err = r.publish.Result(final.Content, r.runs.Env.Limits.Result())
	default:
		o.Result, o.Err = r.summary.result(r.runs.Env.Limits.Result())
	}
	return o
}

// final looks at the last result of a streaming tool: an error if the call fails with it.
// If it has content, too, and no chunks came before it, the content is published.
func (r *Run) final(p *tool.Result) error {
	if p.Artifact != "" {
		return fmt.Errorf("the tool's last result is for artifact %s: only pieces may name an artifact", visible.Quote(p.Artifact, maxNamed))
	}
	if p.Error == "" {
		return nil
	}
	if p.Content != nil && r.count("") == 0 {
		if err := r.publishChunk(p); err != nil {
			return err
		}
	}
	return errors.New(p.Error)
}

// maxNamed bounds a name in an error, in characters.
const maxNamed = 64

// count returns how many chunks of an artifact were published since it was last replaced.
func (r *Run) count(artifact string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chunks[artifact]
}

// publishChunk publishes a chunk of a streaming tool. Its error is a partial failure, which is
// published with it.
func (r *Run) publishChunk(p *tool.Result) error {
	k, err := r.encode(p)
	if err != nil {
		return err
	}
	chunk, err := r.publish.Chunk(r.runs.Env.Now(), r.entry.Call, r.entry.Name, k)
	if err != nil {
		return err
	}
	if err := r.emit(chunk); err != nil {
		return err
	}
	r.mu.Lock()
	if r.chunks == nil {
		r.chunks = map[string]int{}
	}
	if k.First && r.chunks[k.Artifact] == 0 && k.Artifact != "" {
		r.named = append(r.named, k.Artifact)
	}
	if k.First {
		r.chunks[k.Artifact] = 0
	}
	r.chunks[k.Artifact]++
	r.mu.Unlock()
	if k.Artifact == "" {
		r.collectText(k)
		r.summary.add(p, k)
	}
	return nil
}

// encode checks and encodes a chunk.
func (r *Run) encode(p *tool.Result) (output.Chunk, error) {
	k := output.Chunk{Artifact: p.Artifact, Metadata: p.Metadata, Error: strings.ToValidUTF8(visible.Shorten(p.Error, maxError), "\ufffd")}
	n := r.count(k.Artifact)
	if k.First = p.Replace || n == 0; k.Artifact != "" && n == 0 {
		if err := output.CheckArtifactName(k.Artifact); err != nil {
			return k, err
		}
		if len(r.named) == output.MaxArtifacts {
			return k, fmt.Errorf("the call publishes more than %d artifacts in addition to its own: %s exceeds the limit", output.MaxArtifacts, k.Artifact)
		}
	}
	var err error
	if k.Error != "" && p.Content == nil {
		k.Content, err = output.ErrorContent(k.Error)
	} else {
		k.Content, err = r.publish.Content(p.Content)
	}
	return k, err
}

// collectText collects the text of a published chunk, if the whole text is wanted.
func (r *Run) collectText(k output.Chunk) {
	if r.text == nil {
		return
	}
	if k.First {
		r.text.Reset()
	}
	text, only := k.Content.Text()
	if !only || r.text.Len()+len(text) > r.runs.Env.Limits.Content() {
		r.text = nil
		return
	}
	r.text.WriteString(text)
}

// textSummary is the beginning of the text of a stream, which a planner gets as the result if
// there is no other.
type textSummary struct {
	text  strings.Builder
	total int64 // bytes of the whole text
	any   bool
	other bool // there is something other than text, so that it gets nothing
}

// add adds a published chunk. An error is a line of its own.
func (t *textSummary) add(p *tool.Result, k output.Chunk) {
	if k.First {
		*t = textSummary{}
	}
	t.any = true
	text, only := k.Content.Text()
	t.other = t.other || !only
	if k.Error == "" {
		t.write(text)
		return
	}
	if p.Content != nil {
		t.write(text)
		t.write("\n")
	}
	t.write("error: ")
	t.write(k.Error)
	t.write("\n")
}

func (t *textSummary) write(text string) {
	t.total += int64(len(text))
	if left := output.MaxToldText - t.text.Len(); left > 0 && !t.other {
		t.text.WriteString(text[:min(left, len(text))])
	}
}

// result returns the result of a stream without one: null if it was not text.
func (t *textSummary) result(limit int) ([]byte, error) {
	if !t.any || t.other {
		return []byte("null"), nil
	}
	return output.TextResult(t.text.String(), t.total, limit)
}
