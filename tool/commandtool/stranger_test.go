//go:build linux || darwin

package commandtool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"a2a-server/tool"
)

// A command has ended with a result before its time was over, and a child of it keeps the pipe open past that time: the result counts.
func TestStrangerChildKeepsThePipe(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a child":                "echo paid; sleep 30 & exit 0",
		"a child that ignores":   "echo paid; (trap '' TERM; sleep 30) & exit 0",
		"a child with a session": "echo paid; setsid sleep 5 & exit 0",
		"a failure":              "echo paid; sleep 30 & exit 3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(text)
			c.Timeout = time.Second
			began := time.Now()
			got := run(t.Context(), build(t, c), nil)
			t.Logf("after %v: %v, %v, %q", time.Since(began).Round(100*time.Millisecond), got.final, got.failed, got.out)
			if errors.Is(got.failed, tool.ErrOutcomeUnknown) || name != "a failure" && got.failed != nil || got.out != "paid\n" {
				t.Errorf("failed %v, published %q", got.failed, got.out)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		got := run(ctx, build(t, script("echo paid; sleep 30 & exit 0")), nil)
		if got.failed != nil {
			t.Errorf("failed %v", got.failed)
		}
	})
	t.Run("never ends", func(t *testing.T) {
		t.Parallel()
		c := script("trap '' TERM; echo begun; sleep 60 & wait; sleep 60; wait")
		c.Timeout = time.Second
		got := run(t.Context(), build(t, c), nil)
		if !errors.Is(got.failed, tool.ErrOutcomeUnknown) {
			t.Errorf("failed %v", got.failed)
		}
	})
}
