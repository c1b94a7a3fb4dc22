package config

import (
	"slices"
	"time"
)

// maxGrace is longer than any supervisor waits.
const maxGrace = 24 * time.Hour

// validate checks values that depend on each other. It runs after all layers have been read,
// and ignores refused values.
func (l *loader) validate() {
	c := l.config
	l.checkNeeds()
	l.checkAuth()
	checkAdmin(l)
	checkPush(l)
	l.refuse(len(c.Notify) > maxRoutes, "notify", "has %d routes; write at most %d", len(c.Notify), maxRoutes)
	l.refuse(l.sound("card.sign", "public_url") && c.Card.Sign && c.PublicURL == "", "card.sign", "needs public_url: the signature says where its public key is; set public_url to the URL at which clients reach the server")
	l.refuse(l.config.Limits.Grace > maxGrace, "limits.grace", "%s is too long; write at most %s", l.config.Limits.Grace, maxGrace)
	checkReach(l)
	checkGRPC(l)
	checkModel(l, &l.config.Planner, l.config.origins["planner.kind"].layer != "")
	l.checkTools()
	for _, check := range l.references {
		check()
	}
}

// noEffect is the problem of a key without a key that it needs.
const noEffect = "%s; set %s, or remove this"

// checkNeeds refuses keys with another value than their default that have no effect without a key that
// has its default.
func (l *loader) checkNeeds() {
	blank, given := keysOf(&Config{}), map[string]bool{}
	setDefaults(blank)
	for i, k := range l.keys {
		given[k.name] = !sameValue(k, blank[i])
	}
	for _, k := range l.keys {
		for _, need := range k.needs() {
			l.refuse(given[k.name] && !given[need[0]] && l.sound(k.name, need[0]), k.name, noEffect, need[1], need[0])
		}
	}
}

// checkModel checks the keys of the planner llm that depend on each other. named says that the
// configuration names a planner.
func checkModel(l *loader, p *Planner, named bool) {
	m, asks := &p.LLM, p.Kind == "llm"
	for name, given := range map[string]bool{"planner.llm.url": m.URL != "", "planner.llm.model": m.Model != ""} {
		l.refuse(l.sound("planner.kind", name) && asks && !given, "planner.kind", "llm needs %s", name)
		l.refuse(!named && given && !asks && l.sound(name, "planner.kind"), name, "it would not be read, because planner.kind is direct by default; set planner.kind, or remove this")
	}
	l.refuse(l.sound("planner.llm.context", "planner.llm.max_tokens") && m.MaxTokens > m.Context/2, "planner.llm.max_tokens", "leaves less than half of planner.llm.context for the conversation; lower it, or raise planner.llm.context")
}

// sound reports whether all values for these keys are valid.
func (l *loader) sound(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return l.refused[k] })
}

// atKey adds a problem at the name of a key in the file.
func (l *loader) atKey(path, format string, args ...any) {
	at := l.config.origins[path]
	at.at = at.key
	l.add(at, path, format, args...)
}

// refuse is at, if a rule is broken.
func (l *loader) refuse(broken bool, name, format string, args ...any) {
	if broken {
		l.at(name, format, args...)
	}
}

// refuseKey is atKey, if a rule is broken.
func (l *loader) refuseKey(broken bool, path, format string, args ...any) {
	if broken {
		l.atKey(path, format, args...)
	}
}

// at adds a problem at the place where the key was set.
func (l *loader) at(name, format string, args ...any) {
	l.add(l.config.origins[name], name, format, args...)
}
