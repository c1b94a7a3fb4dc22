package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
)

// scene is a case that is played over one binding. It is for one goroutine.
type scene struct {
	*testing.T
	world *world
	on    binding
	ctx   context.Context //nolint:containedctx // of the whole case

	names []name
	seen  map[string]bool
	count map[string]int
	lines []line
	met   map[string]bool // errors, by name
}

// name is what differs from one run to the next, and what it is called in the comparison.
type name struct{ is, called string }

// line is something that a client did, and what it got.
type line struct {
	Did string
	Got any
}

// id returns an id that no other scene uses.
func (s *scene) id(called string) string {
	is := called + "-" + uuid.NewString()
	s.called(is, called)
	return is
}

func (s *scene) called(is, called string) {
	if is == "" || s.seen[is] {
		return
	}
	s.seen[is] = true
	s.names = append(s.names, name{is, called})
}

// numbered names something of which there are several.
func (s *scene) numbered(is, kind string) {
	if is == "" || s.seen[is] {
		return
	}
	s.count[kind]++
	s.called(is, fmt.Sprintf("%s-%d", kind, s.count[kind]))
}

func (s *scene) nameTask(t *task) {
	if t == nil {
		return
	}
	s.numbered(t.ID, "task")
	s.numbered(t.Context, "context")
	for i := range t.History {
		s.nameMessage(&t.History[i])
	}
	s.nameMessage(t.Message)
	ids := map[string]bool{}
	for _, a := range t.Artifacts {
		if ids[a.ID] {
			s.Errorf("the task has two artifacts with the id %s", a.ID)
		}
		ids[a.ID] = true
	}
}

func (s *scene) nameMessage(m *message) {
	if m == nil {
		return
	}
	s.numbered(m.Context, "context")
	s.numbered(m.ID, m.Role+"-message")
}

var (
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	tokens = regexp.MustCompile(`"PageToken": "[^"]+"`)
	coded  = regexp.MustCompile(`(\b(?:approve|no)) [a-z2-7]*[2-7][a-z2-7]*\b`)
)

// record keeps what a client got for the comparison.
func (s *scene) record(did string, got any) { s.lines = append(s.lines, line{did, got}) }

// transcript returns what the clients got, in a form that does not depend on the run.
func (s *scene) transcript() string {
	raw, err := json.MarshalIndent(s.lines, "", " ")
	if err != nil {
		s.Fatal(err)
	}
	out := coded.ReplaceAllString(string(raw), "$1 CODE")
	slices.SortStableFunc(s.names, func(a, b name) int { return cmp.Compare(len(b.is), len(a.is)) })
	for _, n := range s.names {
		out = strings.ReplaceAll(out, n.is, n.called)
	}
	return tokens.ReplaceAllString(times.ReplaceAllString(out, "TIME"), "TOKEN")
}

// meets keeps that the server has answered with an error.
func (s *scene) meets(f *fault) { s.met[f.Name] = true }

