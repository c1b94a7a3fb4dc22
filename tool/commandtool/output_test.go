//go:build linux || darwin

package commandtool_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

// Pieces are whole lines, or what was written so far.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, inBytes := range []bool{false, true} {
		text, want := "printf 'half '; sleep 0.3; printf 'line\\nrest'; seen 1; printf ' of it'", []string{"half line\n", "rest of it"}
		if inBytes {
			text, want = "printf 'half '; seen 1; printf 'line\\nrest'; seen 2; printf ' of it'", []string{"half ", "line\nrest", " of it"}
		}
		c, see := stepwise(t, text)
		c.Output.Bytes = inBytes
		var pieces []string
		got := run(t.Context(), build(t, c), nil, see, func(r *tool.Result) {
			if text, _ := r.Content.(string); r.Streaming {
				pieces = append(pieces, text)
			}
		})
		if fmt.Sprint(pieces) != fmt.Sprint(want) || got.failed != nil {
			t.Errorf("in bytes %v: the pieces are %q (%v), want %q", inBytes, pieces, got.failed, want)
		}
	}
}

// Text is published before the rest of a character that is not complete.
func TestPieceBeforeCharacter(t *testing.T) {
	t.Parallel()
	for _, inBytes := range []bool{false, true} {
		c, see := stepwise(t, `printf 'line one\nline two\n\342\202'; seen 1; printf '\254\n\342'`)
		c.Output.Bytes, c.Timeout = inBytes, 30*time.Second
		first := ""
		got := run(t.Context(), build(t, c), nil, see, func(r *tool.Result) {
			if text, _ := r.Content.(string); first == "" {
				first = text
			}
		})
		if lines := "line one\nline two\n"; first != lines || got.out != lines+"€\n\ufffd" || got.failed != nil {
			t.Errorf("in bytes %v: first is %q, then all are %q (%v)", inBytes, first, got.out, got.failed)
		}
	}
}

