package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

// aRole returns a value that is a role. A word that is close to the name of a role with rights
// is most likely misspelled.
func aRole(to *string) setting.Value {
	return setting.Text(to, "a role", checkRole)
}

func checkRole(text string) error {
	if err := cmp.Or(setting.NotEmpty("a role")(text), setting.OneLine(text)); err != nil {
		return err
	}
	if hint := suggest.DidYouMean(text, "", auth.Roles()); hint != "" && !slices.Contains(auth.Roles(), text) {
		return fmt.Errorf("%s is not a role that may do something%s", quote(text), hint)
	}
	return nil
}

// anIssuer refuses an invalid issuer: a token from it could not be trusted.
func anIssuer(text string) error {
	return cmp.Or(setting.NotEmpty("a URL")(text), aURL(text))
}

func aURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil
	case err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(text, " \t\n#"):
		return fmt.Errorf("%s is not a URL; write it as https://idp.example.com", quote(text))
	case u.Scheme == "https", u.Scheme == "http" && setting.Loopback(u.Hostname()+":0"):
		return nil
	}
	return fmt.Errorf("%s is not safe: an attacker on the network could replace the keys; use https", quote(text))
}

func aHeader(name string) error {
	if err := aHeaderName(name); err != nil {
		return err
	}
	switch strings.ToLower(name) {
	case "":
		return errors.New("is empty; write the name of a header")
	case "host", "cookie", "connection", "content-length", "content-type", "transfer-encoding", "origin", "accept":
		return fmt.Errorf("%s has another meaning in HTTP; write another header", quote(name))
	}
	return nil
}

// aProxyHeader is "" or the name of a header with the caller's name.
func aProxyHeader(name string) error {
	switch {
	case name == "":
		return nil
	case strings.EqualFold(name, "Authorization"):
		return errors.New("the header Authorization has a credential, not the name of a caller; use auth.keys or auth.oidc, or have the proxy write another header")
	}
	return aHeader(name)
}

// fromOf returns a function that reads a text, or where a credential has it.
func fromOf(where string) func(*loader, strictyaml.Node) From {
	return func(l *loader, n strictyaml.Node) (f From) {
		switch {
		case n.Null():
			n.Add("has no value; write a name, or remove the line")
		case !n.Says(): // {}
		case n.IsMapping():
			f.Key = where
			l.mapping(n, []key{source(where, &f.Name)}, "", "", "")
		default:
			f.Text = text(n, setting.NotEmpty("a name, or remove the line"), setting.OneLine)
		}
		return f
	}
}

// rolesOf returns a function that reads a list of roles, or where a credential has groups.
func rolesOf(where string) func(*loader, strictyaml.Node) RolesFrom {
	return func(l *loader, n strictyaml.Node) (r RolesFrom) {
		switch {
		case !n.Null() && !n.Says(): // {}
		case n.IsMapping():
			r.Key = where
			roles := required(shaped("map", "roles by group, as in {sre: [approver, operator]}", &r.Map, rolesByGroup, ""))
			l.mapping(n, []key{source(where, &r.Name), roles}, "", "", "")
		default:
			r.Fixed = roleList(n)
		}
		return r
	}
}

// source returns the key with the name of the claim or header that has something.
func source(where string, to *string) key {
	checks := []func(string) error{setting.NotEmpty("a name, or remove the line"), setting.OneLine}
	if where == "header" {
		checks = append(checks, aHeader)
	}
	return required(one(where, "", setting.Text(to, "the name of a "+where, checks...), ""))
}

func rolesByGroup(_ *loader, n strictyaml.Node) map[string][]string {
	return byName(n, "roles", "sre: [approver, operator]", anyName, func(n strictyaml.Node) []string {
		roles := roleList(n)
		if roles != nil && len(roles) == 0 {
			n.Add("has no role; write at least one, or remove the group")
		}
		return roles
	})
}

// peopleOf reads the subjects of persons. A subject is of one person, in whatever case.
func peopleOf(_ *loader, n strictyaml.Node) auth.People {
	seen := once()
	first := func(text string) error { return seen(auth.PersonName(text)) }
	return byName(n, "lists of subjects", `{alice: ["key:alice", "corp:alice"]}`, anyName, func(n strictyaml.Node) []string {
		return texts(n, "a list of subjects", `; write it as ["key:alice", "corp:alice"]`, setting.NotEmpty("a subject, or remove it"), setting.OneLine, first)
	})
}

func roleList(n strictyaml.Node) []string {
	return texts(n, "a list of roles", "; write it as [requester, approver]", checkRole, once())
}

// once returns a check that refuses a text that it has seen.
func once() func(string) error {
	seen := map[string]bool{}
	return func(text string) error {
		if seen[text] {
			return fmt.Errorf("%s is in the list twice; remove one", quote(text))
		}
		seen[text] = true
		return nil
	}
}
