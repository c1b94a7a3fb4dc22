package config

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/setting"
)

// texts are the kinds of text, by the tag text.
var texts = map[string]func(*string) setting.Value{
	"line":         text("a text", setting.OneLine),
	"path":         text("a path", setting.OneLine),
	"file":         text("a path", setting.NotEmpty("a path, or remove it"), aFile),
	"secret name":  text("the name of a secret", setting.NotEmpty("the name of a secret"), aSecretName),
	"endpoint":     text("a URL", setting.OneLine, noPassword),
	"name":         text("a name", setting.OneLine),
	"listen":       setting.Listen,
	"address":      text("host:port", optional(setting.CheckListen)),
	"base URL":     setting.BaseURL,
	"URL":          text("a URL", aURL),
	"host":         setting.Host,
	"origin":       setting.Origin,
	"media":        setting.MediaRange,
	"store":        text("bolt, bolt:PATH or memory", checkStore),
	"pattern":      text("a pattern such as files_*", setting.NotEmpty("the name of a tool, or * for all"), setting.OneLine),
	"header":       text("a header", aHeader),
	"proxy header": text("a header", aProxyHeader),
	"claim name":   text("the name of a claim", setting.NotEmpty("a name, or remove the line"), setting.OneLine),
	"header name":  text("the name of a header", setting.NotEmpty("a name, or remove the line"), setting.OneLine, aHeader),
	"role":         text("a role", setting.NotEmpty("a role"), setting.OneLine, checkRole),
	"issuer name":  text("a name", matching(`^[a-z0-9_-]{1,50}$`, "%s is not a name; write 1 to 50 lower-case letters, digits, - and _")),
	"issuer":       text("a URL such as https://idp.example.com", setting.NotEmpty("a URL"), aURL),
	"variable":     text("the name of an environment variable", aVariable),
	"gate":         text("a string", setting.NotEmpty("a name, or remove the line"), setting.OneLine, notReserved),
	"mask":         text("a JSON pointer", saying(approval.CheckMask)),
	"vary":         text("a JSON pointer", saying(approval.CheckVary)),
	"route":        text("a name", saying(approval.CheckNotify)),
	"route name":   text("a name", saying(aRouteName)),
	"mail":         text("a recipient", anAddress),
	"sender":       text("an address", optional(anAddress)),
	"tools":        text("a name", matching(`^[A-Za-z0-9_-]{1,64}$`, "%s is not a name for tools; write 1 to 64 letters, digits, _ and -")),
	"tool":         text("a tool", setting.NotEmpty("the name of a tool"), setting.OneLine), // as its server has it, or "*"
	"purpose":      text("a text", setting.NotEmpty("what the tool does")),
	"card":         text("a URL", setting.NotEmpty("the URL of the agent's card"), setting.OneLine),
	"argument":     text("an argument", matching(argumentNames.String(), "%s is not the name of an argument; write at most 64 letters, digits, _, - and dots")),
	"extension":    text("an extension such as md", matching(`^[A-Za-z0-9_+-]{1,20}$`, "%s is not an extension; write it without a dot, as in md")),
	"request":      text("METHOD URL", aRequest),
	"pointer":      text("a JSON Pointer such as /items/0", aPointer),
}

// text returns a kind of text that is written in a form and passes all checks.
func text(form string, checks ...func(string) error) func(*string) setting.Value {
	return func(to *string) setting.Value { return setting.Text(to, form, checks...) }
}

// checkList checks a list as a whole. harm is the tag everybody.
func checkList(harm string, list any) error {
	switch list := list.(type) {
	case []approval.DecisionType: // without one that is allowed for calls no answer would be possible
		if len(list) == 0 || len(approval.AllowedDecisions(approval.KindCall, approval.Terms{Allowed: list})) == 0 {
			return errors.New("allows no decision about a call; name approve, edit, reject or cancel, or remove the line for all")
		}
	case []netip.Prefix:
		for _, p := range list {
			if harm != "" && p.Bits() == 0 {
				return fmt.Errorf("%s contains every address, so any client could %s; list only the addresses of the proxies", quote(p.String()), harm)
			}
		}
	}
	return nil
}

// matching returns a check of a text. problem has a verb for the text.
func matching(pattern, problem string) func(string) error {
	valid := regexp.MustCompile(pattern)
	return func(text string) error {
		if !valid.MatchString(text) {
			return fmt.Errorf(problem, quote(text))
		}
		return nil
	}
}

// saying returns a check of a text whose error begins with the text.
func saying(check func(string) error) func(string) error {
	return func(text string) error {
		if err := check(text); err != nil {
			return fmt.Errorf("%s %w", quote(text), err)
		}
		return nil
	}
}

// optional returns a check that accepts nothing, too.
func optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

func checkStore(text string) error {
	path, isPath := strings.CutPrefix(text, "bolt:")
	switch {
	case text == "bolt" || text == "memory":
		return nil
	case isPath && strings.TrimSpace(path) == "":
		return fmt.Errorf("%s names no file; write bolt:PATH, or bolt for tasks.db in the data folder", quote(text))
	case isPath:
		return setting.OneLine(path)
	}
	return fmt.Errorf("%s is not a store; use bolt, bolt:PATH or memory", quote(text))
}

func notReserved(name string) error {
	if name == approval.GateTool || name == approval.GateDefault {
		return fmt.Errorf("%s is reserved by the server; choose another name", quote(name))
	}
	return nil
}

var aMethod = matching(`^[A-Z]+$`, "%s is not a method; write it in capitals, as in POST")

// aPointer refuses what is not a JSON Pointer (RFC 6901).
func aPointer(text string) error {
	if text != "" && text[0] != '/' {
		return fmt.Errorf("%s is not a JSON Pointer; begin it with a slash, as in /items/0", quote(text))
	}
	for _, part := range strings.Split(text, "~")[1:] {
		if part == "" || part[0] != '0' && part[0] != '1' {
			return fmt.Errorf("%s is not a JSON Pointer; write ~0 for ~, and ~1 for a slash in a name", quote(text))
		}
	}
	return setting.OneLine(text)
}

// aFile refuses what is no path of a file, and does not repeat it: it may be the text of a private key.
func aFile(text string) error {
	if setting.OneLine(text) != nil {
		return errors.New("has a line break or a tab; write the path of a file, not the text in it")
	}
	return nil
}

// aSecretName refuses what cannot be the name of a secret, and may be the secret itself.
func aSecretName(text string) error {
	if !secretName.MatchString(text) {
		return errors.New("is not the name of a secret; write a name that is under secrets")
	}
	return nil
}

// noPassword refuses a URL with a user or a password, and does not repeat it.
func noPassword(text string) error {
	_, rest, _ := strings.Cut(text, "://")
	if before, _, has := strings.Cut(rest, "@"); has && !strings.ContainsAny(before, "/?#") {
		return errors.New("the URL has a user or a password; remove them: " + onlyHeaders)
	}
	return nil
}

// aRequest refuses what is not a method and a URL. The URL itself is checked where it is used.
func aRequest(text string) error {
	method, url, ok := strings.Cut(text, " ")
	switch {
	case noPassword(text) != nil:
		return noPassword(text)
	case !ok || strings.TrimSpace(url) != url || url == "":
		return fmt.Errorf("%s is not a method and a URL; write them with one space, as in POST https://jira.example.com/issue", quote(text))
	case aMethod(method) != nil:
		return aMethod(method)
	}
	return setting.OneLine(text)
}
