package config

import (
	"cmp"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/lists"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

// RouteKind is a way to send messages.
type RouteKind string

// The kinds of routes.
const (
	RouteWebhook RouteKind = "webhook"
	RouteSlack   RouteKind = "slack"
	RouteSMTP    RouteKind = "smtp"
)

// maxRoutes limits the rows that an approval writes.
const maxRoutes = 50

// Route is an entry of notify. It has the fields of its kind; those of other kinds are zero.
type Route struct {
	Name      string         `yaml:"name" required:"yes" text:"route name" doc:"Unique name, for gates."`
	Kind      RouteKind      `yaml:"kind" required:"yes" oneof:"a kind of route: webhook, slack, smtp" doc:"webhook posts JSON (Standard Webhooks)."`
	URL       Value          `yaml:"url" kinds:"webhook slack" needed:"yes" as:"URL or place" form:"a URL, {env: NAME} or {file: PATH}" doc:"Of webhook and slack, whose URL is a secret."`
	Secret    Value          `yaml:"secret" kinds:"webhook" needed:"yes" as:"place" form:"{env: NAME} or {file: PATH}" doc:"Signs a webhook: whsec_ and base64."`
	Networks  []netip.Prefix `yaml:"networks" kinds:"webhook slack" doc:"Addresses of url that are not public."`
	SMTP      SMTP           `yaml:"smtp"`
	To        []string       `yaml:"to" kinds:"smtp" needed:"yes" text:"mail" doc:"Recipients of mails."`
	Requester bool           `yaml:"requester" kinds:"smtp" doc:"Mails the requester, at a verified address."`
	Events    []string       `yaml:"events" default:"asked,reminded" oneof:"an event: asked, reminded, escalated, resolved" doc:"New approvals, reminders, escalations, or the ends of approvals."`
	All       bool           `yaml:"all" doc:"Announces all approvals."`
	Arguments bool           `yaml:"arguments" doc:"Messages have the arguments, masked."`
}

// SMTP is a server for mail.
type SMTP struct {
	Host     string `yaml:"host" kinds:"smtp" needed:"yes" text:"name" doc:"Server for mail."`
	Port     int    `yaml:"port" default:"0" max:"65535" doc:"0: 587, 465 with tls, 25 with none."`
	TLS      string `yaml:"tls" default:"starttls" oneof:"a form of TLS: starttls, tls, none" doc:"Encryption."`
	User     string `yaml:"user" text:"name" doc:"User of the server."`
	Password Value  `yaml:"password" as:"place" form:"{env: NAME} or {file: PATH}" doc:"Password of the user."`
	From     string `yaml:"from" kinds:"smtp" needed:"yes" text:"sender" doc:"Sender of mails."`
}

const placeExample = "{file: /run/secrets/ops} or {env: OPS}"

// urlOrPlaced reads a URL, or the place of one.
func urlOrPlaced(l *loader, n strictyaml.Node) (s Value) {
	if n.IsMapping() {
		return Value{At: l.place(n, placeExample)}
	}
	s.Text = readText(n, func(text string) error {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("is not a URL; write it as https://ops.example.com/hook, or where it is, as in {file: PATH}")
		}
		return setting.OneLine(text)
	})
	return s
}

func anAddress(text string) error {
	at, err := mail.ParseAddress(text)
	if err != nil || at.Address != text {
		return fmt.Errorf("%s is not a mail address; write one such as alice@example.com", quote(text))
	}
	return setting.OneLine(text)
}

func aRouteName(name string) error {
	if len(name) > 64 {
		return fmt.Errorf("is too long; write at most 64 characters")
	}
	return approval.CheckNotify(name)
}

// checkRoute checks the keys of a route that depend on each other.
func checkRoute(l *loader, r *Route, n strictyaml.Node) {
	if name := n.Below("name").Path(); l.has(name) && slices.ContainsFunc(l.config.Notify, func(other Route) bool { return other.Name == r.Name }) {
		l.at(name, "another route is called %s, too; give each its own name", quote(r.Name))
	}
	if !l.has(n.Below("kind").Path()) {
		return
	}
	for _, k := range keysOf(r) {
		path := n.Path() + "." + k.name
		switch has := k.hasKind(string(r.Kind)); {
		case has && k.tagged("needed") && (k.field.IsZero() || k.isList() && k.field.Len() == 0) && !l.refused[path] && (k.name != "to" || !r.Requester):
			l.at(n.Below("kind").Path(), "%s needs %s", r.Kind, k.name)
		case !has && l.given(path):
			l.at(path, "is of no use to a route of the kind %s; remove it", r.Kind)
		}
	}
	l.refuse(r.Kind == RouteSlack && r.URL.Text != "", n.Below("url").Path(), "is a secret of Slack's; write where it is, as in {file: PATH}")
	l.refuse(r.Requester && len(r.To) > 0, n.Below("to").Path(), "and requester exclude each other; write a route for each")
	l.refuse(r.Requester && (slices.Contains(r.Events, "reminded") || slices.Contains(r.Events, "escalated")) && l.given(n.Path()+".events"), n.Below("events").Path(), "has no effect for reminded and escalated, which requesters do not get; write asked or resolved")
	l.refuse(r.Requester && !l.given(n.Path()+".events"), n.Below("requester").Path(), "needs events; write [resolved] to tell how an approval has ended")
	user, password := n.Path()+".smtp.user", n.Path()+".smtp.password"
	l.refuse((r.SMTP.User == "") != (r.SMTP.Password == Value{}) && !l.refused[user] && !l.refused[password], n.Below("kind").Path(), "smtp.user and smtp.password belong together; write both or none")
}

