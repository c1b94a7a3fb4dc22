package app

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
)

// write makes a file with this text.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// commandLine is a command line, separated by blanks, and what it does.
type commandLine struct {
	args   string
	env    []string
	code   int
	stdout []string // patterns
	stderr []string
}

// runs runs command lines at once.
func runs(t *testing.T, all map[string]commandLine) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := Run(t.Context(), strings.Fields(c.args), c.env, nil, &stdout, &stderr); code != c.code {
				t.Errorf("exits with %d, want %d", code, c.code)
			}
			look(t, "stdout", stdout.String(), c.stdout)
			look(t, "stderr", stderr.String(), c.stderr)
		})
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	file := write(t, "config.yaml", "agent: {name: from the file}\nlog: {level: warn}\n")
	wrong := write(t, "wrong.yaml", "listen: nowhere\nlog: {level: loud}\n")
	gates := write(t, "gates.yaml", "gates:\n  - tool: transfer_monney\n  - {tool: \"*_mony\", action: deny}\n")
	patterns := write(t, "patterns.yaml", "gates:\n  - tool: pay_*\n  - tool: transfer_*\n")
	spec := write(t, "spec.yaml", "openapi: 3.0.3\npaths:\n  /a: {get: {operationId: a}}\n  /b: {put: {operationId: b, requestBody: {content: {image/png: {}}}}}\n")
	document := write(t, "document.yaml", "tools:\n  - {openapi: x, spec: "+spec+", server: \"https://x.example\", only: [a, b]}\n")
	runs(t, map[string]commandLine{
		"nothing":          {code: cli.ExitUsage, stderr: []string{`^a2a-server: no command given\n\n(  \S[^\n]+\n){6}\n'a2a-server help' lists all commands[^\n]+\n$`}},
		"unknown command":  {args: "srve", code: cli.ExitUsage, stderr: []string{`no command "srve"`, `\nTry 'a2a-server help'\.\n$`}},
		"half a command":   {args: "config", code: cli.ExitUsage, stderr: []string{`config takes one of check, show`}},
		"other half":       {args: "config chek", code: cli.ExitUsage, stderr: []string{`no command 'config chek'; did you mean check\?`}},
		"misspelled":       {args: "srve --listen x", code: cli.ExitUsage, stderr: []string{`no command "srve"; did you mean serve\?`}},
		"no flag of a key": {args: "serve --limits-grace 3s", code: cli.ExitUsage, stderr: []string{`serve: there is no flag --limits-grace; set limits\.grace in the configuration file, or the variable A2A_SERVER_LIMITS_GRACE\n`}},
		"unknown flag":     {args: "serve --prot 1", code: cli.ExitUsage, stderr: []string{`serve: .*-prot`, `\nTry 'a2a-server help serve'\.\n$`}},
		"misspelled flag":  {args: "serve --listn 1", code: cli.ExitUsage, stderr: []string{`serve: there is no flag --listn; did you mean --listen\?`}},
		"one dash":         {args: "serve -listen=x", code: cli.ExitUsage, stderr: []string{`(?m)two dashes: --listen$`}},
		"unknown letter":   {args: "-v", code: cli.ExitUsage, stderr: []string{`(?m)^a2a-server: there is no flag -v$`}},
		"flag alone":       {args: "serve --listen", code: cli.ExitUsage, stderr: []string{`serve: --listen needs a value: host:port`}},
		"argument":         {args: "serve 8080", code: cli.ExitUsage, stderr: []string{`takes no "8080"`, `--listen`}},
		"flag of another":  {args: "version --listen x", code: cli.ExitUsage, stderr: []string{`version: .*-listen`}},

		"help":            {args: "help", stdout: []string{`(?s)\nStart: .*\n  serve .*\nDecide: .*\n  approvals approve .*\nOperate: .*\n  store backup .*\nDevelop: .*\n  tools list `, `(?m)^  serve `, `(?m)^  config check `, `(?m)^  health `, `(?m)^  completion `, `(?m)^  version `, `Exit codes`}},
		"--help":          {args: "--help", stdout: []string{`(?m)^  serve `}},
		"help serve":      {args: "help serve", stdout: []string{`(?m)^  --listen \(host:port\)$`, `A2A_SERVER_LISTEN,\s+default\s+127.0.0.1:8080\.`, `(?m)^  --config \(file\)$`}},
		"serve --help":    {args: "serve --help", stdout: []string{`(?m)^  --listen `}},
		"help check":      {args: "help config check", stdout: []string{`^a2a-server config check: .*\n\nUsage: a2a-server config check \[flags\]\n\n  --config \(file\)\n( {8}.*\n)+\nand the flags of the configuration: 'a2a-server help serve' lists them\n$`}},
		"help config":     {args: "help config", stdout: []string{`(?m)^  check +report `, `(?m)^  show `}},
		"help on nothing": {args: "help nothing", code: cli.ExitUsage, stderr: []string{`no help for "nothing"\nTry 'a2a-server help'\.`}},
		"version":         {args: "version", stdout: []string{`^a2a-server \S+ \((commit [0-9a-f]{12} of \S+, )?go1\.\S+, \w+/\w+\)\n$`}},
		"version as JSON": {args: "version -o json", stdout: []string{`"version": "\S+"`, `"go": "go1\.\S+"`, `"platform": "\w+/\w+"`}},
		"--version":       {args: "--version", stdout: []string{`^a2a-server `}},

		"shell":         {args: "completion bash", stdout: []string{`complete .*a2a-server`}},
		"no shell":      {args: "completion", code: cli.ExitUsage, stderr: []string{`completion takes one of bash, fish, powershell, zsh`}},
		"two shells":    {args: "completion bash zsh", code: cli.ExitUsage, stderr: []string{`completion bash takes no "zsh"\n`, `a2a-server help`}},
		"complete":      {args: "__complete serve --listen", stdout: []string{`(?m)^--listen\t`}, stderr: []string{`Completion ended`}},
		"complete help": {args: "__complete help con", stdout: []string{`^config\t[^\n]+\ncontext\t[^\n]+\n:`}, stderr: []string{`Completion ended`}},

		"check":                          {args: "config check", stdout: []string{`^the configuration is valid\n$`}},
		"check a wrong file":             {args: "config check --config " + wrong, code: cli.ExitUsage, stderr: []string{`wrong\.yaml:1:9: listen: `, `wrong\.yaml:2:14: log\.level: `}},
		"check everything":               {args: "config check --data= --config " + wrong, env: []string{"A2A_SERVER_STORE=tape"}, code: cli.ExitUsage, stderr: []string{`listen: `, `log\.level: `, `A2A_SERVER_STORE: `, `--data: `}},
		"check a file by name":           {args: "config check", env: []string{"A2A_SERVER_CONFIG=" + wrong}, code: cli.ExitUsage, stderr: []string{`wrong\.yaml:1:9`}},
		"check no file":                  {args: "config check --config /nowhere.yaml", code: cli.ExitUsage, stderr: []string{`/nowhere\.yaml`}},
		"check a gate of no tool":        {args: "config check --config " + gates, code: cli.ExitUsage, stderr: []string{`gates\.yaml:2:\d+: gates\[0\]\.tool: there is no tool "transfer_monney"; did you mean transfer_money\?\n`, `WRN .*gates\.yaml:3:\d+: gates\[1\]\.tool: no tool matches "\*_mony"`}},
		"serve with a gate of no tool":   {args: "serve --listen 127.0.0.1:0 --data " + t.TempDir() + " --config " + gates, code: cli.ExitUsage, stderr: []string{`did you mean transfer_money\?\n`}},
		"check a gate that does nothing": {args: "config check --config " + patterns, stdout: []string{`is valid`}, stderr: []string{`^\S+ WRN \S+patterns\.yaml:2:\d+: gates\[0\]\.tool: no tool matches "pay_\*", so that this gate does nothing\n$`}},
		"check a document":               {args: "config check --config " + document, stdout: []string{`is valid`}, stderr: []string{`^\S+ WRN openapi x \(\S+document\.yaml:2\): operation "b" \(PUT /b\) is not offered: [^\n]+\n$`}},
		"list the tools without a file":  {args: "tools list", stdout: []string{`(?m)^echo `}, stderr: []string{`^No configuration file was read \(--config or A2A_SERVER_CONFIG names it\); [^\n]+ not those of a running server:\n$`}},
		"list the tools of a document":   {args: "tools list --config " + document, stdout: []string{`(?m)^x_a `}, stderr: []string{`(?m)^1 problem: openapi x \(line 2\): operation "b" \(PUT /b\) is not offered: [^\n]+\n$`}},
		"check a wide network":           {args: "config check", env: []string{"A2A_SERVER_PUSH_ENABLED=true", "A2A_SERVER_PUSH_NETWORKS=10.0.0.0/8,0.0.0.0/0,::/0"}, stdout: []string{`is valid`}, stderr: []string{`^\S+ WRN push\.networks: with 0\.0\.0\.0/0 and ::/0 webhooks may reach [^\n]+\n$`}},
		"check a network":                {args: "config check", env: []string{"A2A_SERVER_PUSH_ENABLED=true", "A2A_SERVER_PUSH_NETWORKS=10.0.0.0/8"}, stdout: []string{`is valid`}},
		"check a variable":               {args: "config check", env: []string{"A2A_SERVER_LISTN=x"}, code: cli.ExitUsage, stderr: []string{`A2A_SERVER_LISTN`, `A2A_SERVER_LISTEN`}},

		"command after --":          {args: "-- serve", code: cli.ExitUsage, stderr: []string{`^a2a-server: serve comes after --, where no command is read; remove the --\n`}},
		"command after --, below":   {args: "config -- check", code: cli.ExitUsage, stderr: []string{`check comes after --, where no command is read; remove the --\n`}},
		"dashes before an argument": {args: "tools call echo --text=x", code: cli.ExitUsage, stderr: []string{`there is no flag --text; an argument of the tool has no dashes: text=VALUE\n`}},
		"show":                      {args: "config show --config " + file, stdout: []string{`(?m)name: from the file #.*config\.yaml:1`, `(?m)level: warn #`, `(?m)^listen: 127\.0\.0\.1:8080 # default$`}},
		"a list twice":              {args: "config show --allowed-hosts a --allowed-hosts b,c", stdout: []string{`(?m)^allowed_hosts: \[a, b, c\] # flag --allowed-hosts$`}},
		"flag over env":             {args: "config show --log-level debug --config " + file, env: []string{"A2A_SERVER_LOG_LEVEL=error"}, stdout: []string{`level: debug #`}},
		"env over file":             {args: "config show --config " + file, env: []string{"A2A_SERVER_LOG_LEVEL=error"}, stdout: []string{`level: error #`}},
		"flag names file":           {args: "config show --config " + file, env: []string{"A2A_SERVER_CONFIG=" + wrong}, stdout: []string{`from the file`}},
		"switch":                    {args: "config show --insecure-no-auth", env: []string{"A2A_SERVER_IDEMPOTENCY=false"}, stdout: []string{`insecure_no_auth: true #`, `idempotency: false #`}},
		"show wrong":                {args: "config show --log-level loud", code: cli.ExitUsage, stderr: []string{`--log-level`}},
		"serve wrong":               {args: "serve --listen nowhere --log-level loud", code: cli.ExitUsage, stderr: []string{`--listen`, `--log-level`}},
		"serve in public":           {args: "serve --listen 0.0.0.0:0", code: cli.ExitUsage, stderr: []string{`insecure_no_auth`}},
		"address is taken":          {args: "serve --store memory --listen " + taken.Addr().String() + " --data " + t.TempDir(), code: cli.ExitFailure, stderr: []string{`choose another address`}},
		"demo with a file":          {args: "serve --demo --config " + file, code: cli.ExitUsage, stderr: []string{`--demo takes no configuration, and --config or A2A_SERVER_CONFIG is set: remove it`}},
		"demo with a named file":    {args: "serve --demo", env: []string{"A2A_SERVER_CONFIG=" + file}, code: cli.ExitUsage, stderr: []string{`--demo takes no configuration`}},
		"demo with keys":            {args: "serve --demo", env: []string{"A2A_SERVER_AUTH_TENANT=a", "A2A_SERVER_PLANNER_KIND=direct"}, code: cli.ExitUsage, stderr: []string{`and auth\.tenant, planner\.kind is set`}},
		"demo in public":            {args: "serve --demo --listen 0.0.0.0:0 --insecure-no-auth", code: cli.ExitUsage, stderr: []string{`insecure_no_auth is set`}},
		"no data folder":            {args: "serve --listen 127.0.0.1:0 --data " + file, code: cli.ExitFailure, stderr: []string{`data folder`}},
	})
}

