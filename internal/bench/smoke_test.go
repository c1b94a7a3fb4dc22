package bench

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"a2a-server/internal/oidctest"
)

// The benchmarks are not run by tests. So that they work when somebody wants figures,
// each server is asked here, once, for all that they ask it for.

func TestServers(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{ours, peer, echoed} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			asked(t, start(t, k))
		})
	}
	t.Run("ours in memory", func(t *testing.T) {
		t.Parallel()
		asked(t, startSpec(t, spec{Kind: ours}))
	})
}

// asked asks a server for all that the benchmarks ask it for.
func asked(t *testing.T, s *server) {
	t.Helper()
	c, err := dial(s.addr, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, tool := range []string{"note", "echo"} {
		text := tool + " is called"
		body, err := c.post(request("SendMessage", 0, tool, fmt.Sprintf(`{"text":%q}`, text), ""))
		if err == nil {
			err = checkTask(body, 0, text)
		}
		if err != nil {
			t.Errorf("SendMessage that calls %s: %v", tool, err)
		}
		t.Logf("an answer of %s has %d bytes: %s", s.spec.Kind, len(body), body)
	}
	if err := stream(c, s.spec.Kind, 0, 20); err != nil {
		t.Errorf("SendStreamingMessage: %v", err)
	}
	if used := s.tell("usage").CPU; used <= 0 {
		t.Errorf("the server used %v of the processor, want more than nothing", used)
	}
}

func TestRestored(t *testing.T) {
	t.Parallel()
	p := parked{file: filepath.Join(t.TempDir(), "restored.db")}
	p.fill(t, 3)
	for n := range 2 {
		p.settles(t, n)
	}
}

func TestTabs(t *testing.T) {
	t.Parallel()
	for _, path := range tabPaths {
		openTab(t, tabServer(t, path), path).close()
	}
}

func TestDoors(t *testing.T) {
	t.Parallel()
	for _, d := range doors(t) {
		if d.prepare != nil {
			d.prepare(2)
		}
		for i := range 2 {
			c, err := dial(d.s.addr, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.get(c, i); err != nil {
				t.Errorf("%s: %v", d.name, err)
			}
			if _, err := c.with(noCredential).post(named("GetTask", d.task)); (err == nil) != (d.name == "nobody") {
				t.Errorf("%s: without a credential: %v", d.name, err)
			}
			c.close()
		}
	}
	hog := &hostile{s: startWithKeys(t, "", mallory)}
	for range 2 {
		if answer, err := hog.sends()(0); err != nil || answer != "a result, small" {
			t.Errorf("the hog is answered with %s, %v", answer, err)
		}
	}
	issuer := oidctest.New(t)
	if _, err := remember(t, startWithTokens(t, issuer, ""), issuer, 20); err != nil {
		t.Error(err)
	}
}

func TestCrowd(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{ours, echoed} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			s := start(t, k)
			w := crowd{subscribers: 5, chunks: 20, pace: 1, stalled: true}
			for range 2 {
				f, err := w.gather(s)
				if err != nil {
					t.Fatal(err)
				}
				s.tell("release")
				if err := f.follow(); err != nil {
					t.Error(err)
				}
				f.close()
			}
		})
	}
}

func TestParked(t *testing.T) {
	t.Parallel()
	p := &parked{file: filepath.Join(t.TempDir(), "store.db")}
	p.fill(t, 50)
	p.fill(t, 70)
	if len(p.ids) != 70 {
		t.Fatalf("the file was filled with %d tasks, want 70", len(p.ids))
	}
	c, err := dial(startSpec(t, spec{Kind: ours, File: p.file}).addr, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for i := range 10 {
		if err := p.get(c, i); err != nil {
			t.Error(err)
		}
	}
}
