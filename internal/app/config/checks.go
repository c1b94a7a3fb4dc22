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

// checks are the checks of texts, by the tag check.
var checks = map[string]func(string) error{
	"line":            setting.OneLine,
	"store":           checkStore,
	"address":         optional(setting.CheckListen),
	"URL":             aURL,
	"header":          aHeader,
	"proxy header":    aProxyHeader,
	"role":            checkRole,
	"issuer name":     matching(`^[a-z0-9_-]{1,50}$`, "%s is not a name; write 1 to 50 lower-case letters, digits, - and _"),
	"variable":        aVariable,
	"gate":            notReserved,
	"mask":            saying(approval.CheckMask),
	"vary":            saying(approval.CheckVary),
	"route":           saying(approval.CheckNotify),
	"route name":      saying(aRouteName),
	"mail":            anAddress,
	"mail or nothing": optional(anAddress),
	"tool":            matching(`^[A-Za-z0-9_-]{1,64}$`, "%s is not a name for tools; write 1 to 64 letters, digits, _ and -"),
	"argument":        matching(argumentNames.String(), "%s is not the name of an argument; write at most 64 letters, digits, _, - and dots"),
	"extension":       matching(`^[A-Za-z0-9_+-]{1,20}$`, "%s is not an extension; write it without a dot, as in md"),
	"request":         aRequest,
	"pointer":         aPointer,
}

// checkList checks a list as a whole, by the tag all.
func checkList(tag string, list any) error {
	switch list := list.(type) {
	case []approval.DecisionType: // without one that is allowed for calls no answer would be possible
		if len(list) == 0 || len(approval.AllowedDecisions(approval.KindCall, approval.Terms{Allowed: list})) == 0 {
			return errors.New("allows no decision about a call; name approve, edit, reject or cancel, or remove the line for all")
		}
	case []netip.Prefix:
		for _, p := range list {
			if tag != "" && p.Bits() == 0 {
				return fmt.Errorf("%s contains every address, so any client could %s; list only the addresses of the proxies", quote(p.String()), tag)
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

// aRequest refuses what is not a method and a URL. The URL itself is checked where it is used.
func aRequest(text string) error {
	method, url, ok := strings.Cut(text, " ")
	switch {
	case !ok || strings.TrimSpace(url) != url || url == "":
		return fmt.Errorf("%s is not a method and a URL; write them with one space, as in POST https://jira.example.com/issue", quote(text))
	case aMethod(method) != nil:
		return aMethod(method)
	}
	return setting.OneLine(text)
}
