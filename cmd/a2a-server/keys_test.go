//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// site is a folder in which servers run, one after the other, with one configuration.
type site struct {
	t            *testing.T
	data, config string
}

func newSite(t *testing.T, config string) *site {
	t.Helper()
	s := &site{t: t, data: t.TempDir(), config: filepath.Join(t.TempDir(), "a2a-server.yaml")}
	s.configure(config)
	return s
}

// configure replaces the configuration.
func (s *site) configure(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// start starts a server, which has to listen. crashAt may be empty.
func (s *site) start(crashAt string, flags ...string) *served {
	s.t.Helper()
	p := startProcess(s.t, crashAt, append(flags, "--data", s.data, "--config", s.config)...)
	s.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	if p.url == "" {
		s.t.Fatalf("the server does not start: %v\n%s", p.err, p.said())
	}
	return &served{p, s.t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}}
}

// served is a server that listens.
type served struct {
	*process
	t      *testing.T
	client *http.Client
}

// ask makes a task that has to be approved, with a webhook unless it is "", and returns its id.
func (s *served) ask(key, webhook string) string {
	s.t.Helper()
	configuration := "{}"
	if webhook != "" {
		configuration = `{"taskPushNotificationConfig":{"id":"hook","url":"` + webhook + `"}}`
	}
	resp := s.call(key, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m`+webhook+`","role":"ROLE_USER","parts":[{"text":"/transfer_money amount=5 to=bob"}]},"configuration":`+configuration+`}}`)
	var answer struct {
		Result struct{ Task struct{ ID string } }
	}
	err := json.NewDecoder(resp.Body).Decode(&answer)
	_ = resp.Body.Close() // it was read
	if err != nil || answer.Result.Task.ID == "" {
		s.t.Fatalf("a send = %d, %v", resp.StatusCode, err)
	}
	return answer.Result.Task.ID
}

// keysIn is the configuration of a server with a file of API keys.
func keysIn(file string) string { return "auth: {keys: {file: " + strconv.Quote(file) + "}}\n" }

// command runs the program, and returns what it prints to stdout.
func command(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary(t), args...)
	return strings.TrimSuffix(output(t, c), "\n")
}

// output runs a command, and returns what it prints to stdout.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s%s", c.Args, err, out, problems.String())
	}
	return string(out)
}

// call sends a request with a key. The caller closes the body.
func (s *served) call(key, body string) *http.Response {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}, "X-Api-Key": {key}}
	resp, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// status returns the status of the answer to a caller who lists tasks.
func (s *served) status(key string) int {
	s.t.Helper()
	resp := s.call(key, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
	if err := resp.Body.Close(); err != nil {
		s.t.Error(err)
	}
	return resp.StatusCode
}

// follow opens the stream of a new task that waits for a decision.
func (s *served) follow(key string) io.ReadCloser {
	s.t.Helper()
	stream := s.call(key, `{"jsonrpc":"2.0","id":2,"method":"SubscribeToTask","params":{"id":"`+s.ask(key, "")+`"}}`).Body
	if _, err := io.ReadFull(stream, make([]byte, 10)); err != nil {
		s.t.Fatalf("the stream begins with %v", err)
	}
	return stream
}

// hangup makes the server reload, and waits for what the log says about it the nth time.
func (s *served) hangup(says string, n int) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	s.waitFor(says, n)
}

// waitFor waits until the log has said something n times.
func (s *served) waitFor(says string, n int) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); strings.Count(s.said(), says) < n; {
		if s.dead() || time.Now().After(deadline) {
			s.t.Fatalf("the log does not have %q %d times: %s", says, n, s.said())
		}
		resp, err := s.client.Get(s.url + "/.well-known/agent-card.json") //nolint:noctx // it takes a moment
		if err != nil {
			s.t.Fatal(err)
		}
		_ = resp.Body.Close() // nobody reads it
	}
}

const (
	reloaded    = "were reloaded"
	notReloaded = "the configuration was not reloaded and stays as it was; keys and certificates are reloaded separately"
)

