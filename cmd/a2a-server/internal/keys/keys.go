// Package keys is the command keys: add, list and revoke API keys in their file.
package keys

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// Command returns the command keys.
func Command(p *cli.Program) *cobra.Command {
	return cli.Group("keys", "add, list or revoke API keys", add(p), list(p), revoke(p))
}

// keyFile is which file of API keys a command works on.
type keyFile struct {
	path  string
	given *cli.Flags // of the configuration, which names it without path
}

// keyFileFlags gives c the flags that name the file of API keys.
func keyFileFlags(c *cobra.Command) *keyFile {
	f := &keyFile{given: &cli.Flags{}}
	c.Flags().StringVar(&f.path, "file", "", "The `file` of API keys. Defaults to auth.keys.file of the configuration.")
	cli.FileFlag(c, f.given)
	return f
}

// find returns the path of the file, and the configuration.
func find(p *cli.Program, f *keyFile) (path string, conf *config.Config, err error) {
	c, err := p.Load(f.given)
	switch {
	case err != nil && f.path != "" && f.given.File == "":
		return f.path, &config.Config{}, nil // a default configuration only affects the hints to print
	case err != nil:
		return "", nil, err
	}
	path = cmp.Or(f.path, c.Auth.Keys.File)
	if path == "" {
		return "", nil, cli.Usage("name the file of API keys with --file, or set auth.keys.file in the configuration")
	}
	return path, c, nil
}

// named reports whether the configuration is known to be the server's: then a key that it
// leaves out is not set.
func named(p *cli.Program, f *keyFile) bool {
	return f.path == "" || f.given.File != "" || p.Variable(config.FileVariable) != ""
}

func add(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "add ID", Short: "make an API key, print it once, and add its hash to the file",
		Long: `It prints the key, and nothing else, to the standard output or, with --key-file, writes it to
a new file, which exists only if the key was added. Tasks created with the key belong to
key:ID, so never reuse an id for another person.
`,
		Example: "a2a-server keys add alice --role requester --key-file alice.key",
	}
	cli.Takes(c, ", such as alice", "the id of one key")
	var roles, ruleRoles []string
	var kind, expires, keyFile string
	var k apikey.Key
	file := keyFileFlags(c)
	c.Flags().StringSliceVar(&roles, "role", nil, "A `role`: "+strings.Join(auth.Roles(), ", ")+". May be given more than once.")
	c.Flags().StringSliceVar(&ruleRoles, "rule-role", nil, "A `role` that only the rules of the configuration name. May be given more than once.")
	c.Flags().StringVar(&k.Tenant, "tenant", "", "The `tenant` whose tasks the key is for. Defaults to the one of the server.")
	c.Flags().StringVar(&kind, "kind", "person", "Whether a `person or service` has the key. A service may decide nothing, unless the server is configured so. Default person.")
	c.Flags().StringVar(&k.Person, "person", "", "The `name` of the person who has the key: the subject of their login, if they have one too: the issuer's name and the value of its claim, often a UUID. Under four eyes both are one person.")
	c.Flags().StringVar(&expires, "expires", "", "When the key ends: in `90d or 12h, or on a date` such as 2027-01-31, at its beginning in UTC. Default never.")
	c.Flags().StringVar(&keyFile, "key-file", "", "Write the key to this new `file` instead, which only its owner may read.")
	replace := c.Flags().Bool("replace", false, "Replace the key that has this id, also one that was revoked: its tasks belong to the new one.")
	cli.Complete(c, "role", auth.Roles()...)
	cli.Complete(c, "kind", "person", string(auth.KindService))
	c.RunE = func(_ *cobra.Command, args []string) error {
		now := time.Now()
		k.ID, k.Roles, k.Created = args[0], slices.Concat(roles, ruleRoles), now
		if err := errors.Join(apikey.CheckID(k.ID), checkRoles(roles, ruleRoles)); err != nil {
			return cli.Usage("keys add: %v", err)
		}
		if kind == string(auth.KindService) {
			k.Kind = auth.KindService
		} else if kind != "person" {
			return cli.Usage("keys add: --kind is %s: write person or service", visible.Quote(kind, 60))
		}
		var err error
		if k.Expires, err = ends(expires, now); err != nil {
			return cli.Usage("keys add: %v", err)
		}
		path, conf, err := find(p, file)
		if err != nil {
			return err
		}
		warnings, err := checkEffect(&k, conf, named(p, file))
		if err != nil {
			return err
		}
		_, err = os.Stat(path)
		created := errors.Is(err, fs.ErrNotExist)
		if err := store(p.Stdout, keyFile, path, k, *replace); err != nil {
			return err
		}
		return explainKey(p, &k, path, keyFile, &conf.Auth, created, warnings)
	}
	return c
}

