package toolset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	a2aserver "a2a-server"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/catalog"
	"a2a-server/internal/lists"
)

// checkGates looks for gates that match no tool: if a name is misspelled, calls run that
// should have been approved first. Such a gate is an error if all tools are known. It is only
// a warning if a toolset may have more tools than it has listed, or if the gate is a pattern,
// which may be for future tools. conf has the places of the gates; nil: the policy was made in
// Go.
func checkGates(p *approval.Policy, conf *config.Config, listed catalog.Listed) (warnings []string, _ error) {
	errs := lists.Map(listed.Crowded(p), func(err error) error { return fmt.Errorf("%w: %w", a2aserver.ErrConfig, err) })
	var wrong []config.Problem
	for _, u := range listed.Unmatched(p) {
		problem := config.Problem{Key: fmt.Sprintf("gate %d of the policy", u.Gate), Problem: u.Text}
		if conf != nil {
			problem = conf.Problem(config.GatePath(conf, u.Gate), "%s", u.Text)
		}
		switch {
		case !u.Sure:
			warnings = append(warnings, problem.String())
		case conf != nil:
			wrong = append(wrong, problem)
		default:
			errs = append(errs, fmt.Errorf("%w: %s", a2aserver.ErrConfig, problem))
		}
	}
	if len(wrong) > 0 {
		errs = append(errs, &config.Error{Problems: wrong})
	}
	return warnings, errors.Join(errs...)
}

// checkPersons warns of local users who may decide and have no person, if a gate requires four
// eyes: the server then cannot tell whether such a user is also the requester, known by a key
// or token, and refuses their decisions.
func (s *State) checkPersons() (warnings []string) {
	gates := s.Policy.Gates()
	if i := slices.IndexFunc(gates, func(g approval.Gate) bool { return g.Terms.FourEyes || g.Terms.People > 1 }); i >= 0 {
		warnings = s.checkNames(gateWords(gates[i]))
	}
	at := slices.IndexFunc(gates, func(g approval.Gate) bool { return g.Terms.FourEyes })
	if at < 0 {
		return warnings
	}
	for i, u := range s.conf.Auth.Socket {
		p, err := s.conf.Auth.People.Known(auth.Principal{Tenant: cmp.Or(u.Tenant, s.conf.Auth.Tenant), Subject: "socket:" + u.Subject, Person: u.Person})
		if p.Person != "" || err != nil || !slices.Contains(s.conf.Auth.RolesOr(u.Roles), auth.RoleApprover) {
			continue
		}
		warnings = append(warnings, s.conf.Problem(fmt.Sprintf("auth.socket[%d].subject", i),
			"%s has no person, so under four_eyes (%s) this user decides no call of a key or a token; set person to their name there, such as corp:alice, or list their subjects in auth.people",
			u.Subject, gateWords(gates[at])).String())
	}
	return warnings
}

// checkNames warns of keys and local users whose person has to be seen before they count, or never can be.
func (s *State) checkNames(gate string) (warnings []string) {
	callers, _ := s.callers() // the start reports a faulty file of keys
	for _, c := range callers {
		if p, err := s.conf.Auth.People.Known(c.Principal); err == nil && p.Kind == auth.KindPerson && p.Doubtful() {
			warnings = append(warnings, fmt.Sprintf("%s is the person %q, who counts for %s once the server has seen them under exactly this subject, which many issuers make a UUID, and whose votes and decisions are refused until then; look at the subject of an approval of theirs, or list their subjects in auth.people",
				p.Subject, p.Person, gate))
		}
	}
	return warnings
}

// callers returns the callers of the configuration, with the holders of its API keys.
func (s *State) callers() ([]config.Caller, error) {
	var holders []auth.Principal
	if file := s.conf.Auth.Keys.File; file != "" {
		keys, err := apikey.New(apikey.Config{File: file, Tenant: s.conf.Auth.Tenant})
		if err != nil {
			return nil, err
		}
		holders = keys.Holders()
	}
	return config.Callers(s.conf, holders), nil
}

// gateWords returns how a gate is called in messages.
func gateWords(g approval.Gate) string { return cmp.Or(g.Name, "gate for "+g.Tool) }
