//go:build unix

package mcptoolset_test

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
)

func TestStubborn(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	config := command(t, "stubborn")
	config.Logger = zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.DebugLevel)
	set := open(t, config)
	result(t, named(t, set, "echo"), map[string]any{"text": "x"})
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(log.String())
	if found == nil {
		t.Fatalf("no id in the log:\n%s", log.String())
	}
	pid, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after Close, the process is still there: %v", err)
	}
	if _, err := set.Tools(nil); err == nil {
		t.Error("a closed toolset has tools")
	}
}
