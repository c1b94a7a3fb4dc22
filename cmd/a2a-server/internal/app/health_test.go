package app

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"a2a-server/a2aservertest"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/internal/testserver"
)

// What asks whether a server is ready says why it is not.
func TestHealth(t *testing.T) {
	t.Parallel()
	running := a2aservertest.New(t, testserver.Config{}.Must(t))
	stopping := a2aservertest.New(t, testserver.Config{}.Must(t))
	if err := stopping.Close(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<h1>It works!</h1>") }))
	t.Cleanup(other.Close)
	rude := replies(t, "HTTP/1.1 503 \x1b[2J\r\nContent-Length: 4\r\n\r\nbusy")
	const nobody = "127.0.0.1:1" // a port that no server gets unless it asks for it
	host := strings.TrimPrefix(running.URL, "http://")
	_, port, _ := net.SplitHostPort(host)
	file := write(t, "config.yaml", "listen: "+host+"\n")
	edited := write(t, "edited.yaml", "listen: "+host+"\ngates: [{tool: pay, peeple: 2}]\npolicy: {files: [gone.yaml]}\nauth: {people: {bob: 7}}\n")
	encrypted := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	t.Cleanup(encrypted.Close)
	tlsFile := write(t, "tls.yaml", "listen: "+encrypted.Listener.Addr().String()+"\ntls: {cert: t.crt, key: t.key}\n")
	runs(t, map[string]commandLine{
		"ready":                      {args: "health --url " + running.URL, stdout: []string{`^ready\n$`}},
		"ready at a path":            {args: "health --url " + running.URL + "/", stdout: []string{`^ready\n$`}},
		"where the file says":        {args: "health --config " + file, stdout: []string{`^ready\n$`}},
		"while gates are edited":     {args: "health --config " + edited, stdout: []string{`^ready\n$`}},
		"where the environment":      {args: "health", env: []string{"A2A_SERVER_LISTEN=" + host}, stdout: []string{`^ready\n$`}},
		"on every address":           {args: "health", env: []string{"A2A_SERVER_LISTEN=0.0.0.0:" + port, "A2A_SERVER_INSECURE_NO_AUTH=true"}, stdout: []string{`^ready\n$`}},
		"on every address, IPv6 too": {args: "health", env: []string{"A2A_SERVER_LISTEN=[::]:" + port, "A2A_SERVER_INSECURE_NO_AUTH=true"}, stdout: []string{`^ready\n$`}},
		"with TLS":                   {args: "health --config " + tlsFile, stdout: []string{`^ready\n$`}},
		"with TLS of anybody":        {args: "health --url " + encrypted.URL, code: cli.ExitFailure, stderr: []string{`is not ready: .*certificate`}},
		"not ready":                  {args: "health --url " + stopping.URL, code: cli.ExitFailure, stderr: []string{`is not ready: 503 Service Unavailable: .*shutting down|is not running`}},
		"nobody there":               {args: "health --url http://" + nobody, code: cli.ExitFailure, stderr: []string{`is not ready: nothing listens there`}},
		"no answer":                  {args: "health --timeout 50ms --url http://" + silent.Addr().String(), code: cli.ExitFailure, stderr: []string{`no answer within 50ms`}},
		"something else":             {args: "health --url " + running.URL + "/tasks", code: cli.ExitFailure, stderr: []string{`is not ready: 404`}},
		"another server":             {args: "health --url " + other.URL, code: cli.ExitFailure, stderr: []string{`is not ready: it is no a2a-server, or something else answers for it: 200 OK: <h1>It works!</h1>`}},
		"what a screen obeys":        {args: "health --url " + rude, code: cli.ExitFailure, stderr: []string{`is not ready: 503 \\u001b\[2J: busy`}},
		"with a password":            {args: "health --url http://me:secret@" + nobody, code: cli.ExitFailure, stderr: []string{`http://me:xxxxx@127\.\S+ is not ready`}},
		"where the zone is named":    {args: "health", env: []string{"A2A_SERVER_LISTEN=[fe80::1%lo]:1", "A2A_SERVER_INSECURE_NO_AUTH=true"}, code: cli.ExitFailure, stderr: []string{`^a2a-server: http://\[fe80::1%25lo\]:1 is not ready: `}},
		"no URL":                     {args: "health --url " + host, code: cli.ExitUsage, stderr: []string{`not a URL: write it as http://`}},
		"no time":                    {args: "health --timeout 0s", code: cli.ExitUsage, stderr: []string{`--timeout is 0s: write a duration such as 3s`}},
		"any port":                   {args: "health", env: []string{"A2A_SERVER_LISTEN=127.0.0.1:0"}, code: cli.ExitUsage, stderr: []string{`--url`}},
		"with a wrong configuration": {args: "health", env: []string{"A2A_SERVER_LISTEN=nowhere"}, code: cli.ExitUsage, stderr: []string{`A2A_SERVER_LISTEN`}},
	})
}

// replies starts what answers the first connection with text, whatever is asked, and
// returns its URL.
func replies(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if err != nil {
			return // nobody has asked
		}
		_, _ = c.Read(make([]byte, 4<<10)) // else the answer may be reset with the connection
		_, _ = io.WriteString(c, text)
		_ = c.Close()
	}()
	return "http://" + l.Addr().String()
}

// Problems of other keys are no error of health, and a server that others reach keeps running while its
// auth is edited.
func TestHealthWhileAuthIsEdited(t *testing.T) {
	t.Parallel()
	running := a2aservertest.New(t, testserver.Config{}.Must(t))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(running.URL, "http://"))
	file := write(t, "a.yaml", "listen: 0.0.0.0:"+port+"\nauth: {keys: {fil: keys.yaml}}\n")
	runs(t, map[string]commandLine{
		"while auth is edited": {args: "health --config " + file, stdout: []string{`^ready\n$`}},
	})
}

// A command of this machine contacts the configured server and no other: where a key of its place is
// misspelled, or stands below another, the default would be another server.
func TestPlaceOfAMisspelledKey(t *testing.T) {
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
