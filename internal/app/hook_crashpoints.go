//go:build crashpoints && unix

package app

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// crashVariable names the point at which the process kills itself, and the hit at which
// it does so: "task.step:3". It exists only in builds for the crash suite.
const crashVariable = "A2A_SERVER_CRASH_AT"

// crashHook returns a function that kills the process at the point: nothing is flushed,
// nothing is closed. It removes its variable from p.env, because the configuration does not
// know it.
func (p *program) crashHook() (func(point string), error) {
	text := p.variable(crashVariable)
	p.env = slices.DeleteFunc(slices.Clone(p.env), func(line string) bool { return strings.HasPrefix(line, crashVariable+"=") })
	if text == "" {
		return nil, nil
	}
	at, count, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if !ok || err != nil || n < 1 {
		return nil, usage("%s is %q: write the point and a number from 1, such as task.step:3", crashVariable, text)
	}
	var hits atomic.Int64
	return func(point string) {
		if point == at && hits.Add(1) == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it is on its way
		}
	}, nil
}
