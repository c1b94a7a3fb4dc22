package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/approval/dialect"
	"a2a-server/internal/testlog"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// disk is a backend that can be opened again after its engine has died.
type disk interface {
	Handle() (store.Handle, error)
	reopen(t testing.TB)
}

type memDisk struct{ *memstore.DB }

func (d *memDisk) reopen(testing.TB) { _ = d.Close(); d.Reopen() }

type boltDisk struct {
	path string
	*boltstore.DB
}

func (d *boltDisk) reopen(t testing.TB) {
	if d.DB != nil {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	var err error
	if d.DB, err = (boltstore.Options{Ahead: 1 << 20}).Open(d.path); err != nil { // many are open at once
		t.Fatal(err)
	}
}

func newBolt(t testing.TB) *boltDisk {
	d := &boltDisk{path: filepath.Join(t.TempDir(), "store.db")}
	d.reopen(t)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// world is an engine with tools whose runs are counted outside of it. A test says first what is in
// it, and then starts it.
type world struct {
	t      testing.TB
	disk   disk
	store  store.Handle
	engine *engine.Engine
	tools  *toolbox
	cfg    engine.Config                   // without Store and Tools, which start sets, and with its defaults
	wrap   func(store.Handle) store.Handle // of the store, when set
	stop   func()
	n      int
}

// newWorld returns a world in real time. What its tools wait for is released at the end of the
// test, and its engine is stopped.
func newWorld(t testing.TB, d disk) *world {
	w := &world{t: t, disk: d, tools: newToolbox(), stop: func() {}}
	t.Cleanup(func() {
		w.tools.release()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.stop()
		}()
		if !within(patience, ended) {
			t.Errorf("the engine has not stopped after %v", patience)
		}
	})
	return w
}

func newMemory(t testing.TB) *world { return newWorld(t, &memDisk{memstore.New()}) }

// inMemory gives a test a world in memory, in a bubble, where time passes when nothing else can
// happen: both backends keep the contract that package storetest tests.
func inMemory(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newMemory(t)) })
}

// eachDisk gives a test whose point is a restart, a race of commits or the room of a disk a world
// on every backend, each in a bubble, beside other tests.
func eachDisk(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("memstore", func(t *testing.T) { inMemory(t, test) })
	t.Run("boltstore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, newBolt(t))) })
	})
}

// runInMemory is inMemory for one case of a table.
func runInMemory(t *testing.T, name string, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inMemory(t, test) })
}

// runOnEachDisk is eachDisk for one case of a table.
func runOnEachDisk(t *testing.T, name string, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { eachDisk(t, test) })
}

// must fails the test on an error after which it cannot continue.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// startTools is start with tools of the test's own beside the usual ones.
func (w *world) startTools(tools ...tool.Tool) {
	w.t.Helper()
	w.tools.extra = tools
	w.start()
}

// start starts an engine on the disk as it is. changes have the last word on its configuration.
func (w *world) start(changes ...func(*engine.Config)) {
	w.t.Helper()
	w.prepare(changes...)
	w.run()
}

// prepare is start without Run.
func (w *world) prepare(changes ...func(*engine.Config)) {
	w.t.Helper()
	var err error
	if w.store, err = w.disk.Handle(); err != nil {
		w.t.Fatal(err)
	}
	if w.wrap != nil {
		w.store = w.wrap(w.store)
	}
	cfg := w.cfg
	cfg.Store = w.store
	cfg.Tools = tool.NewRegistry(tool.NewToolset("test", w.tools.all()...))
	if cfg.Planner == nil {
		cfg.Planner = direct.New(direct.Config{})
	}
	cfg.Presenter = dialect.New(dialect.Config{Keywords: true})
	cfg.Log = zerolog.New(testlog.New(w.t))
	for _, change := range changes {
		change(&cfg)
	}
	if w.engine, err = engine.New(cfg); err != nil {
		w.t.Fatal(err)
	}
	w.engine.AssertTurns(func(problem string) { w.t.Error(problem) })
}

func (w *world) run() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	e, h := w.engine, w.store // w may get others
	go func() { ended <- e.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, errDead) {
			w.t.Errorf("Run() = %v", err)
		}
		_ = h.Close()
	})
}

// stopping tells the engine to stop, and returns a channel that is closed when it has.
func (w *world) stopping(grace time.Duration) <-chan struct{} {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.engine.Stop(grace)
	}()
	return stopped
}

// restart stops the engine and starts another on the same disk.
func (w *world) restart(changes ...func(*engine.Config)) {
	w.t.Helper()
	w.stop()
	w.disk.reopen(w.t)
	w.tools.reset()
	w.start(changes...)
}

// killer ends the process of a world: from die on nothing that its engine does
// reaches the disk.
type killer struct {
	w    *world
	last *mortal
}

// killer has the world die with it.
func (w *world) killer() *killer {
	k := &killer{w: w}
	w.wrap = k.wrap
	return k
}

// crash ends the process of a world in a bubble, and lets another take over.
func (k *killer) crash() {
	k.die()
	k.w.restart()
	synctest.Wait()
}

func (k *killer) wrap(h store.Handle) store.Handle {
	k.last = &mortal{Handle: h}
	return k.last
}

func (k *killer) die() { k.last.dead.Store(true) }

// mortal is a store whose process may die: from then on nothing reaches the disk,
// and whoever asks gets an error.
type mortal struct {
	store.Handle
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Append(ctx context.Context, b *store.Batch) *store.Commit {
	if m.dead.Load() {
		return store.Answered(store.Receipt{}, errDead)
	}
	return m.Handle.Append(ctx, b)
}

func (m *mortal) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, l store.Limit) (store.LogPage, error) {
	if m.dead.Load() {
		return store.LogPage{}, errDead
	}
	return m.Handle.Read(ctx, s, id, from, l)
}

func (m *mortal) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) ([]store.Due, store.Millis, error) {
	if m.dead.Load() {
		return nil, 0, errDead
	}
	return m.Handle.Due(ctx, now, after, limit)
}

// onAppend is a store in which something happens to each batch: it may be replaced, or refused.
type onAppend struct {
	store.Handle
	do func(b *store.Batch) (*store.Batch, error)
}

func (o *onAppend) Append(ctx context.Context, b *store.Batch) *store.Commit {
	b, err := o.do(b)
	if err != nil {
		return store.Answered(store.Receipt{}, err)
	}
	return o.Handle.Append(ctx, b)
}

// pass lets time pass in a bubble, and all that comes of it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// patience is how long a test waits for what an engine that works does at once.
const patience = time.Minute

// soon reports whether something that nobody announces comes before patience ends.
func (w *world) soon(is func() bool) bool {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-over.C:
			return is()
		}
	}
	return true
}

// until is soon for a test that fails otherwise.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	if !w.soon(is) {
		w.t.Fatalf("never happened: %s", what)
	}
}

// startWith starts an engine with an outlet beside the usual toolset, and a planner that
// makes the given steps.
func (w *world) startWith(r *outlet, steps ...*task.Step) {
	w.t.Helper()
	w.start(func(cfg *engine.Config) {
		cfg.Tools = tool.NewRegistry(tool.NewToolset("test", w.tools.all()...), r)
		if len(steps) > 0 {
			cfg.Planner = &stepper{n: len(steps), step: func(i int) *task.Step { return steps[i] }, inline: true}
		}
	})
}
