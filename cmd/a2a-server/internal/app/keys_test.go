package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/cli"
)

// keyFixture runs the commands on a file of keys.
type keyFixture struct {
	t    *testing.T
	file string
	env  []string
}

func newKeyFixture(t *testing.T) *keyFixture {
	t.Helper()
	return &keyFixture{t: t, file: filepath.Join(t.TempDir(), "keys.yaml")}
}

func (d *keyFixture) run(args ...string) (code int, stdout, stderr string) {
	d.t.Helper()
	var out, problems bytes.Buffer
	code = Run(d.t.Context(), args, d.env, nil, &out, &problems)
	return code, out.String(), problems.String()
}

// must is run for a command that succeeds.
func (d *keyFixture) must(args ...string) (stdout, stderr string) {
	d.t.Helper()
	code, stdout, stderr := d.run(append(args, "--file", d.file)...)
	if code != cli.ExitOK {
		d.t.Fatalf("%v exits with %d: %s", args, code, stderr)
	}
	return stdout, stderr
}

var printedKey = regexp.MustCompile(`^a2ak_([a-z0-9.-]+)_[0-9A-Za-z]{49}\n$`)

// From nothing to callers with names, and back.
func TestKeys(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	alice, how := d.must("keys", "add", "alice", "--role", "requester", "--role", "admin", "--person", "corp:alice", "--expires", "90d")
	if !printedKey.MatchString(alice) {
		t.Errorf("stdout is %q, want the key and nothing else", alice)
	}
	look(t, "stderr", how, []string{`only time`, `X-API-Key: <the key>`, `SIGHUP`, `It ends on `, `only you can read it`})
	ci, how := d.must("keys", "add", "ci", "--kind=service", "--role", "requester", "--tenant", "acme", "--rule-role", "sre")
	if strings.Contains(how, "The file is new") || strings.Contains(how, "It ends") {
		t.Errorf("stderr is %s", how)
	}
	a, err := apikey.New(apikey.Config{File: d.file, Tenant: "home"})
	if err != nil {
		t.Fatal(err)
	}
	caller := func(key string) (auth.Principal, error) {
		return a.Authenticate(t.Context(), &auth.Credentials{Header: func(string) []string { return []string{strings.TrimSuffix(key, "\n")} }})
	}
	by, err := caller(alice)
	if left := time.Until(by.Expires); err != nil || by.Subject != "key:alice" || by.Tenant != "home" || by.Person != "corp:alice" || len(by.Roles) != 2 || left < 89*24*time.Hour || left > 90*24*time.Hour {
		t.Errorf("alice is %+v, %v", by, err)
	}
	if by, err := caller(ci); err != nil || by.Kind != auth.KindService || by.Tenant != "acme" || !by.Has("sre") || !by.Expires.IsZero() {
		t.Errorf("ci is %+v, %v", by, err)
	}
	_, how = d.must("keys", "revoke", "ci")
	look(t, "stderr", how, []string{`^ci is revoked`, `SIGHUP`})
	table, _ := d.must("keys", "list", "-o", "table")
	look(t, "the list", table, []string{
		`(?m)^ID +KIND +PERSON +TENANT +ROLES +CREATED +EXPIRES +STATE$`,
		`(?m)^alice +person +corp:alice +– +requester,admin +\S+ +\S+ +valid$`,
		`(?m)^ci +service +– +acme +requester,sre +\S+ +– +revoked$`,
	})
	text, _ := d.must("keys", "list", "-o", "json")
	var all []struct {
		State   string
		Revoked time.Time
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 2 || all[0].State != "valid" || all[1].State != "revoked" || all[1].Revoked.IsZero() {
		t.Errorf("the list as JSON is %s: %v", text, err)
	}
	file, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{alice, ci} {
		if secret := key[len(key)-21 : len(key)-1]; strings.Contains(table+text+string(file), secret) {
			t.Errorf("the secret of %s can be seen", key)
		}
	}
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := caller(ci); err == nil {
		t.Error("the key that was revoked is valid")
	}
	d.must("keys", "add", "day", "--role", "viewer", "--tenant", "acme", "--expires", "2999-01-31")
	d.must("keys", "add", "hours", "--role", "viewer", "--tenant", "acme", "--expires", "1h30m")
	ending, _ := d.must("keys", "list")
	look(t, "the list", ending, []string{`(?m)^day .* 2999-01-31 +valid$`, `(?m)^hours .*\d +valid$`})
	again, _ := d.must("keys", "add", "ci", "--role", "viewer", "--tenant", "acme", "--replace")
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if by, err := caller(again); err != nil || !by.Has("viewer") || by.Kind != auth.KindPerson {
		t.Errorf("the new key is of %+v, %v", by, err)
	}
}

func TestKeysRefuse(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	d.must("keys", "add", "alice", "--role", "requester")
	broken := write(t, "keys.yaml", "- id: alice\n")
	open := write(t, "keys.yaml", "[]\n")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	file := " --file " + d.file
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"keys":                                                       {cli.ExitUsage, `keys takes one of add, list, revoke`},
		"keys ad":                                                    {cli.ExitUsage, `did you mean add\?`},
		"keys add" + file:                                            {cli.ExitUsage, `keys add takes the id of one key`},
		"keys add a b --role admin":                                  {cli.ExitUsage, `keys add takes the id of one key`},
		"keys add bob" + file:                                        {cli.ExitUsage, `without a role may do nothing: add --role with one of requester`},
		"keys add bob --role x" + file:                               {cli.ExitUsage, `there is no role "x"; known are requester, viewer, approver, operator, admin; .*--rule-role`},
		"keys add bob --role Approvers" + file:                       {cli.ExitUsage, `did you mean approver\?`},
		"keys add bob --rule-role admin" + file:                      {cli.ExitUsage, `give it with --role`},
		"keys add Bob --role admin" + file:                           {cli.ExitUsage, `lower-case`},
		"keys add bob --role admin --kind robot" + file:              {cli.ExitUsage, `--kind is "robot": write person or service`},
		"keys add bob --role admin --expires soon" + file:            {cli.ExitUsage, `--expires is "soon": write a duration`},
		"keys add bob --role admin --expires -1d" + file:             {cli.ExitUsage, `--expires is "-1d"`},
		"keys add bob --role admin --expires 99999d" + file:          {cli.ExitUsage, `--expires is "99999d"`},
		"keys add bob --role admin --expires 1.5d" + file:            {cli.ExitUsage, `--expires is "1.5d"`},
		"keys add bob --role admin --expires 90" + file:              {cli.ExitUsage, `--expires is "90"`},
		"keys add bob --role admin --expires 0d" + file:              {cli.ExitUsage, `has passed`},
		"keys add bob --role admin --expires 2020-01-31" + file:      {cli.ExitUsage, `has passed`},
		"keys add bob --role admin --tenant= --person=\u202e" + file: {cli.ExitFailure, `invisible characters`},
		"keys add alice --role admin" + file:                         {cli.ExitFailure, `already exists: alice in .*, line 3: choose another id or.*--replace`},
		"keys add bob --role admin":                                  {cli.ExitUsage, `--file, or set auth\.keys\.file`},
		"keys add bob --role admin --file " + broken:                 {cli.ExitFailure, `keys\.yaml:1:\d+: \[0\]\.sha256: is missing`},
		"keys add bob --role admin --file " + open:                   {cli.ExitFailure, `chmod 600`},
		"keys add bob --role admin --file /nowhere/keys.yaml":        {cli.ExitFailure, `/nowhere`},
		"keys list --file /nowhere.yaml":                             {cli.ExitFailure, `correct auth\.keys\.file or --file, or create the file with a2a-server keys add`},
		"keys list --file " + broken:                                 {cli.ExitFailure, `is missing`},
		"keys list -o yaml" + file:                                   {cli.ExitUsage, `no form of output`},
		"keys revoke" + file:                                         {cli.ExitUsage, `keys revoke takes the id`},
		"keys revoke alise" + file:                                   {cli.ExitFailure, `did you mean alice\?`},
		"keys revoke alice --file /nowhere.yaml":                     {cli.ExitFailure, `correct auth\.keys\.file or --file, or create the file with a2a-server keys add`},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := d.run(strings.Fields(args)...)
			if code != want.code || stdout != "" {
				t.Errorf("exits with %d, want %d, and prints %q", code, want.code, stdout)
			}
			look(t, "stderr", stderr, []string{want.says})
		})
	}
	t.Cleanup(func() {
		if after, err := os.ReadFile(d.file); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the file was changed: %v", err)
		}
	})
}

