package operator

import (
	"errors"
	"fmt"
	"slices"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/reach"
)

// callers returns the callers that a configuration and the valid API keys let in.
func (o *Operator) callers(conf *config.Config) []config.Caller {
	var holders []auth.Principal
	if o.keys != nil {
		holders = o.keys.Holders()
	}
	return config.Callers(conf, holders)
}

// checkRoles returns an error with all roles that have no effect for want of a tenant, and all gates that no caller
// may decide. New and Reload only warn of them: a refused reload would keep a revocation out.
func (o *Operator) checkRoles() (warnings []string, _ error) {
	var errs []error
	for _, text := range config.InertRoles(o.callers(o.conf)) {
		errs = append(errs, fmt.Errorf("%w: auth: %s", a2aserver.ErrConfig, text))
	}
	undecidable, warnings := o.roleProblems(o.conf)
	for _, text := range undecidable {
		errs = append(errs, fmt.Errorf("%w: %s", a2aserver.ErrConfig, text))
	}
	return warnings, errors.Join(errs...)
}

// roleProblems returns the gates that no caller may decide, and warnings about the roles of a configuration that
// nothing names and the roles of approvers that no caller has. A program with rules or callers of its own may know
// more.
func (o *Operator) roleProblems(conf *config.Config) (undecidable, warnings []string) {
	if c := o.given; c.Policy != nil || len(c.Hooks) > 0 || c.Decider != nil {
		return nil, nil
	}
	callers := o.callers(conf)
	warnings = config.UnnamedRoles(conf, callers)
	if o.given.Authenticator != nil {
		return nil, warnings
	}
	undecidable, unmet := config.UnmetApprovers(conf, callers)
	return undecidable, slices.Concat(warnings, unmet)
}

// reach returns the count of tasks that no caller may see.
func (o *Operator) reach() *reach.Unreached {
	return reach.New(o.callers(o.conf), !o.conf.Auth.Given())
}
