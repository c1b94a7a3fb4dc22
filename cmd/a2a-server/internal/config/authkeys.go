package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

// checkRole refuses a word that is close to the name of a role with rights: it is most likely misspelled.
func checkRole(text string) error {
	if hint := suggest.DidYouMean(text, "", auth.Roles()); hint != "" && !slices.Contains(auth.Roles(), text) {
		return fmt.Errorf("%s is not a role that may do something%s", quote(text), hint)
	}
	return nil
}

func aURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil
	case noPassword(text) != nil:
		return errors.New("the URL has a user or a password; remove them")
	case err != nil || u.Host == "" || strings.ContainsAny(text, " \t\n#"):
		return fmt.Errorf("%s is not a URL; write it as https://idp.example.com", quote(text))
	case u.Scheme == "https", u.Scheme == "http" && setting.Loopback(u.Hostname()+":0"):
		return nil
	}
	return fmt.Errorf("%s is not safe: an attacker on the network could replace the keys; use https", quote(text))
}

var headerName = matching(`^[0-9A-Za-z-]*$`, "%s is not the name of a header; write letters, digits and -")

func aHeader(name string) error {
	if err := headerName(name); err != nil {
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

// fromOf reads a text, or where a credential has it.
func fromOf(l *loader, k key, n strictyaml.Node) any {
	var f From
	switch {
	case n.Null():
		n.Add("has no value; write a name, or remove the line")
	case !l.sourceOf(k, n, &f.Name):
		f.Text = readText(n, setting.NotEmpty("a name, or remove the line"), setting.OneLine)
	}
	return f
}

// rolesOf reads a list of roles, or where a credential has groups.
func rolesOf(l *loader, k key, n strictyaml.Node) any {
	var r RolesFrom
	groups := key{name: "map", field: reflect.ValueOf(&r.Map).Elem(), tag: `required:"yes" as:"roles by group" form:"roles by group, as in {sre: [approver, operator]}"`}
	if !l.sourceOf(k, n, &r.Name, groups) {
		r.Fixed = roleList(n)
	}
	return r
}

// source returns where a credential has the value of k: claim or header.
func (k key) source() string { return strings.TrimPrefix(k.tag.Get("as"), "roles ") }

// sourceOf reads the mapping with the name of the claim or the header that has the value of k, and other keys. It
// reports whether n is a mapping: {} has nothing.
func (l *loader) sourceOf(k key, n strictyaml.Node, name *string, others ...key) bool {
	if n.Null() || !n.IsMapping() {
		return false
	}
	if n.Says() {
		tag := `required:"yes" text:"` + k.source() + ` name"`
		l.mapping(n, append([]key{{name: k.source(), field: reflect.ValueOf(name).Elem(), tag: reflect.StructTag(tag)}}, others...), "", "", "")
	}
	return true
}

func rolesByGroup(_ *loader, _ key, n strictyaml.Node) any {
	return byName(n, "roles", "sre: [approver, operator]", anyName, func(n strictyaml.Node) []string {
		roles := roleList(n)
		if roles != nil && len(roles) == 0 {
			n.Add("has no role; write at least one, or remove the group")
		}
		return roles
	})
}

// peopleOf reads the subjects of persons. A subject is of one person, in whatever case.
func peopleOf(_ *loader, _ key, n strictyaml.Node) any {
	seen := once()
	first := func(text string) error { return seen(auth.PersonName(text)) }
	return auth.People(byName(n, "lists of subjects", `{alice: ["key:alice", "corp:alice"]}`, anyName, func(n strictyaml.Node) []string {
		return readTexts(n, "a list of subjects", `; write it as ["key:alice", "corp:alice"]`, setting.NotEmpty("a subject, or remove it"), setting.OneLine, first)
	}))
}

func roleList(n strictyaml.Node) []string {
	return readTexts(n, "a list of roles", "; write it as [requester, approver]", setting.NotEmpty("a role"), setting.OneLine, checkRole, once())
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
