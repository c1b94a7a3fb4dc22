package app

import (
	"net"
	"strings"
	"testing"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
)

// Problems of other keys are no error of health, and a server that others reach keeps running while its
// auth is edited.
func TestAttackHealthWhileAuthIsEdited(t *testing.T) {
	t.Parallel()
	running := a2aservertest.New(t, a2aserver.Config{})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(running.URL, "http://"))
	file := write(t, "a.yaml", "listen: 0.0.0.0:"+port+"\nauth: {keys: {fil: keys.yaml}}\n")
	runs(t, map[string]commandLine{
		"while auth is edited": {args: "health --config " + file, stdout: []string{`^ready\n$`}},
	})
}
