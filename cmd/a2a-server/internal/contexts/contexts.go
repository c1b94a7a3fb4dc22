// Package contexts reads and writes contexts.yaml: servers with their credentials, by name.
package contexts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/internal/child"
	"a2a-server/internal/lists"
	"a2a-server/internal/privatefile"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// File is the file of contexts: the servers that a person uses, by names of their choice.
type File struct {
	Current string             `yaml:"current,omitempty"` // "": none
	All     map[string]Context `yaml:"contexts"`
}

// Context is a server and a credential for it. It has a URL or a socket, and at most one
// other field.
type Context struct {
	URL    string `json:"url,omitempty"    yaml:"url,omitempty"`
	Socket string `json:"socket,omitempty" yaml:"socket,omitempty"`
	// Paths; relative paths are relative to the folder of the contexts.
	TokenFile    string   `json:"tokenFile,omitempty"    yaml:"token_file,omitempty"`
	KeyFile      string   `json:"keyFile,omitempty"      yaml:"key_file,omitempty"`
	TokenCommand []string `json:"tokenCommand,omitempty" list:"a list: a program and its arguments" yaml:"token_command,omitempty"` // prints a token
}

// Name matches the names of contexts.
var Name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// filePath returns the path of the file of contexts; "": this user has none.
func filePath(p *cli.Program) (string, error) {
	folder := p.Variable("XDG_CONFIG_HOME")
	switch home := p.Variable("HOME"); {
	case runtime.GOOS == "windows" || runtime.GOOS == "darwin":
		var err error
		if folder, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("find the folder of contexts: %w", err)
		}
	case !filepath.IsAbs(folder) && home == "":
		return "", nil
	case !filepath.IsAbs(folder):
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "a2a-server", "contexts.yaml"), nil
}

// Read reads the file of contexts. A missing file has no contexts.
func Read(p *cli.Program) (*File, string, error) {
	path, err := filePath(p)
	if err != nil {
		return nil, "", err
	}
	found := &File{All: map[string]Context{}}
	if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
		return found, path, nil
	}
	if err := privatefile.CheckOwn(path); err != nil {
		return nil, path, cli.Usage("the file of contexts is not used: %s", visible.Line(err.Error()))
	}
	report := &strictyaml.Report{File: path}
	if root, ok := report.Open(path); ok && !root.Null() {
		readContexts(root, found)
	}
	if problems := report.Problems(); len(problems) > 0 {
		return nil, path, cli.Usage("the file of contexts is invalid:\n%s", strings.Join(lists.Map(problems, strictyaml.Problem.String), "\n"))
	}
	return found, path, nil
}

func readContexts(root strictyaml.Node, into *File) {
	var top struct{ Current, Contexts strictyaml.Node }
	if !root.Decode(&top) {
		return
	}
	if !top.Current.Missing() {
		into.Current, _ = top.Current.Text()
	}
	if top.Contexts.Null() {
		return
	}
	members, _ := top.Contexts.Members("a mapping of contexts", "")
	for _, m := range members {
		var c Context
		if !m.Value.Decode(&c) {
			continue
		}
		if err := c.Check(); err != nil {
			m.Value.Add("%v", err)
		}
		into.All[m.Name] = c
	}
	if _, there := into.All[into.Current]; into.Current != "" && !there {
		top.Current.Add("there is no context %s%s", visible.Quote(into.Current, 80), suggest.DidYouMean(into.Current, "", into.Names()))
	}
}

// Check returns an error for fields that exclude each other or are missing.
func (c *Context) Check() error {
	credentials := cli.Count(c.TokenFile != "", c.KeyFile != "", len(c.TokenCommand) > 0)
	switch {
	case (c.URL == "") == (c.Socket == ""):
		return errors.New("a context needs either url or socket")
	case credentials > 1:
		return errors.New("a context has one of token_file, key_file and token_command")
	case credentials > 0 && c.Socket != "":
		return errors.New("a socket needs no credential: remove it")
	}
	return nil
}