// The configuration says which file it is, and which header.
func TestKeysOfTheConfiguration(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	conf := write(t, "a2a-server.yaml", "auth: {keys: {file: "+d.file+", header: X-Team-Key}}\n")
	d.env = []string{"A2A_SERVER_CONFIG=" + conf}
	secret := filepath.Join(t.TempDir(), "alice.key")
	if code, _, says := d.run("keys", "add", "alice", "--role", "requester", "--file", "/nowhere/keys.yaml", "--key-file", secret); code != cli.ExitFailure {
		t.Errorf("exits with %d: %s", code, says)
	}
	if code, stdout, says := d.run("keys", "add", "bob", "--role", "requester", "--key-file", secret); code != cli.ExitOK || stdout != "" {
		t.Errorf("after a failure exits with %d, and prints %q: %s", code, stdout, says) // a file that the failure left would be refused
	}
	text, err := os.ReadFile(secret)
	if info, statErr := os.Stat(secret); err != nil || statErr != nil || !printedKey.Match(text) || info.Mode() != 0o600 {
		t.Errorf("the file of the key has %q and mode %v: %v", text, info.Mode(), err)
	}
	if code, _, says := d.run("keys", "add", "eve", "--role", "admin", "--key-file", secret); code != cli.ExitUsage || !strings.Contains(says, "which exists: name a new file") {
		t.Errorf("with a file that exists it exits with %d: %s", code, says)
	}
	code, key, how := d.run("keys", "add", "alice", "--role", "admin")
	if code != cli.ExitOK || !printedKey.MatchString(key) {
		t.Fatalf("exits with %d: %s", code, how)
	}
	look(t, "stderr", how, []string{`X-Team-Key: <the key>`})
	if code, list, _ := d.run("keys", "list", "--config", conf); code != cli.ExitOK || !strings.Contains(list, "alice") {
		t.Errorf("exits with %d: %s", code, list)
	}
	d.env = []string{"A2A_SERVER_CONFIG=/nowhere.yaml"}
	if code, _, how := d.run("keys", "list"); code != cli.ExitUsage {
		t.Errorf("exits with %d: %s", code, how)
	}
	if code, _, how := d.run("keys", "list", "--file", d.file); code != cli.ExitOK {
		t.Errorf("a file that is named needs no configuration: %d: %s", code, how)
	}
}