// Commands that run at once lose no key, a hangup makes the server know what they did and
// ends what a key that was revoked has opened, and a file that is not valid changes nothing.
func TestKeysWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	alice := command(t, "keys", "add", "alice", "--role", "requester", "--file", file)
	s := newSite(t, keysIn(file)).start("")
	stream := s.follow(alice)
	defer func() { _ = stream.Close() }() // it was read
	keys := [5]string{4: alice}
	var adding sync.WaitGroup
	for i := range 4 {
		adding.Go(func() {
			keys[i] = command(t, "keys", "add", fmt.Sprintf("k%d", i), "--role", "requester", "--file", file)
		})
	}
	adding.Wait()
	if got := s.status(keys[0]); got != http.StatusUnauthorized {
		t.Errorf("before a hangup a new key is answered with %d", got)
	}
	s.hangup(reloaded, 1)
	for _, key := range keys {
		if got := s.status(key); got != http.StatusOK {
			t.Errorf("a key is answered with %d, want 200", got)
		}
	}

	command(t, "keys", "revoke", "alice", "--file", file)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	try := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(text string, mode os.FileMode) {
		t.Helper()
		try(os.RemoveAll(file), os.WriteFile(file, []byte(text), mode), os.Chmod(file, mode))
	}
	half, _, _ := strings.Cut(string(good), "k2")
	failed := 0
	for name, spoil := range map[string]func(){
		"removed":     func() { try(os.RemoveAll(file)) },
		"empty":       func() { replace("", 0o600) },
		"half":        func() { replace(half, 0o600) },
		"not text":    func() { replace("\x00\xff", 0o600) },
		"two of k1":   func() { replace(string(good)+strings.ReplaceAll(half, "alice", "k1"), 0o600) },
		"for all":     func() { replace(string(good), 0o644) },
		"a folder":    func() { try(os.RemoveAll(file), os.Mkdir(file, 0o700)) },
		"a pipe":      func() { try(os.RemoveAll(file), syscall.Mkfifo(file, 0o600)) },
		"a dead link": func() { try(os.RemoveAll(file), os.Symlink("nowhere", file)) },
	} {
		spoil()
		failed++
		s.hangup(notReloaded, failed)
		for _, key := range []string{alice, keys[3]} {
			if got := s.status(key); got != http.StatusOK {
				t.Errorf("%s: a key is answered with %d, want 200 as before", name, got)
			}
		}
	}
	replace(string(good), 0o600)
	s.hangup(reloaded, 2)
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("the stream of a key that was revoked ends with %v", err)
	}
	if got := s.status(alice); got != http.StatusUnauthorized {
		t.Errorf("a key that was revoked is answered with %d", got)
	}
	if got := s.status(keys[3]); got != http.StatusOK {
		t.Errorf("another key is answered with %d", got)
	}
	for _, key := range keys {
		if strings.Contains(s.said(), key[len(key)-20:]) {
			t.Errorf("the log has the secret of a key: %s", s.said())
		}
	}
	if s.end(syscall.SIGTERM); s.err != nil {
		t.Errorf("ended with %v\n%s", s.err, s.said())
	}
}

// The commands of docs/keys.md do what it says, on the folders that it names.
func TestKeysDocument(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, rest := range strings.Split(string(doc), shellFence)[1:] {
		commands, _, _ := strings.Cut(rest, "```\n")
		blocks = append(blocks, commands)
	}
	if len(blocks) != 2 {
		t.Fatalf("docs/keys.md has %d blocks of shell, want those of API keys and of the server's own", len(blocks))
	}
	root := t.TempDir()
	file := filepath.Join(root, "etc", "a2a-server", "keys.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	first := command(t, "keys", "add", "first", "--role", "requester", "--file", file)
	place := newSite(t, keysIn(file))
	s := place.start("")
	run := func(commands string) (stdout string) {
		t.Helper()
		commands = strings.NewReplacer("/etc/", root+"/etc/", "/var/lib/a2a-server", place.data).Replace(commands)
		c := exec.CommandContext(t.Context(), "sh", "-euc", `systemctl() { [ "$1 $2" = "restart a2a-server" ] && kill -HUP "$SERVER"; }`+"\n"+commands)
		c.Env = append(os.Environ(), "SERVER="+strconv.Itoa(s.cmd.Process.Pid), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"))
		return output(t, c)
	}
	printed := regexp.MustCompile(`(?m)^a2ak_([a-z]+)_[0-9A-Za-z]{49}$`).FindAllStringSubmatch(run(blocks[0]), -1)
	if len(printed) != 2 || printed[0][1] != "alice" || printed[1][1] != "ci" {
		t.Fatalf("the keys %q were printed, want those of alice and ci", printed)
	}
	s.waitFor(reloaded, 1)
	if alice, ci := s.status(printed[0][0]), s.status(printed[1][0]); alice != http.StatusOK || ci != http.StatusUnauthorized {
		t.Errorf("alice is answered with %d and ci with %d, want 200, and 401 after it was revoked", alice, ci)
	}
	if out := run(blocks[1]); strings.Count(out, "agent-card: a new key is in use") != 2 {
		t.Errorf("signing rotate prints %q", out)
	}
	// What scanners look for, and the example of a file.
	_, rest, _ := strings.Cut(string(doc), "`a2ak_")
	form, _, _ := strings.Cut(rest, "`")
	if !regexp.MustCompile("^a2ak_" + form + "$").MatchString(first) {
		t.Errorf("%q does not match a2ak_%s of docs/keys.md", first, form)
	}
	_, rest, _ = strings.Cut(string(doc), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := command(t, "keys", "list", "--file", file); !regexp.MustCompile(`(?m)^alice +person +corp:9f1c8a3e-[0-9a-f-]+ +acme +requester,approver +2026-11-22 +2027-02-20 +revoked$`).MatchString(list) {
		t.Errorf("the example of docs/keys.md is listed as %s", list)
	}
}
