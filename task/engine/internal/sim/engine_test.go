package sim_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"a2a-server/internal/crashpoint"
	"a2a-server/task/engine"
	"a2a-server/task/engine/internal/sim"
)

var (
	seeds    = flag.Uint64("sim.seeds", quick, "how many seeds to play")
	from     = flag.String("sim.from", "", "the first of them, or random; what fails is then kept in testdata. Defaults to 0")
	tape     = flag.String("sim.tape", "", "a tape to play instead, as a failure prints it")
	complete = flag.Bool("sim.complete", false, "fail when something never came up")
)

// points returns the points at which the code calls its hooks. A server dies at each of them.
func points(t *testing.T) (all []string) {
	t.Helper()
	for _, dir := range []string{"../env", "../../../push"} {
		in, err := crashpoint.In(dir)
		if err != nil {
			t.Fatal(err)
		}
		all = slices.AppendSeq(all, maps.Keys(in))
	}
	return all
}

// quick is how many seeds `make test` plays. fixed is how many `make seeds` plays, from the first
// one: these pass every point. enough is how many pass every point from wherever they start.
const (
	quick  = 500
	fixed  = 3500
	enough = 5000
)

func newEngine(cfg engine.Config, p *sim.Process) (*engine.Engine, error) {
	cfg.Host = p
	return engine.New(cfg)
}

// base returns the first seed to play.
func base(t *testing.T) uint64 {
	t.Helper()
	switch *from {
	case "":
		return 0
	case "random":
		return rand.Uint64N(1e12)
	}
	n, err := strconv.ParseUint(*from, 10, 64)
	if err != nil {
		t.Fatalf("-sim.from is %q; it is a number, or random", *from)
	}
	return n
}

// TestSeeds plays many seeds. A failure prints its seed, and what is left of it when it
// is made smaller: -sim.from and -sim.seeds=1, or -sim.tape, play it again.
func TestSeeds(t *testing.T) {
	cfg := sim.Config{New: newEngine, Coverage: sim.NewCoverage(sim.Declared(points(t))...)}
	if *tape != "" {
		given, err := sim.ParseTape(*tape)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(sim.ExplainTape(cfg, given))
		return
	}
	first := base(t)
	t.Logf("%d seeds from %d", *seeds, first)
	for i, f := range sim.Seeds(cfg, first, *seeds, runtime.GOMAXPROCS(0)) {
		t.Errorf("seed %d fails: %v", f.Seed, f.Failure)
		small, how := sim.Smaller(cfg, f.Seed, 1500)
		if i == 0 {
			t.Logf("made smaller: %s", sim.ExplainTape(cfg, small))
		}
		if *from != "" {
			keep(t, f.Seed, how, small)
		}
	}
	t.Logf("what came up in %d seeds:\n%s", *seeds, cfg.Coverage)
	if unknown := cfg.Coverage.Unknown(); len(unknown) > 0 {
		t.Logf("not declared: %s", strings.Join(unknown, ", "))
	}
	missing := cfg.Coverage.Missing()
	if *complete && len(missing) > 0 {
		t.Errorf("never came up: %s", strings.Join(missing, ", "))
	}
	for _, m := range missing {
		if (*seeds >= enough || *seeds == fixed && *from == "") && strings.HasPrefix(m, "death at ") {
			t.Errorf("there was no %s", m)
		}
	}
}

// TestModelSeeds plays seeds with a planner that asks a language model: the real planner, whose
// requests are answered within the simulation. A failure is played again with -sim.from and
// -sim.seeds, of which this test plays a fifth.
func TestModelSeeds(t *testing.T) {
	cfg := sim.Config{New: newEngine, Coverage: sim.NewCoverage(sim.DeclaredOfModel()...), Model: true}
	first, n := base(t), max(*seeds/5, 1)
	t.Logf("%d seeds from %d", n, first)
	for i, f := range sim.Seeds(cfg, first, n, runtime.GOMAXPROCS(0)) {
		t.Errorf("seed %d fails: %v", f.Seed, f.Failure)
		if i == 0 {
			small, _ := sim.Smaller(cfg, f.Seed, 1500)
			t.Logf("made smaller: %s", sim.ExplainTape(cfg, small))
		}
	}
	t.Logf("what came up in %d seeds:\n%s", n, cfg.Coverage)
	if missing := cfg.Coverage.Missing(); len(missing) > 0 && (n >= enough || n == fixed/5 && *from == "") {
		t.Errorf("never came up: %s", strings.Join(missing, ", "))
	}
}

// keep writes the tape of a failure for TestKept.
func keep(t *testing.T, seed uint64, how *sim.Failure, tape sim.Tape) {
	t.Helper()
	file := filepath.Join("testdata", fmt.Sprintf("seed-%d.tape", seed))
	if err := os.WriteFile(file, fmt.Appendf(nil, "# %q\n%s\n", how, tape), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("task/engine/internal/sim/%s has its choices: commit it with what mends it", file)
}

// TestKept plays the choices of all failures that were ever found.
func TestKept(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.tape")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no tape in testdata: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		how, text, _ := strings.Cut(string(data), "\n")
		kept, err := sim.ParseTape(strings.TrimSpace(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if f, _ := sim.Play(sim.Replayed(kept), sim.Config{New: newEngine}); f != nil {
			t.Errorf("%s fails again: %v; it was kept for %s", file, f, how)
		}
	}
}

// TestReplay plays seeds twice: from the seed and from the tape that it left.
func TestReplay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		cfg := sim.Config{New: newEngine, Model: seed%2 == 1}
		c := sim.Seeded(seed / 2)
		first, sum := sim.Play(c, cfg)
		again, same := sim.Play(sim.Replayed(c.Tape()), cfg)
		if sum != same || (first == nil) != (again == nil) {
			t.Errorf("seed %d, with a model: %v: %v, sum %x; replayed: %v, sum %x", seed/2, cfg.Model, first, sum, again, same)
		}
	}
}