// Completion works in a bash without the package bash-completion.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	var script, problems bytes.Buffer
	if code := Run(t.Context(), []string{"completion", "bash"}, nil, nil, &script, &problems); code != cli.ExitOK {
		t.Fatal(problems.String())
	}
	for line, want := range map[string]string{
		"a2a-server approvals app":   "approvals app",
		"a2a-server approvals ":      "approvals ",
		"a2a-server send --url=http": "send --url=http",
	} {
		c := exec.CommandContext(t.Context(), bash, "--norc", "-s")
		c.Env = []string{"PATH=/nowhere", "WANT=__complete " + want}
		c.Stdin = strings.NewReader(script.String() + `
a2a-server() { [[ "$*" == "$WANT" ]] && printf 'approve\nhttp\n:4\n'; }
COMP_LINE=` + "'" + line + "'" + ` COMP_POINT=${#COMP_LINE} COMP_TYPE=9
__start_a2a-server
echo "${COMPREPLY[@]}"
`)
		if said, err := c.Output(); err != nil || !strings.HasPrefix(string(said), "approve") && !strings.HasPrefix(string(said), "http") {
			t.Errorf("%q is completed to %q, %v", line, said, err)
		}
	}
}

// look looks for patterns in what was written; nothing else goes where none is
// expected.
func look(t *testing.T, where, text string, patterns []string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("%s has no %s:\n%s", where, p, text)
		}
	}
	if len(patterns) == 0 && text != "" {
		t.Errorf("%s has %q, want nothing", where, text)
	}
}

func TestServeUntilContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := Run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, nil, nil, &stdout, &stderr); code != cli.ExitOK {
		t.Errorf("exits with %d: %s", code, stderr.String())
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout has %q, want nothing", stdout.String())
	}
}

// The list of commands, and the flags of the configuration, fit into a terminal.
func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	Run(t.Context(), []string{"help"}, nil, nil, &stdout, &stderr)
	Run(t.Context(), []string{"help", "serve"}, nil, nil, &stdout, &stderr)
	for _, k := range config.Keys() {
		if k.HasFlag != strings.Contains(stdout.String(), "\n  --"+k.Flag()+" (") {
			t.Errorf("help names --%s: %v, want %v", k.Flag(), !k.HasFlag, k.HasFlag)
		}
	}
	for line := range strings.Lines(stdout.String()) {
		if strings.HasPrefix(line, "  ") && len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("this line of the help is too long: %s", line)
		}
	}
}
