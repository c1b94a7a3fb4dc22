package bench

import (
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/a2a/operation"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/memstore"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type say struct {
	Text string `json:"text"`
}

type flow struct {
	N int `json:"n,omitempty"`
	// Pace is the milliseconds between two chunks.
	Pace int `json:"pace,omitempty"`
}

// newOurs opens the file and puts our server on it; without a file, on memory.
func newOurs(file string, beat time.Duration) (*service, error) {
	b, err := open(file)
	if err != nil {
		return nil, err
	}
	g := newGate()
	engine, err := newEngine(b, g)
	if err != nil {
		return nil, err
	}
	server, err := a2a.New(operation.Config{Engine: engine, Incarnation: b.incarnation, Log: logger(), Beat: beat, StreamsPerCaller: 10_000})
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return &service{handler: server, release: g.open, commits: b.commits.sorted, close: run(engine, b)}, nil
}

// backend is an open store.
type backend struct {
	handle      store.Handle
	incarnation uint64
	commits     *commits
	close       func() error
}

// open opens a file; without one, memory.
func open(file string) (*backend, error) {
	if file == "" {
		db := memstore.New()
		h, err := db.Handle()
		return &backend{handle: h, commits: &commits{}, close: db.Close}, err
	}
	times := &commits{}
	db, err := boltstore.Options{Hook: times.at}.Open(file)
	if err != nil {
		return nil, err
	}
	h, err := db.Handle()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &backend{handle: h, incarnation: db.Incarnation(), commits: times, close: db.Close}, nil
}

func logger() zerolog.Logger { return zerolog.New(os.Stderr).Level(zerolog.WarnLevel) }

// newEngine makes an engine with the tools that are measured. When it fails it has
// closed the backend.
func newEngine(b *backend, g *gate) (*engine.Engine, error) {
	tools, err := toolset(g)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	engine, err := engine.New(engine.Config{
		Store: b.handle, Tools: tool.NewRegistry(tools), Planner: direct.New(direct.Config{}),
		Presenter: dialect.New(dialect.Config{Keywords: true}), Log: logger(),
	})
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return engine, nil
}

// run runs the engine until the returned function is called, which closes the backend
// too.
func run(engine *engine.Engine, b *backend) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, b.close())
	}
}

// toolset returns echo (read-only), note (with effects), stream (chunks), burst (chunks
// once g is open), park (asks before it runs) and print (a command).
func toolset(g *gate) (tool.Toolset, error) {
	repeat := func(_ tool.Context, s say) (string, error) { return s.Text, nil }
	readOnly := tool.Annotations{ReadOnly: true}
	echo, err1 := functiontool.New(functiontool.Config{Name: "echo", Description: "says it again", Annotations: readOnly}, repeat)
	note, err2 := functiontool.New(functiontool.Config{Name: "note", Description: "stands for a call with effects"}, repeat)
	park, err3 := functiontool.New(functiontool.Config{Name: "park", Description: "waits for a person", RequireApproval: true}, repeat)
	stream, err4 := functiontool.NewStreaming(functiontool.Config{Name: "stream", Description: "streams chunks", Annotations: readOnly},
		func(ctx tool.Context, f flow) iter.Seq2[*tool.Result, error] { return chunks(ctx, f) })
	burst, err5 := functiontool.NewStreaming(functiontool.Config{Name: "burst", Description: "streams chunks when it is told to", Annotations: readOnly},
		func(ctx tool.Context, f flow) iter.Seq2[*tool.Result, error] {
			if err := g.wait(ctx); err != nil {
				return func(yield func(*tool.Result, error) bool) { yield(nil, err) }
			}
			return chunks(ctx, f)
		})
	printer, err6 := newPrint()
	return tool.NewToolset("bench", echo, note, park, stream, burst, printer), errors.Join(err1, err2, err3, err4, err5, err6)
}

func chunks(ctx context.Context, f flow) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		for i := range paced(ctx, f) {
			if !yield(&tool.Result{Content: chunkText(i), Streaming: true}, nil) {
				return
			}
		}
	}
}

// paced counts to f.N, one number every f.Pace milliseconds.
func paced(ctx context.Context, f flow) iter.Seq[int] {
	return func(yield func(int) bool) {
		var tick <-chan time.Time
		if f.Pace > 0 {
			t := time.NewTicker(time.Duration(f.Pace) * time.Millisecond)
			defer t.Stop()
			tick = t.C
		}
		for i := range f.N {
			if tick != nil {
				select {
				case <-tick:
				case <-ctx.Done():
					return
				}
			}
			if !yield(i) {
				return
			}
		}
	}
}

// gate holds a run of burst back until it is opened, once for each run, before or
// after the run has come to it.
type gate struct{ permits chan struct{} }

func newGate() *gate { return &gate{permits: make(chan struct{}, 1)} }

func (g *gate) open() { g.permits <- struct{}{} }

func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.permits:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
