package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// systemd finds nothing wrong with the unit, and nothing that it should not be able to do.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze := find(t, "systemd-analyze", "systemd")
	text := read(t, "a2a-server.service")
	unit := filepath.Join(t.TempDir(), "a2a-server.service")
	if err := os.WriteFile(unit, []byte(replace(t, text, "ExecStart=a2a-server", "ExecStart="+program(t))), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := run(t, exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", unit)); code != 0 || said != "" {
		t.Errorf("systemd-analyze verify exits with %d:\n%s", code, said)
	}
	// Below 3 an exposure is "OK"; what is left is the network, which a server has to have.
	if said, code := run(t, exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold=30", unit)); code != 0 {
		t.Errorf("systemd-analyze security exits with %d:\n%s", code, said)
	}
	found := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(text)
	if found == nil {
		t.Fatal("the unit has no TimeoutStopSec")
	}
	if n, err := strconv.Atoi(found[1]); err != nil || time.Duration(n)*time.Second < defaultGrace+lastWords {
		t.Errorf("the server is killed after %s s, and needs up to %v", found[1], defaultGrace+lastWords)
	}
}