// checkGateRoutes refuses the names of routes that do not exist: nobody would be told.
func checkGateRoutes(l *loader, g *approval.Gate, n strictyaml.Node) {
	named := map[string][]string{"notify": g.Terms.Notify, "escalate.notify": g.Terms.Escalate.Notify}
	l.references = append(l.references, func() {
		for key, names := range named {
			for _, name := range names {
				if wrong := wrongRoute(l.config.Notify, name, key != "notify"); wrong != "" {
					l.at(n.Path()+"."+key, "%s", wrong)
				}
			}
		}
	})
}

// wrongRoute returns why a gate cannot name a route; "": it can.
func wrongRoute(routes []Route, name string, escalates bool) string {
	known := lists.Map(routes, func(r Route) string { return r.Name })
	switch i := slices.Index(known, name); {
	case i < 0:
		return "there is no route " + quote(name) + cmp.Or(suggest.DidYouMean(name, "", known), "; add it under notify, or remove the name")
	case escalates && routes[i].Requester:
		return "the route " + quote(name) + " is for the requester, who cannot decide; name another"
	}
	return ""
}

// NotifyWarnings returns who may decide and is told nowhere, and routes and reminders that
// announce nothing.
func NotifyWarnings(c *Config) (warnings []string) {
	warn := func(path, format string, args ...any) {
		warnings = append(warnings, c.Problem(path, format, args...).String())
	}
	named := map[string]bool{}
	gates := writtenGates(c)
	for i := range gates {
		for _, name := range slices.Concat(gates[i].Terms.Notify, gates[i].Terms.Escalate.Notify) {
			named[name] = true
		}
	}
	for i := range c.Notify {
		r, path := &c.Notify[i], fmt.Sprintf("notify[%d]", i)
		if !r.All && !named[r.Name] {
			warn(path+".name", "no gate names the route %s, so it announces nothing; name it in notify of a gate, or set all: true", quote(r.Name))
		}
		if r.Requester && len(c.Auth.OIDC) == 0 {
			warn(path+".requester", "mails nobody, because only tokens of auth.oidc verify an address; add an issuer, or remove the route")
		}
	}
	for i := range gates {
		g, path := &gates[i].Gate, gates[i].path+".tool"
		if g.Terms.Remind > 0 && !reminds(c.Notify, g, gates) {
			warn(path, "remind reminds nobody: no route announces it; add notify to the gate, or a route with all: true")
		}
		if len(c.Notify) == 0 || g.Action != approval.ActionAsk || tells(c.Notify, g, "asked") {
			continue
		}
		who := "every approver"
		if a := g.Terms.Approvers; a != nil {
			who = strings.Join(slices.Concat(lists.Map(a.Roles, func(role string) string { return "role " + role }), a.Subjects), ", ")
		}
		warn(path, "%s may decide the calls that this gate asks about, and is told on no route; add notify to it, or a route with all: true", who)
	}
	return warnings
}

// tells reports whether a route announces an event about calls of a gate to somebody who may decide.
func tells(routes []Route, g *approval.Gate, event string) bool {
	return slices.ContainsFunc(routes, func(r Route) bool {
		return !r.Requester && slices.Contains(r.Events, event) && (r.All || slices.Contains(g.Terms.Notify, r.Name))
	})
}

// reminds reports whether the reminder of a gate is announced to somebody who may decide: on a route
// of the gate, of its escalation, if that comes first, or of another gate that asks about every call of all its tools.
func reminds(routes []Route, g *approval.Gate, others []placedGate) bool {
	whole := *g
	if e := g.Terms.Escalate; e.After > 0 && e.After <= g.Terms.Remind {
		whole.Terms.Notify = slices.Concat(g.Terms.Notify, e.Notify)
	}
	return tells(routes, &whole, "reminded") || slices.ContainsFunc(others, func(o placedGate) bool {
		return o.Action == approval.ActionAsk && !o.Conditional() && tells(routes, &o.Gate, "reminded") &&
			!slices.ContainsFunc(g.Patterns(), func(tool string) bool { return !o.Matches(tool) })
	})
}
