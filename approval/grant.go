package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// GrantScope is how far a [Grant] reaches.
type GrantScope string

// The scopes of grants. Each ends at the time of the grant, too.
const (
	GrantTask    GrantScope = "task"    // the calls of the same task
	GrantContext GrantScope = "context" // the calls of tasks in the same context
	GrantTime    GrantScope = "time"    // the calls of all tasks of the owner
)

// GrantScopes are all scopes.
func GrantScopes() []GrantScope { return []GrantScope{GrantTask, GrantContext, GrantTime} }

// The bounds of [GrantTerms].
const (
	defaultGrantTime = 24 * time.Hour
	MaxGrantTime     = 30 * 24 * time.Hour
	MaxGrantUses     = 1_000_000
)

// GrantTerms are the demands of a gate on grants: its approver may also allow later calls that
// differ in nothing but Vary. A gate without GrantTerms allows no grant.
type GrantTerms struct {
	Scopes []GrantScope `json:"scopes" yaml:"scopes" required:"yes" oneof:"a scope of grants: task, context, time"`
	// Max is the time of a grant; 0: defaultGrantTime.
	Max time.Duration `json:"max,omitempty" yaml:"max" min:"1m"`
	// Uses is how often a grant may be used; 0: any number.
	Uses int `json:"uses,omitempty" yaml:"uses" min:"1" max:"1000000"`
	// Vary lists JSON pointers (RFC 6901) to arguments whose values may differ. The members
	// themselves may not: a call without them is another call.
	Vary []string `json:"vary,omitempty" yaml:"vary" text:"vary"`
}

// Longest returns the longest time of a grant.
func (t *GrantTerms) Longest() time.Duration {
	if t.Max > 0 {
		return t.Max
	}
	return defaultGrantTime
}

// check returns the mistake in t, if there is one.
func (t *GrantTerms) check() error {
	switch {
	case len(t.Scopes) == 0:
		return errors.New("grants without scopes: list task, context or time")
	case t.Max != 0 && t.Max < time.Minute || t.Max > MaxGrantTime:
		return fmt.Errorf("grants for %v: a time is from 1m to %s", t.Max, Span(MaxGrantTime))
	case t.Uses < 0 || t.Uses > MaxGrantUses:
		return fmt.Errorf("grants for %d uses: write a number from 1 to %d, or leave it out for any number", t.Uses, MaxGrantUses)
	}
	for _, s := range t.Scopes {
		if !slices.Contains(GrantScopes(), s) {
			return fmt.Errorf("unknown scope of grants %s: use task, context or time", quote(string(s)))
		}
	}
	for _, pointer := range t.Vary {
		if err := CheckVary(pointer); err != nil {
			return fmt.Errorf("grants vary %s, which %w", quote(pointer), err)
		}
	}
	return nil
}

// CheckVary returns an error if pointer cannot stand in GrantTerms.Vary.
func CheckVary(pointer string) error {
	if CheckMask(pointer) != nil || slices.Contains(splitPointer(pointer), "*") || pointer == "/" {
		return errors.New("does not name a single argument; write / and its name, such as /subject")
	}
	return nil
}

func (t *GrantTerms) clone() *GrantTerms {
	if t == nil {
		return nil
	}
	return &GrantTerms{slices.Clone(t.Scopes), t.Max, t.Uses, Union(t.Vary, nil)}
}

// both returns what t and u allow, nil if that is nothing.
func (t *GrantTerms) both(u *GrantTerms) *GrantTerms {
	if t == nil || u == nil {
		return nil
	}
	common := func(a, b []string) []string {
		return slices.DeleteFunc(Union(a, nil), func(text string) bool { return !slices.Contains(b, text) })
	}
	v := &GrantTerms{Max: min(t.Longest(), u.Longest()), Uses: max(t.Uses, u.Uses), Vary: common(t.Vary, u.Vary)}
	if t.Uses > 0 && u.Uses > 0 {
		v.Uses = min(t.Uses, u.Uses)
	}
	for _, s := range GrantScopes() {
		if slices.Contains(t.Scopes, s) && slices.Contains(u.Scopes, s) {
			v.Scopes = append(v.Scopes, s)
		}
	}
	if len(v.Scopes) == 0 {
		return nil
	}
	return v
}

// GrantRequest asks, with an approve, for a [Grant]. To ask once is Exact in [GrantContext].
type GrantRequest struct {
	Scope GrantScope    `json:"scope"`
	For   time.Duration `json:"for,omitempty"`   // 0: as long as the terms allow
	Uses  int           `json:"uses,omitempty"`  // 0: as often as the terms allow
	Exact bool          `json:"exact,omitempty"` // no argument may vary, whatever the terms say
}

// Granted is the grant that a decision has made.
type Granted struct {
	ID string `json:"id"`
	GrantRequest
}