// store adds a key to the file of keys at path, and prints it to stdout or, with a keyFile, writes it to that new file.
// A key that was not added leaves no file.
func store(stdout io.Writer, keyFile, path string, k apikey.Key, replace bool) (err error) {
	to, sync := stdout, func() error { return nil }
	added := false
	if keyFile != "" {
		file, err := os.OpenFile(keyFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return cli.Usage("keys add: --key-file is %s, which exists: name a new file", visible.Quote(keyFile, 80))
		} else if err != nil {
			return fmt.Errorf("create the file of the key: %w", err)
		}
		defer func() {
			_ = file.Close() // it is durable by then
			if !added {
				_ = os.Remove(keyFile) // it is empty; the error says enough
			}
		}()
		to, sync = file, file.Sync
	}
	key, err := apikey.Add(path, k, replace)
	if errors.Is(err, apikey.ErrExists) {
		return fmt.Errorf("%w: choose another id or, if the same person or service gets a new key, add --replace", err)
	}
	if err != nil {
		return err
	}
	added = true
	_, err = fmt.Fprintln(to, key)
	if err = errors.Join(err, sync()); err != nil {
		return fmt.Errorf("the key was added and could not be written: make another with --replace: %w", err)
	}
	return nil
}

// explainKey prints on stderr the next steps for a key that was printed on stdout or written to keyFile.
func explainKey(p *cli.Program, k *apikey.Key, path, keyFile string, conf *config.Auth, created bool, warnings []string) error {
	header := cmp.Or(conf.Keys.Header, "X-API-Key")
	name := header + ": "
	if strings.EqualFold(header, "Authorization") {
		name += "Bearer "
	}
	lines := []string{
		"This is the only time that the key is shown: " + visible.Line(path) + " has its hash.",
		"Clients send it in a header:  " + name + "<the key>",
		"A running server accepts it after SIGHUP or, under the systemd unit, systemctl restart a2a-server.",
	}
	if keyFile != "" {
		lines[0] = visible.Line(keyFile) + " has the only copy of the key: " + visible.Line(path) + " has its hash."
	}
	if !k.Expires.IsZero() {
		lines = append(lines, "It ends on "+k.Expires.UTC().Format(time.RFC3339)+".")
	}
	lines = append(lines, warnings...)
	if (auth.Principal{Subject: "key:" + k.ID, Person: k.Person}).Doubtful() {
		lines = append(lines, "The person "+visible.Line(k.Person)+" counts once the server has seen them under exactly this subject (approvals show it): by a sign-in to the pages, or a message or decision with their login. Until then the key gives no vote, and decides nothing under four_eyes.")
	}
	if created {
		lines = append(lines, "The file is new, and only you can read it: make the user who runs the server its owner.")
	}
	_, err := fmt.Fprintln(p.Stderr, strings.Join(lines, "\n"))
	return err
}

// checkEffect returns an error if a role of a key needs a tenant and the key would have none, and warnings about
// roles that nothing names. named: the configuration is known to be the server's.
func checkEffect(k *apikey.Key, conf *config.Config, named bool) (warnings []string, _ error) {
	holder := auth.Principal{Tenant: cmp.Or(k.Tenant, conf.Auth.Tenant), Subject: "key:" + k.ID, Roles: k.Roles}
	if inert := holder.Inert(auth.Review); len(inert) > 0 {
		next := "add --tenant, or set auth.tenant in the configuration"
		if !named {
			next = "add --tenant, or name the configuration of the server, which may have auth.tenant, with --config"
		}
		return nil, cli.Usage("keys add: without a tenant the key could not use its roles %s: %s", strings.Join(inert, ", "), next)
	}
	if !named {
		return nil, nil
	}
	return config.UnnamedRoles(conf, []config.Caller{{Principal: holder}}), nil
}

