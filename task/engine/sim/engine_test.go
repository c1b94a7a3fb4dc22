package sim_test

import (
	"flag"
	"runtime"
	"strings"
	"testing"

	"a2a-server/task/engine"
	"a2a-server/task/engine/sim"
	"a2a-server/task/push"
)

var (
	seeds    = flag.Uint64("sim.seeds", 5000, "how many seeds to play")
	from     = flag.Uint64("sim.from", 0, "the first of them")
	tape     = flag.String("sim.tape", "", "a tape to play instead, as a failure prints it")
	complete = flag.Bool("sim.complete", false, "fail when something never came up")
)

// points are those of the engine's hook.
var points = []string{
	engine.PointCreated, engine.PointLaunch, engine.PointChunks, engine.PointKept, engine.PointStep, engine.PointHeld, engine.PointAnswered, engine.PointTold, engine.PointWoken, engine.PointDue, engine.PointClaimed, push.PointSent,
}

func newEngine(cfg engine.Config, p *sim.Process) (sim.Engine, error) {
	cfg.Host = p
	return engine.New(cfg)
}

// TestSeeds plays many seeds. A failure prints its seed, and what is left of it when it
// is made smaller: -sim.from and -sim.seeds=1, or -sim.tape, play it again.
func TestSeeds(t *testing.T) {
	cfg := sim.Config{New: newEngine, Coverage: sim.NewCoverage(sim.Declared(points)...)}
	if *tape != "" {
		given, err := sim.ParseTape(*tape)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(sim.ExplainTape(cfg, given))
		return
	}
	failed := sim.Seeds(cfg, *from, *seeds, runtime.GOMAXPROCS(0))
	for i, f := range failed {
		if i == 0 {
			t.Error(sim.Explain(cfg, f.Seed, 1500))
			continue
		}
		t.Errorf("seed %d fails: %v", f.Seed, f.Failure)
	}
	t.Logf("what came up in %d seeds:\n%s", *seeds, cfg.Coverage)
	if unknown := cfg.Coverage.Unknown(); len(unknown) > 0 {
		t.Logf("not declared: %s", strings.Join(unknown, ", "))
	}
	if missing := cfg.Coverage.Missing(); *complete && len(missing) > 0 {
		t.Errorf("never came up: %s", strings.Join(missing, ", "))
	}
}

// TestReplay plays seeds twice: from the seed and from the tape that it left.
func TestReplay(t *testing.T) {
	t.Parallel()
	cfg := sim.Config{New: newEngine}
	for seed := range uint64(20) {
		c := sim.Seeded(seed)
		first, sum := sim.Play(c, cfg)
		again, same := sim.Play(sim.Replayed(c.Tape()), cfg)
		if sum != same || (first == nil) != (again == nil) {
			t.Errorf("seed %d: %v, sum %x; replayed: %v, sum %x", seed, first, sum, again, same)
		}
	}
}
