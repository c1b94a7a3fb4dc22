//go:build crashpoints && unix

package app

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"a2a-server/cmd/a2a-server/internal/cli"
)

// crashVariable names the point at which the process kills itself, and the hit at which
// it does so: "task.step:3". It exists only in builds for the crash suite.
const crashVariable = "A2A_SERVER_CRASH_AT"

// crashHook returns a function that kills the process at the point: nothing is flushed,
// nothing is closed. It removes its variable from p.Env, because the configuration does not
// know it.
func crashHook(p *cli.Program) (func(point string), error) {
	text := p.Variable(crashVariable)
	p.Env = slices.DeleteFunc(slices.Clone(p.Env), func(line string) bool { return strings.HasPrefix(line, crashVariable+"=") })
	if text == "" {
		return nil, nil
	}
	at, count, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if !ok || err != nil || n < 1 {
		return nil, cli.Usage("%s is %q: write the point and a number from 1, such as task.step:3", crashVariable, text)
	}
	var hits atomic.Int64
	return func(point string) {
		if point == at && hits.Add(1) == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it is on its way
		}
	}, nil
}