// checkRoles returns an error for a role that grants nothing, and for a key without any.
func checkRoles(roles, ruleRoles []string) error {
	if len(roles)+len(ruleRoles) == 0 {
		return fmt.Errorf("a key without a role may do nothing: add --role with one of %s", strings.Join(auth.Roles(), ", "))
	}
	for _, role := range roles {
		if !slices.Contains(auth.Roles(), role) {
			return fmt.Errorf("there is no role %s%s; known are %s; give a role that only gates name with --rule-role",
				visible.Quote(role, 60), suggest.DidYouMean(role, "", auth.Roles()), strings.Join(auth.Roles(), ", "))
		}
	}
	for _, role := range ruleRoles {
		if slices.Contains(auth.Roles(), role) {
			return fmt.Errorf("the role %s grants rights: give it with --role", role)
		}
	}
	return nil
}

// ends returns when a key ends that is made now; zero: never.
func ends(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := apikey.ParseTime(text)
	if d, wrong := cli.Span(text); wrong == nil {
		at, err = now.Add(d), nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("--expires is %s: write a duration such as 90d or 12h, or a date such as 2027-01-31", visible.Quote(text, 60))
	}
	if !at.After(now) {
		return time.Time{}, fmt.Errorf("--expires is %s, which has passed: write a later one", visible.Quote(text, 60))
	}
	return at, nil
}

func list(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list the API keys in the file, with their owners and roles",
		Long: "With the configuration of the server, the tenant of a key without its own is auth.tenant.\n"}
	as := cli.OutputFlag(c)
	file := keyFileFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		path, conf, err := find(p, file)
		if err != nil {
			return err
		}
		keys, err := apikey.Load(path)
		if err != nil {
			return err
		}
		all, now, tenant := make([]keyJSON, len(keys)), time.Now(), ""
		if named(p, file) {
			tenant = conf.Auth.Tenant
		}
		lines := []string{"ID\tKIND\tPERSON\tTENANT\tROLES\tCREATED\tEXPIRES\tSTATE"}
		for i := range keys {
			k, state := &keys[i], "valid"
			switch {
			case !k.Revoked.IsZero():
				state = "revoked"
			case !k.Expires.IsZero() && !now.Before(k.Expires):
				state = "expired"
			}
			k.Kind, k.Tenant, k.Roles = cmp.Or(k.Kind, "person"), cmp.Or(k.Tenant, tenant), append([]string{}, k.Roles...)
			all[i] = keyJSON{*k, state}
			lines = append(lines, display.Row(k.ID, string(k.Kind), k.Person, k.Tenant, strings.Join(k.Roles, ","), dayOf(k.Created), dayOf(k.Expires), state))
		}
		return p.List(*as, all, lines, "there are no keys", false, nil)
	}
	return c
}

func dayOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.DateOnly)
}

// keyJSON is a key in the output of 'keys list -o json'.
type keyJSON struct {
	apikey.Key
	State string `json:"state"` // valid, expired or revoked
}

func revoke(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "revoke ID", Short: "mark an API key as revoked"}
	cli.Takes(c, ", such as alice", "the id of one key")
	file := keyFileFlags(c)
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var ids []cobra.Completion
		if path, _, err := find(p, file); err == nil && len(args) == 0 {
			keys, _ := apikey.Load(path) // a file that is not valid completes nothing
			for i := range keys {
				if keys[i].Revoked.IsZero() {
					ids = append(ids, keys[i].ID)
				}
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		path, _, err := find(p, file)
		if err != nil {
			return err
		}
		if err := apikey.Revoke(path, args[0], time.Now()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Stderr, "%s is revoked in %s. A running server refuses it after SIGHUP or, under the systemd unit, systemctl restart a2a-server. From then on its sessions have ended, its grants cover nothing, and its votes do not count; its webhooks go on (docs/keys.md).\n", visible.Line(args[0]), visible.Line(path))
		return err
	}
	return c
}