// A key whose roles have no effect without a tenant is not added without one; roles that nothing names are a warning.
func TestKeysNeedATenant(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	none := write(t, "without.yaml", "auth: {keys: {file: "+d.file+"}}\n")
	for args, says := range map[string]string{
		"a --role viewer,requester,approver --config " + none: "its roles viewer, approver: add --tenant, or set auth.tenant",
		"b --role operator --file " + d.file:                  "its roles operator: add --tenant, or name the configuration of the server.*--config",
	} {
		if code, key, how := d.run(append([]string{"keys", "add"}, strings.Fields(args)...)...); code != cli.ExitUsage || key != "" || !regexp.MustCompile(says).MatchString(how) {
			t.Errorf("%s: exits with %d: %q %q, want %q", args, code, key, how, says)
		}
	}
	if _, err := os.Stat(d.file); err == nil {
		t.Error("a key was added")
	}
	_, _, says := d.run("config", "check", "--config", none)
	look(t, "config check", says, []string{`without\.yaml:1:21: auth\.keys\.file: no API key file at .*: correct auth\.keys\.file`})
	conf := write(t, "a2a-server.yaml", "auth: {tenant: acme, keys: {file: "+d.file+"}}\ngates: [{tool: '*', approvers: {roles: [sre]}}]\n")
	for args, says := range map[string]string{
		"e --role viewer --tenant acme": "", "c --role admin --role requester": "", "d --role viewer --rule-role sre --config " + conf: "",
		"f --role viewer --rule-role aprover --config " + conf: "the role aprover has no effect: it grants nothing, and no gate or tool names it; did you mean approver?",
	} {
		if _, how := d.must(append([]string{"keys", "add"}, strings.Fields(args)...)...); strings.Contains(how, "no effect") != (says != "") || !strings.Contains(how, says) {
			t.Errorf("%s: stderr is %q, want %q", args, how, says)
		}
	}
	known, _ := d.must("keys", "list", "--config", conf)
	alone, _ := d.must("keys", "list")
	look(t, "the list with the configuration", known, []string{`(?m)^c +person +– +acme +`})
	look(t, "the list of the file alone", alone, []string{`(?m)^c +person +– +– +`})
}

