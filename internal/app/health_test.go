package app

import (
	"bytes"
	"net"
	"strings"
	"testing"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
)

// What asks whether a server is ready says why it is not.
func TestHealth(t *testing.T) {
	t.Parallel()
	running := a2aservertest.New(t, a2aserver.Config{})
	stopping := a2aservertest.New(t, a2aserver.Config{})
	if err := stopping.Close(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	host := strings.TrimPrefix(running.URL, "http://")
	_, port, _ := net.SplitHostPort(host)
	file := write(t, "config.yaml", "listen: "+host+"\n")
	for name, c := range map[string]struct {
		args   string
		env    []string
		code   int
		stdout []string
		stderr []string
	}{
		"ready":                      {args: "health --url " + running.URL, stdout: []string{`^ready\n$`}},
		"ready at a path":            {args: "health --url " + running.URL + "/", stdout: []string{`^ready\n$`}},
		"where the file says":        {args: "health --config " + file, stdout: []string{`^ready\n$`}},
		"where the environment":      {args: "health", env: []string{"A2A_SERVER_LISTEN=" + host}, stdout: []string{`^ready\n$`}},
		"on every address":           {args: "health", env: []string{"A2A_SERVER_LISTEN=0.0.0.0:" + port, "A2A_SERVER_INSECURE_NO_AUTH=true"}, stdout: []string{`^ready\n$`}},
		"not ready":                  {args: "health --url " + stopping.URL, code: exitFailure, stderr: []string{`is not ready: 503 Service Unavailable: .*shutting down|is not running`}},
		"nobody there":               {args: "health --url http://" + gone.Addr().String(), code: exitFailure, stderr: []string{`is not ready: .*refused`}},
		"no answer":                  {args: "health --timeout 50ms --url http://" + silent.Addr().String(), code: exitFailure, stderr: []string{`no answer within 50ms`}},
		"something else":             {args: "health --url " + running.URL + "/tasks", code: exitFailure, stderr: []string{`is not ready: 404`}},
		"no URL":                     {args: "health --url " + host, code: exitUsage, stderr: []string{`not a URL: write it as http://`}},
		"no time":                    {args: "health --timeout 0s", code: exitUsage, stderr: []string{`--timeout is 0s: write a duration such as 3s`}},
		"any port":                   {args: "health", env: []string{"A2A_SERVER_LISTEN=127.0.0.1:0"}, code: exitUsage, stderr: []string{`--url`}},
		"with a wrong configuration": {args: "health", env: []string{"A2A_SERVER_LISTEN=nowhere"}, code: exitUsage, stderr: []string{`A2A_SERVER_LISTEN`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := Run(t.Context(), strings.Fields(c.args), c.env, &stdout, &stderr); code != c.code {
				t.Errorf("exits with %d, want %d", code, c.code)
			}
			look(t, "stdout", stdout.String(), c.stdout)
			look(t, "stderr", stderr.String(), c.stderr)
		})
	}
}
