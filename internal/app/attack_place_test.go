package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"a2a-server/internal/app/cli"
)

// A command of this machine contacts the configured server and no other: where a key of its place is
// misspelled, or stands below another, the default would be another server.
func TestAttackPlaceOfAMisspelledKey(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("Authorization") }))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for name, text := range map[string]string{
		"listen":                    "lisen: " + host + "\n",
		"listen below another":      "auth:\n  listen: " + host + "\n",
		"listen of a merge":         "x: &x {listen: " + host + "}\n<<: *x\n",
		"tls, the credential leaks": "listen: " + host + "\ntsl: {cert: t.crt, key: t.key}\n",
	} {
		file := write(t, "a.yaml", text)
		runs(t, map[string]commandLine{
			name + ", health": {args: "health --config " + file, code: cli.ExitUsage, stderr: []string{`configuration is invalid`}},
			name + ", list": {
				args: "approvals list --config " + file, env: []string{"A2A_SERVER_TOKEN=secret"}, code: cli.ExitUsage, stderr: []string{`configuration is invalid`},
			},
		})
	}
	t.Cleanup(func() {
		for len(asked) > 0 {
			if sent := <-asked; sent != "" {
				t.Errorf("an http server got %q", sent)
			}
		}
	})
}
