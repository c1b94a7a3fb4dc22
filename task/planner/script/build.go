package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/task"
)

// Limits for the output of a step, so that no batch of the engine grows without bound. The
// rest goes into the next step.
const (
	enoughOutput = 1024
	enoughBytes  = 512 << 10
)

// scriptedError is an error that the script asks for.
type scriptedError string

func (e scriptedError) Error() string { return string(e) }

// builder builds a step.
type builder struct {
	progress *task.Progress
	*renderer
	step     task.Step
	messages int // built so far
}

// build returns the next step of s, from at on.
func (b *builder) build(s *scenario, at position) (*task.Step, error) {
	for !b.enough() {
		if at.Next >= len(s.steps) {
			b.step.End = &task.End{State: a2a.TaskStateCompleted}
			break
		}
		done, err := b.add(s.steps[at.Next], &at)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", at.Next+1, err)
		}
		if done {
			break
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	state, err := json.Marshal(at)
	if err != nil {
		return nil, err
	}
	b.step.State = state
	return &b.step, nil
}

func (b *builder) enough() bool {
	return b.err != nil || len(b.step.Output) >= enoughOutput || b.size >= enoughBytes
}

// add adds a step of the scenario and advances at. It reports whether the step is full.
func (b *builder) add(s *step, at *position) (done bool, err error) {
	switch s.kind {
	case statusUpdate:
		b.output(task.Output{Status: b.message(s.content), Metadata: b.object(s.metadata)})
	case wholeArtifact:
		piece := b.piece(&s.about)
		piece.Parts, piece.Append, piece.Last = b.parts(s.content), s.about.append, s.last
		b.output(task.Output{Artifact: piece})
	case artifactChunks:
		if !b.chunks(s, at) {
			return true, nil
		}
	case toolCalls:
		b.step.Calls, err = b.calls(s.calls)
		done = true
	case waiting:
		b.step.Wait = s.duration
		done = true
	case asking:
		b.step.Ask = &task.InputRequest{Message: b.message(s.content), Auth: s.auth}
		done = true
	case ending:
		b.step.End = &task.End{State: s.state, Message: b.message(s.content)}
		done = true
	case failing:
		if len(b.step.Output) > 0 {
			// Publish the output before it first.
			return true, nil
		}
		text := b.text(s.text)
		if b.err != nil {
			return true, b.err
		}
		return true, scriptedError(text)
	case directMessage:
		return true, errors.New("a direct message has no place in a task; the script has changed since the message was accepted")
	}
	at.Next, at.Chunk = at.Next+1, 0
	return done, err
}

func (b *builder) output(o task.Output) { b.step.Output = append(b.step.Output, o) }

// piece returns an artifact with its description, without parts.
func (b *builder) piece(a *about) *task.ArtifactPiece {
	p := &task.ArtifactPiece{ID: b.text(a.id), Name: b.text(a.name), Description: b.text(a.description), Metadata: b.object(a.metadata)}
	for _, uri := range a.extensions {
		p.Extensions = append(p.Extensions, b.text(uri))
	}
	return p
}

// chunks publishes pieces until the step is full, and reports whether all pieces are
// published.
func (b *builder) chunks(s *step, at *position) bool {
	for ; at.Chunk < s.chunks && !b.enough(); at.Chunk++ {
		template := s.text
		if len(s.texts) > 0 {
			template = s.texts[at.Chunk]
		}
		piece := &task.ArtifactPiece{ID: b.text(s.about.id)}
		if at.Chunk == 0 {
			piece = b.piece(&s.about)
		}
		piece.Parts = a2a.ContentParts{a2a.NewTextPart(b.numbered(template, strconv.Itoa(at.Chunk+1)))}
		piece.Append, piece.Last = at.Chunk > 0 || s.about.append, at.Chunk == s.chunks-1
		b.output(task.Output{Artifact: piece})
	}
	return at.Chunk >= s.chunks
}

func (b *builder) calls(calls []call) ([]task.PlannedCall, error) {
	planned := make([]task.PlannedCall, 0, len(calls))
	for _, c := range calls {
		args := json.RawMessage("{}")
		if c.args != nil {
			var err error
			if args, err = json.Marshal(b.object(c.args)); err != nil {
				return nil, fmt.Errorf("arguments of %q: %w", c.tool, err)
			}
		}
		planned = append(planned, task.PlannedCall{Tool: b.text(c.tool), Args: args, Alias: b.text(c.alias)})
	}
	return planned, nil
}

// message returns nil if c is empty. The id is derived from the task and the position of
// the message in it, so that repeating the plan gives the same.
func (b *builder) message(c content) *a2a.Message {
	if len(c) == 0 {
		return nil
	}
	b.messages++
	name := fmt.Sprintf("urn:a2a-server:script:%s:%d:%d", b.progress.Task, len(b.progress.Steps), b.messages)
	return &a2a.Message{
		ID:        uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(),
		Role:      a2a.MessageRoleAgent,
		TaskID:    a2a.TaskID(b.progress.Task),
		ContextID: b.progress.Context,
		Parts:     b.parts(c),
	}
}