// A Grant lets later calls start that would be asked about: calls of the same owner, agent and
// tool, about which the same gates ask on the same terms, and that differ from an approved call in
// nothing but what the terms let vary. It answers no approval. It is a by-product of a person's
// approve, by the id of the approval; no text, provider or service makes one. Its JSON is stored
// until it ends or is revoked.
type Grant struct {
	V       int        `json:"v"` // Version
	ID      string     `json:"id"`
	Scope   GrantScope `json:"scope"`
	Task    string     `json:"task"` // in which it was made
	Context string     `json:"context,omitempty"`
	// Key is that of the calls that it lets start, see [Verdict.GrantKey] and [ExactGrantKey].
	Key string `json:"key"`
	// Store is the incarnation of the store in which it was made: in a restored backup, where it
	// may have been revoked since, it is void.
	Store    string          `json:"store"`
	Owner    auth.Principal  `json:"owner"` // of the task
	By       auth.Principal  `json:"by"`
	Approval string          `json:"approval"` // whose approve has made it
	Gate     string          `json:"gate"`
	Agent    string          `json:"agent"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"` // of the approved call, masked as the terms say, without Vary
	Vary     []string        `json:"vary,omitempty"`
	Made     time.Time       `json:"made"`
	Until    time.Time       `json:"until"`
	Uses     int             `json:"uses,omitempty"` // 0: any number
	Used     int             `json:"used"`           // counted only with Uses
}

// Covers reports whether g lets a call with these keys start now in a task of this context, in the
// store of this incarnation. It covers nothing before it was made, should the clock be set back.
func (g *Grant) Covers(keys []string, task, context, incarnation string, now time.Time) bool {
	return g.V == Version && g.Key != "" && slices.Contains(keys, g.Key) && g.Store == incarnation && g.in(task, context) &&
		!now.Before(g.Made) && now.Before(g.Until) && (g.Uses == 0 || g.Used < g.Uses)
}

// Continues is Covers for a call that g has let start, and that is entered again.
func (g *Grant) Continues(keys []string, task, context, incarnation string, now time.Time) bool {
	still := *g
	still.Uses = 0
	return still.Covers(keys, task, context, incarnation, now)
}

func (g *Grant) in(task, context string) bool {
	switch g.Scope {
	case GrantTask:
		return g.Task == task
	case GrantContext:
		return g.Context == context && context != ""
	case GrantTime:
		return true
	}
	return false
}

// maxWords bounds Words, in characters.
const maxWords = 500

// String returns what g lets run, such as `send_mail with to "bob@x", any /subject, in this
// context, until 2026-11-27 17:00 UTC, 3 of 50 used`.
func (g *Grant) String() string {
	parts := []string{visible.Clip(g.Tool, 128)}
	if args, err := strictjson.DecodeObject(g.Args); err != nil {
		parts[0] += " with arguments that cannot be shown"
	} else {
		named := slices.DeleteFunc(slices.Sorted(maps.Keys(args)), func(name string) bool {
			return slices.ContainsFunc(g.Vary, func(p string) bool { return slices.Equal(splitPointer(p), []string{name}) })
		})
		for i, name := range named {
			value, _ := strictjson.Canonical(args[name])
			text := visible.Clip(name, 64) + " " + visible.Clip(string(value), 128)
			if i == 0 {
				parts[0] += " with " + text
			} else {
				parts = append(parts, text)
			}
		}
	}
	for _, pointer := range g.Vary {
		parts = append(parts, "any "+visible.Clip(strings.TrimPrefix(pointer, "/"), 64))
	}
	said := visible.Shorten(strings.Join(parts, ", "), maxWords)
	switch g.Scope {
	case GrantTask:
		said += ", in the same task"
	case GrantContext:
		said += ", in the same context"
	case GrantTime:
	}
	said += ", until " + g.Until.UTC().Format("2006-01-02 15:04 UTC")
	if g.Uses > 0 {
		said += fmt.Sprintf(", %d of %d used", g.Used, g.Uses)
	}
	return said
}

// GrantKey returns the key of the grants that cover the call of a, about which v is the verdict: the
// lower-case hex SHA-256 of the canonical JSON of everything that has to be the same. It is "" if no grant
// may cover the call. args are from a strict decode, and restored is as for [Digest].
func (v *Verdict) GrantKey(a *Approval, args map[string]any, restored []string) (string, error) {
	if v.Action != ActionAsk || v.Terms.Grants == nil {
		return "", nil
	}
	terms, err := json.Marshal(v.Terms)
	if err != nil {
		return "", fmt.Errorf("grants of the tool %q: %w", a.Tool, err)
	}
	by := a.Requester
	text, err := strictjson.Canonical(map[string]any{
		"v": 1, "tenant": by.Tenant, "subject": by.Subject, "kind": string(by.Kind), "chain": slices.Sorted(slices.Values(by.Chain)),
		"roles": slices.Sorted(slices.Values(by.Roles)),
		"agent": a.Agent, "tool": a.Tool, "definition": a.Definition, "terms": string(terms), "gates": append([]string{}, v.asks...), "own": v.own,
		"args": without(args, v.Terms.Grants.Vary, varied), "restored": append([]string{}, restored...),
	})
	if err != nil {
		return "", fmt.Errorf("grants of the tool %q: %w", a.Tool, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// ExactGrantKey returns the key of the grants that cover only the calls with a digest, among those
// with a key. A server that does not know such grants finds none of them for a call.
func ExactGrantKey(key, digest string) string { return key + "/" + digest }

// varied stands for a value that may vary, where it was.
const varied = "\x00any"

// without returns args with each value at one of the pointers replaced. Nil args are an empty object.
func without(args map[string]any, pointers []string, with string) map[string]any {
	var v any = args
	if args == nil {
		v = map[string]any{}
	}
	for _, pointer := range pointers {
		v = replaceAt(v, splitPointer(pointer), with)
	}
	out, _ := v.(map[string]any)
	return out
}