// The first piece does not wait for more.
func TestFirstPieceAtOnce(t *testing.T) {
	t.Parallel()
	c := script("echo first; sleep 1000")
	c.Timeout = 2 * time.Minute
	it := build(t, c)
	start := time.Now()
	for r, err := range it.CallStreaming(call{Context: t.Context(), id: "call"}, nil) {
		if text, _ := r.Content.(string); err != nil || text != "first\n" {
			t.Errorf("got %q, %v", text, err)
		}
		break
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// The two streams are told apart, and their order is kept.
func TestStreams(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	c, see := stepwise(t, "echo a; seen 1; echo b >&2; seen 2; echo c; seen 3; echo d >&2")
	run(t.Context(), build(t, c), nil, see, func(r *tool.Result) {
		if text, _ := r.Content.(string); r.Streaming {
			fmt.Fprintf(&order, "%v:%s", r.Metadata["stream"], text)
		}
	})
	if want := "<nil>:a\nstderr:b\n<nil>:c\nstderr:d\n"; order.String() != want {
		t.Errorf("got %q, want %q", order.String(), want)
	}
}

// Whatever a command prints, as much as it likes: a limited part is published, the result
// has the end, the rest is counted, and the command comes to its end.
func TestMuchOutput(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, tt := range []struct {
		name, script string
		stderr       bool
		total        int
		inBytes      bool
	}{
		{"one line of 100 MB", "head -c 104857600 /dev/zero | tr '\\0' x; echo done >&2", false, 100 * mb, false},
		{"lines of 10 MB", "yes | head -c 10485760", false, 10 * mb, false},
		{"bytes", "yes | head -c 10485760", false, 10 * mb, true},
		{"stderr", "yes | head -c 10485760 >&2", true, 10 * mb, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := script(tt.script)
			c.Output.Bytes = tt.inBytes
			got := run(t.Context(), build(t, c), nil)
			if got.failed != nil {
				t.Fatal(got.failed)
			}
			published := len(got.out)
			if tt.stderr {
				published = len(got.err)
			}
			if published > mb || published < mb-100 {
				t.Errorf("%d bytes are published, want 1 MiB", published)
			}
			dropped, _ := got.final["dropped"].(int64)
			if all := len(got.out) + len(got.err) + int(dropped); all < tt.total || all > tt.total+10 || got.dropped != dropped {
				t.Errorf("%d are published and %d dropped (%v in the notice); the command wrote %d", len(got.out), dropped, got.dropped, tt.total)
			}
			if output, _ := got.final["output"].(string); !tt.stderr && len(output) != 64<<10 {
				t.Errorf("the result has %d bytes of output, want 64 KiB", len(output))
			}
			if omitted, _ := got.final["omitted"].(int64); !tt.stderr && int(omitted) != tt.total-64<<10 {
				t.Errorf("omitted is %d", omitted)
			}
			if said, _ := got.final["stderr"].(string); tt.stderr && len(said) != 4<<10 {
				t.Errorf("the result has %d bytes of stderr, want 4 KiB", len(said))
			}
		})
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	c := script("printf 'aé\\nb\\nc\\n'")
	for limit, want := range map[int]string{1: "a", 2: "a", 3: "aé", 4: "aé\n", 7: "aé\nb\nc", 8: "aé\nb\nc\n", 100: "aé\nb\nc\n"} {
		c.Output.Max = limit
		got := run(t.Context(), build(t, c), nil)
		dropped, _ := got.final["dropped"].(int64)
		if got.out != want || int(dropped) != 8-len(want) || got.final["output"] != "aé\nb\nc\n" {
			t.Errorf("with a limit of %d: %q is published, %d dropped, the result is %v", limit, got.out, dropped, got.final)
		}
	}
}

// Nothing is published after a place that was left out, even if there is room for it.
func TestNoHoleAtLimit(t *testing.T) {
	t.Parallel()
	taken, dropped := commandtool.Collect(false /* lines */, 2, []commandtool.Written{{Text: "a"}, {Text: "é"}, {Text: "b"}})
	if len(taken) != 1 || taken[0].Text != "a" || dropped != 3 {
		t.Errorf("%v is published, %d bytes are dropped", taken, dropped)
	}
}

// A command that closes its output early still runs to its end.
func TestOutputClosedEarly(t *testing.T) {
	t.Parallel()
	got := run(t.Context(), build(t, script("echo a; exec >&- 2>&-; sleep 0.3; exit 4")), nil)
	if got.out != "a\n" || got.failed == nil || got.failed.Error() != "exit code 4: a" {
		t.Errorf("%q, %v", got.out, got.failed)
	}
}

// Bytes that are not UTF-8 become U+FFFD, and a character that is written in two halves
// stays whole.
func TestEncoding(t *testing.T) {
	t.Parallel()
	for _, inBytes := range []bool{false, true} {
		c := script(`printf 'a\303'; sleep 0.2; printf '\251\360\237'; sleep 0.2; printf '\221\215\377\303\n\342\202'; sleep 0.1; printf 'x\342\202'`)
		c.Output.Bytes = inBytes
		want := string([]rune("aé👍\xff\xc3\n\xe2\x82x\xe2\x82"))
		if got := run(t.Context(), build(t, c), nil); got.out != want || got.final["output"] != want {
			t.Errorf("in bytes %v: %q and %q, want %q", inBytes, got.out, got.final["output"], want)
		}
	}
}

// Whatever two streams write, in whatever pieces: what is published of each is what it
// wrote, lines are whole, and nothing is counted twice.
func TestCollector(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.Bool().Draw(t, "lines")
		budget := rapid.IntRange(1, 100_000).Draw(t, "budget")
		var wrote, got [2]strings.Builder
		var writes []commandtool.Written
		for range rapid.IntRange(0, 200).Draw(t, "writes") {
			of := rapid.IntRange(0, 1).Draw(t, "stream")
			text := rapid.SampledFrom([]string{"a", "é\n", "line\n", "two\nlines\n", "no line", strings.Repeat("x", 5000)}).Draw(t, "text")
			wrote[of].WriteString(text)
			writes = append(writes, commandtool.Written{Stream: of, Text: text, Take: rapid.IntRange(0, 9).Draw(t, "take") == 0})
		}
		taken, dropped := commandtool.Collect(lines, budget, writes)
		for i, w := range taken {
			got[w.Stream].WriteString(w.Text)
			last := !slices.ContainsFunc(taken[i+1:], func(later commandtool.Written) bool { return later.Stream == w.Stream })
			if lines && dropped == 0 && !last && !strings.HasSuffix(w.Text, "\n") && len(w.Text) < 16<<10 {
				t.Fatalf("%q is no line, and more follows", w.Text)
			}
		}
		published := 0
		for of := range wrote {
			if !strings.HasPrefix(wrote[of].String(), got[of].String()) {
				t.Fatalf("stream %d wrote %q, and %q was published", of, wrote[of].String(), got[of].String())
			}
			published += got[of].Len()
		}
		all := wrote[0].Len() + wrote[1].Len()
		if published+int(dropped) != all || published > budget || all <= budget && dropped > 0 || all > budget && published < budget-1 {
			t.Fatalf("of %d bytes, %d are published and %d dropped; the limit is %d", all, published, dropped, budget)
		}
	})
}

// What comes quickly comes in few pieces, and takes little memory.
func TestQuickOutputIsCoalesced(t *testing.T) {
	c := role(t, "write", "10000", strings.Repeat("x", 99)+"\n")
	it := build(t, c)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := run(t.Context(), it, nil)
	runtime.ReadMemStats(&after)
	if got.failed != nil || len(got.out) != 1_000_000 {
		t.Fatalf("%d bytes, %v", len(got.out), got.failed)
	}
	if got.pieces > 500 {
		t.Errorf("10,000 lines are %d pieces", got.pieces)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 50<<20 {
		t.Errorf("it allocated %d bytes", used)
	}
}