// equal fails the case unless two values are equal.
func (s *scene) equal(what string, got, want any) {
	s.Helper()
	if d := diff.Diff(want, got, cmpopts.EquateEmpty(), diff.Exporter(func(reflect.Type) bool { return true })); d != "" {
		s.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// refused fails the case unless f has a name.
func (s *scene) refused(what string, f *fault, name string) {
	s.Helper()
	switch {
	case f == nil:
		s.Errorf("%s: no error, want %s", what, name)
	case f.Name != name:
		s.Errorf("%s: %v, want %s", what, f, name)
	}
}

// actor is a caller in a scene.
type actor struct {
	s      *scene
	name   string
	client *client
}

// as returns somebody of callers, or nobody for "".
func (s *scene) as(name string) *actor { return s.asWith(name, func(*caller) {}) }

// asWith returns somebody whose requests change.
func (s *scene) asWith(name string, change func(*caller)) *actor {
	c := caller{key: s.world.keys[name]}
	if s.on.version != "0.3" { // which has no such header
		c.version = &s.on.version
	}
	change(&c)
	return &actor{s, cmp.Or(name, "nobody"), s.on.client(s.world, c)}
}

// check returns the fault that err is. Any other error fails the case, except that an
// operation is not offered, which is recorded.
func (a *actor) check(did string, err error) *fault {
	a.s.Helper()
	var f *fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		a.s.meets(f)
		a.s.record(a.name+" "+did, f)
		return f
	case errors.Is(err, errNotOffered):
		a.s.record(a.name+" "+did, "not offered")
		return &fault{Name: "not offered"}
	}
	a.s.Fatalf("%s %s: %v", a.name, did, err)
	return nil
}

func (a *actor) send(m sending) (*sent, *fault) {
	a.s.Helper()
	out, err := a.client.send(a.s.ctx, m)
	if f := a.check("sends", err); f != nil {
		return nil, f
	}
	a.s.nameTask(out.Task)
	a.s.nameMessage(out.Message)
	a.s.record(a.name+" sends", out)
	return out, nil
}

// task sends a message that has to make a task, or continue one.
func (a *actor) task(m sending) *task {
	a.s.Helper()
	out, f := a.send(m)
	if f != nil || out.Task == nil {
		a.s.Fatalf("%s sends %+v: %v, %+v; want a task", a.name, m.Message, f, out)
	}
	return out.Task
}

// says returns a message of text parts.
func (s *scene) says(id string, lines ...string) *message {
	m := &message{ID: s.id(id), Role: "user"}
	for _, l := range lines {
		m.Parts = append(m.Parts, text(l))
	}
	return m
}

func (a *actor) get(id string, history *int) (*task, *fault) {
	a.s.Helper()
	out, err := a.client.get(a.s.ctx, id, history)
	if f := a.check("gets", err); f != nil {
		return nil, f
	}
	a.s.nameTask(out)
	a.s.record(a.name+" gets", out)
	return out, nil
}

// has gets a task that has to be there.
func (a *actor) has(id string) *task {
	a.s.Helper()
	out, f := a.get(id, nil)
	if f != nil {
		a.s.Fatalf("%s gets a task: %v", a.name, f)
	}
	return out
}

func (a *actor) list(l listing) (*page, *fault) {
	a.s.Helper()
	out, err := a.client.list(a.s.ctx, l)
	if f := a.check("lists", err); f != nil {
		return nil, f
	}
	for i := range out.Tasks {
		a.s.nameTask(&out.Tasks[i])
	}
	a.s.record(a.name+" lists", out)
	return out, nil
}

func (a *actor) cancel(id string) (*task, *fault) {
	a.s.Helper()
	out, err := a.client.cancel(a.s.ctx, id, nil)
	if f := a.check("cancels", err); f != nil {
		return nil, f
	}
	a.s.nameTask(out)
	a.s.record(a.name+" cancels", out)
	return out, nil
}

// reading is a stream that a scene reads.
type reading struct {
	a      *actor
	label  string
	stream *stream
	before *artChunk // the last event as it was recorded, if it was a chunk
}

func (a *actor) stream(m sending) *reading {
	return a.reads("streams", a.client.stream(a.s.ctx, m))
}

func (a *actor) subscribe(id, after string) *reading {
	return a.reads("subscribes", a.client.subscribe(a.s.ctx, id, after))
}

func (a *actor) reads(label string, st *stream) *reading {
	a.s.Cleanup(st.close)
	return &reading{a: a, label: a.name + " " + label, stream: st}
}

// next returns the next event; nil and nil at the end.
func (r *reading) next() (*event, *fault) {
	s := r.a.s
	s.Helper()
	e, err := r.stream.next()
	var f *fault
	switch {
	case errors.Is(err, io.EOF):
		s.record(r.label, "the end")
		return nil, nil
	case errors.As(err, &f):
		s.meets(f)
		s.record(r.label, f)
		return nil, f
	case err != nil:
		s.Fatalf("%s: %v", r.label, err)
	}
	s.nameTask(e.Task)
	s.nameMessage(e.Message)
	if e.Status != nil {
		s.nameMessage(e.Status.Message)
		final := over(e.Status.State) || e.Status.State == "input-required"
		if s.on.version == "0.3" && e.Status.final != final {
			s.Errorf("%s: final is %v of %+v", r.label, e.Status.final, e.Status)
		}
	}
	r.record(*e)
	return e, nil
}

// record keeps an event for the comparison. Whether the last chunk says that it is the last
// or an empty one after it does depends on the time, so it is recorded as one.
func (r *reading) record(e event) {
	before := r.before
	r.before = nil
	if e.Artifact == nil {
		r.a.s.record(r.label, e)
		return
	}
	chunk := *e.Artifact
	if before != nil && !before.Last && chunk.Last && chunk.Append && texts(chunk.Artifact.Parts) == "" {
		before.Last = true
		return
	}
	e.Artifact, r.before = &chunk, &chunk
	r.a.s.record(r.label, e)
}

// event returns the next event, which has to come.
func (r *reading) event() *event {
	r.a.s.Helper()
	e, f := r.next()
	if e == nil {
		r.a.s.Fatalf("%s: the stream ended with %v", r.label, f)
	}
	return e
}

// refused reads the error that a stream is to begin with.
func (r *reading) refused(name string) {
	r.a.s.Helper()
	e, f := r.next()
	if e != nil {
		r.a.s.Errorf("%s: %+v, want %s", r.label, e, name)
		return
	}
	r.a.s.refused(r.label, f, name)
}

// until reads up to an event of a kind, and returns it.
func (r *reading) until(what string, is func(*event) bool) *event {
	r.a.s.Helper()
	for {
		e, f := r.next()
		if e == nil {
			r.a.s.Fatalf("%s: the stream ended with %v before %s", r.label, f, what)
		}
		if is(e) {
			return e
		}
	}
}

// rest returns what is left, up to the end.
func (r *reading) rest() []event {
	r.a.s.Helper()
	var all []event
	for {
		e, f := r.next()
		if f != nil {
			r.a.s.Fatalf("%s: %v", r.label, f)
		}
		if e == nil {
			return all
		}
		all = append(all, *e)
	}
}

// stateOf returns the state that an event tells; "": none.
func stateOf(e *event) string {
	switch {
	case e.Task != nil:
		return e.Task.State
	case e.Status != nil:
		return e.Status.State
	}
	return ""
}

// statesOf returns the states that events tell, one after the other.
func statesOf(events []event) []string {
	var all []string
	for i := range events {
		if state := stateOf(&events[i]); state != "" {
			all = append(all, state)
		}
	}
	return all
}

// lastOf returns the last of all; "" if there is none.
func lastOf(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// chunksOf returns the texts that events add to artifacts, one after the other.
func chunksOf(events []event) []string {
	var all []string
	for _, e := range events {
		if e.Artifact != nil {
			all = append(all, texts(e.Artifact.Artifact.Parts))
		}
	}
	return all
}
