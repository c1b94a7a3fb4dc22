package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// maxOutput bounds how much of a test's output is read.
const maxOutput = 4 << 20

// drain is how long a test binary that has ended, or was killed, may keep its output open.
const drain = 5 * time.Second

// ran is the result of running a test.
type ran struct {
	began    bool   // the top-level test
	end      string // of the test itself: PASS, FAIL or SKIP; "": it did not come to an end
	fine     bool   // the exit code was 0
	timedOut bool
	took     time.Duration
	output   string
}

// marks are the lines that package testing prints. Asked for test2json's form, it puts
// a control character before them, which sets them apart from a test's own output.
var marks = regexp.MustCompile(`\x16 *(?:=== |--- )(RUN|PASS|FAIL|SKIP):? +(\S+)`)

// test runs a test of a binary in its package's folder, and ends it after limit. dir
// is a folder for its temporary files. No name: it runs none.
func (r *runner) test(ctx context.Context, dir, binary, folder, name string, flags []string, limit time.Duration) *ran {
	temporary := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return &ran{output: err.Error()}
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// The binary's own limit is off: it fails the test, which would be a kill.
	cmd := exec.CommandContext(limited, binary, append([]string{
		"-test.run", pattern(name), "-test.count=1", "-test.v=test2json", "-test.timeout=0", "-test.paniconexit0",
	}, flags...)...)
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(folder))
	cmd.Env = append(cmd.Environ(), "TMPDIR="+temporary)
	bound(cmd)
	said := &head{limit: maxOutput}
	cmd.Stdout, cmd.Stderr = said, said
	start := time.Now()
	err := cmd.Run()
	got := &ran{took: time.Since(start), output: said.text.String()}
	got.fine = err == nil || errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success()
	got.timedOut = !got.fine && limited.Err() != nil && ctx.Err() == nil
	if err != nil && cmd.ProcessState == nil {
		got.output = err.Error() // it was not started
	}
	top, _, _ := strings.Cut(name, "/")
	for _, m := range marks.FindAllStringSubmatch(got.output, -1) {
		switch word, of := m[1], m[2]; {
		case word == "RUN":
			got.began = got.began || of == top
		case of == name:
			got.end = word
		}
	}
	return got
}

// pattern returns the value of -test.run for exactly the test of this name.
func pattern(name string) string {
	steps := strings.Split(name, "/")
	for i, s := range steps {
		steps[i] = "^" + regexp.QuoteMeta(s) + "$"
	}
	return strings.Join(steps, "/")
}

// judge returns the verdict of a test that ran on the mutant of a row.
func judge(row *row, got *ran) verdict {
	switch {
	case got.timedOut && row.change.hangs:
		return verdict{killed, fmt.Sprintf("it did not end in %.0f s", got.took.Seconds())}
	case got.timedOut:
		return verdict{broken, fmt.Sprintf("the test did not end in %.0f s, and the row does not say that it hangs", got.took.Seconds())}
	case got.fine && got.end == "PASS":
		return verdict{outcome: survived}
	case got.fine:
		return verdict{broken, "the test did not run on the mutant"}
	case !got.began:
		return verdict{broken, "the test binary failed before the test began: " + got.why()}
	default:
		return verdict{killed, got.why()}
	}
}

// lines returns the output of the test and the program, without the lines of package testing.
func (got *ran) lines() []string {
	var lines []string
	for line := range strings.SplitSeq(got.output, "\n") {
		if !strings.HasPrefix(line, "\x16") {
			lines = append(lines, line)
		}
	}
	return lines
}

// why returns the beginning of the output.
func (got *ran) why() string { return brief(got.lines()) }

// brief joins the first few lines that are not empty.
func brief(lines []string) string {
	const most, longest = 4, 400
	var some []string
	for _, line := range lines {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && !strings.HasPrefix(line, "#") && len(some) < most {
			some = append(some, line)
		}
	}
	text := []rune(strings.Join(some, " / "))
	return string(text[:min(len(text), longest)])
}

// head keeps the beginning of its input, and discards the rest.
type head struct {
	limit int
	text  strings.Builder
}

func (h *head) Write(p []byte) (int, error) {
	h.text.Write(p[:min(len(p), h.limit-h.text.Len())])
	return len(p), nil
}