// Names returns the names of the contexts, sorted.
func (c *File) Names() []string { return slices.Sorted(maps.Keys(c.All)) }

// Get returns the context with a name; "" means the current one, which may be nil.
func (c *File) Get(name string) (*Context, error) {
	if name = cmp.Or(name, c.Current); name == "" {
		return nil, nil //nolint:nilnil // there is no current one
	}
	one, there := c.All[name]
	if !there {
		return nil, cli.Usage("there is no context %s%s; 'a2a-server context list' has them", visible.Quote(name, 80), suggest.DidYouMean(name, "", c.Names()))
	}
	return &one, nil
}

// Write replaces the file of contexts.
func (c *File) Write(path string) error {
	if path == "" {
		return errors.New("there is no folder for the file of contexts: set HOME or XDG_CONFIG_HOME")
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of contexts: %w", err)
	}
	unlock, err := privatefile.Lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	return privatefile.Replace(path, text, 0)
}

const maxToken = 64 << 10 // bytes

// fileCredential reads a credential from a file, again for each request, so that a renewed
// token takes effect.
func fileCredential(path string, as func(string) client.Credential) client.Credential {
	return func(ctx context.Context) (string, string, error) {
		raw, err := privatefile.Read(path, maxToken)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", visible.Line(path), err)
		}
		return as(strings.TrimSpace(string(raw)))(ctx)
	}
}

// commandCredential runs a command that prints a token. A token is used for a minute.
func commandCredential(argv, env []string, folder string) client.Credential {
	var mu sync.Mutex
	var token string
	var until time.Time
	return func(ctx context.Context) (string, string, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().After(until) {
			text, err := output(ctx, argv, env, folder)
			if err != nil {
				return "", "", fmt.Errorf("token_command %s: %w", visible.Quote(argv[0], 200), err)
			}
			token, until = text, time.Now().Add(time.Minute)
		}
		return client.Token(token)(ctx)
	}
}

// output runs a command, and returns its output, without white space around it.
func output(ctx context.Context, argv, env []string, folder string) (string, error) {
	process, err := child.Start(child.Command{Argv: argv, Env: env, Dir: folder, Stdout: true, Stderr: true})
	if err != nil {
		return "", err
	}
	defer process.Close()
	stop := context.AfterFunc(ctx, process.Kill)
	defer stop()
	var problems []byte
	var reading sync.WaitGroup
	reading.Go(func() {
		problems, _ = io.ReadAll(io.LimitReader(process.Stderr, maxToken)) // as much as can be read
		_, _ = io.Copy(io.Discard, process.Stderr)
	})
	text, err := io.ReadAll(io.LimitReader(process.Stdout, maxToken))
	_, _ = io.Copy(io.Discard, process.Stdout) // or the command would block
	reading.Wait()
	<-process.Done()
	end := process.End()
	switch token := strings.TrimSpace(string(text)); {
	case err != nil:
		return "", err
	case end.Code != 0:
		return "", fmt.Errorf("it has ended with the code %d%s: %s", end.Code, end.Signal, visible.ClipText(string(problems), 1000))
	case token == "":
		return "", errors.New("it has printed no token")
	default:
		return token, nil
	}
}

// Credential returns the credential of c; nil: it has none. Paths in c are relative to the folder,
// and its command runs there with env.
func (c *Context) Credential(folder string, env []string) client.Credential {
	file := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(folder, name)
	}
	switch {
	case c.TokenFile != "":
		return fileCredential(file(c.TokenFile), client.Token)
	case c.KeyFile != "":
		return fileCredential(file(c.KeyFile), client.Key)
	case len(c.TokenCommand) > 0:
		return commandCredential(c.TokenCommand, env, folder)
	}
	return nil
}

// CredentialText says where the credential is.
func (c *Context) CredentialText() string {
	switch {
	case c.TokenFile != "":
		return "token in " + c.TokenFile
	case c.KeyFile != "":
		return "key in " + c.KeyFile
	case len(c.TokenCommand) > 0:
		return "token of " + strings.Join(c.TokenCommand, " ")
	}
	return ""
}
