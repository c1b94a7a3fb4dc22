package toolset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/internal/app/config"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
	"a2a-server/tool"
)

// checkGates looks for gates that match no tool: if a name is misspelled, calls run that
// should have been approved first. Such a gate is an error if all tools are known. It is only
// a warning if a toolset may have more tools than it has listed, or if the gate is a pattern,
// which may be for future tools. conf has the places of the gates; nil: the policy was made in
// Go.
func checkGates(p *approval.Policy, conf *config.Config, tools []tool.Tool, dynamic bool) (warnings []string, _ error) {
	gates := p.Gates()
	if len(gates) == 0 {
		return nil, nil
	}
	names := lists.Map(tools, tool.Tool.Name)
	var wrong []config.Problem
	var errs []error
	for _, name := range names {
		if n := p.Conditions(name); n > approval.MaxConditions {
			errs = append(errs, fmt.Errorf("%w: gates: %s", config.ErrUnusable, approval.Crowded(n, name)))
		}
	}
	for i := range gates {
		for _, name := range gates[i].Patterns() {
			if slices.ContainsFunc(names, approval.Gate{Tool: name}.Matches) {
				continue
			}
			problem := config.Problem{Key: fmt.Sprintf("gate %d of the policy", i)}
			if conf != nil {
				problem = conf.Problem(config.GatePath(conf, i))
			}
			pattern := strings.Contains(name, "*")
			problem.Problem = unknownTool(name, "this gate does nothing", names)
			switch {
			case pattern || dynamic:
				warnings = append(warnings, problem.String())
			case conf != nil:
				wrong = append(wrong, problem)
			default:
				errs = append(errs, fmt.Errorf("%w: %s", config.ErrUnusable, problem))
			}
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
	gates := s.policy.Gates()
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
		problem := s.conf.Problem(fmt.Sprintf("auth.socket[%d].subject", i))
		problem.Problem = fmt.Sprintf("%s has no person, so under four_eyes (%s) this user decides no call of a key or a token; set person to their name there, such as corp:alice, or list their subjects in auth.people",
			u.Subject, gateWords(gates[at]))
		warnings = append(warnings, problem.String())
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

// unknownTool returns the text of the problem that no tool has a name or matches a pattern,
// with its consequence.
func unknownTool(name, means string, known []string) string {
	if strings.Contains(name, "*") {
		return fmt.Sprintf("no tool matches %q, so that %s", name, means)
	}
	return fmt.Sprintf("there is no tool %+q%s", name, suggest.DidYouMean(name, "", known))
}