// What people type, and what is in files, does not reach a terminal as control characters.
func TestErrorsHideNothing(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	hostile := write(t, "keys.yaml", "- {id: a, sha256: \"\\e[2J\", kind: \"\\e[2J\", person: \"a\\u202eb\", \"x\\e[2J\": 1}\n")
	for _, args := range [][]string{
		{"keys", "list", "--file", "/nowhere/\x1b[2J.yaml"},
		{"keys", "list", "--file", hostile},
		{"keys", "add", "a", "--role", "admin", "--file", "/nowhere/\x1b[2J.yaml"},
		{"keys", "add", "\x1b[2J", "--role", "admin", "--file", d.file},
		{"keys", "add", "a", "--role", "\x1b[2J", "--file", d.file},
		{"keys", "revoke", "\x1b[2J", "--file", "/nowhere/\x1b[2J.yaml"},
		{"keys", "\x1b[2J"},
		{"signing", "rotate", "--data", "/nowhere/\x1b[2J"},
		{"--\x1b[2J"},
	} {
		code, stdout, stderr := d.run(args...)
		if code == cli.ExitOK || stdout != "" || strings.ContainsAny(stderr, "\x1b\u202e") {
			t.Errorf("%q exits with %d: %q", args, code, stderr)
		}
	}
}

// brokenPipe fails each write.
type brokenPipe struct{ io.Writer }

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// A key that was not printed is lost, and the message says what to do.
func TestKeyThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	var problems bytes.Buffer
	if code := Run(t.Context(), []string{"keys", "add", "alice", "--role", "admin", "--file", d.file}, nil, nil, brokenPipe{}, &problems); code != cli.ExitFailure {
		t.Errorf("exits with %d", code)
	}
	look(t, "stderr", problems.String(), []string{`--replace: broken pipe`})
}

func TestKeysComplete(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	d.must("keys", "add", "alice", "--role", "admin")
	d.must("keys", "add", "bob", "--role", "admin")
	d.must("keys", "revoke", "bob")
	for args, want := range map[string]string{
		"keys add x --role a":                 "requester\nviewer\napprover\noperator\nadmin\n:4", // the shell selects
		"keys add x --kind ser":               "person\nservice\n:4",
		"keys revoke --file " + d.file + " b": "alice\n:4",
		"keys revoke --file /nowhere.yaml a":  ":4",
		"signing rotate --purpose agent":      "agent-card\n",
	} {
		if _, got, _ := d.run(append([]string{"__complete"}, strings.Fields(args)...)...); !strings.HasPrefix(got, want) {
			t.Errorf("%s is completed by %q, want %q", args, got, want)
		}
	}
}

// A server makes its keys when it starts; the command makes new ones.
func TestSigningRotate(t *testing.T) {
	t.Parallel()
	d := newKeyFixture(t)
	data := t.TempDir()
	if code, _, stderr := d.run("signing", "rotate", "--data", data); code != cli.ExitFailure || !strings.Contains(stderr, "makes it when it starts") {
		t.Errorf("before a server has started it exits with %d: %s", code, stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it ends as soon as it has started
	var out bytes.Buffer
	if code := Run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", data}, nil, nil, &out, &out); code != cli.ExitOK {
		t.Fatalf("serve exits with %d: %s", code, out.String())
	}
	file := filepath.Join(data, "keys", "agent-card.json")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := d.run("signing", "rotate", "--data", data)
	if code != cli.ExitOK {
		t.Fatalf("exits with %d: %s", code, stderr)
	}
	look(t, "stdout", stdout, []string{`^agent-card: a new key is in use; values from the old key are accepted until 2\d{3}-\d\d-\d\dT\S+Z\npush-secrets: a new key is in use; `})
	if after, err := os.ReadFile(file); err != nil || bytes.Equal(before, after) {
		t.Errorf("the file is as before: %v", err)
	}
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"signing": {cli.ExitUsage, `signing takes one of rotate`},
		"signing rotate --purpose agent-cards --data " + data: {cli.ExitUsage, `did you mean agent-card\?`},
		"signing rotate --purpose ../keys --data " + data:     {cli.ExitUsage, `there are no keys for "\.\./keys"`},
		"signing rotate --store memory --data " + data:        {cli.ExitUsage, `a restart makes new ones`},
		"signing rotate now":                                  {cli.ExitUsage, `signing rotate takes no "now"`},
	} {
		if code, _, stderr := d.run(strings.Fields(args)...); code != want.code || !regexp.MustCompile(want.says).MatchString(stderr) {
			t.Errorf("%s exits with %d: %s", args, code, stderr)
		}
	}
}
