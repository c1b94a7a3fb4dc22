package a2aserver

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/auth/apikey"
	"a2a-server/internal/app/config"
	"a2a-server/internal/reach"
	"a2a-server/store"
)

// callers returns the callers that a configuration and the valid API keys let in; keys may be nil.
func callers(conf *config.Config, keys *apikey.Authenticator) []config.Caller {
	if keys == nil {
		return config.Callers(conf, nil)
	}
	return config.Callers(conf, keys.Holders())
}

// checkRoles returns an error with all roles that have no effect for want of a tenant, and all gates that no caller
// may decide. New and Reload only warn of them: a refused reload would keep a revocation out.
func (c *Config) checkRoles(conf *config.Config, keys *apikey.Authenticator) error {
	var errs []error
	for _, text := range config.InertRoles(callers(conf, keys)) {
		errs = append(errs, fmt.Errorf("%w: auth: %s", ErrConfig, text))
	}
	undecidable, warnings := c.roleProblems(conf, keys)
	warn(c.Log, warnings)
	for _, text := range undecidable {
		errs = append(errs, fmt.Errorf("%w: %s", ErrConfig, text))
	}
	return errors.Join(errs...)
}

// roleProblems returns the gates that no caller may decide, and warnings about the roles of a configuration that
// nothing names and the roles of approvers that no caller has. A program with rules or callers of its own may know
// more.
func (c *Config) roleProblems(conf *config.Config, keys *apikey.Authenticator) (undecidable, warnings []string) {
	if c.Policy != nil || len(c.Hooks) > 0 || c.Decider != nil {
		return nil, nil
	}
	all := callers(conf, keys)
	warnings = config.UnnamedRoles(conf, all)
	if c.Authenticator != nil {
		return nil, warnings
	}
	undecidable, unmet := config.UnmetApprovers(conf, all)
	return undecidable, append(warnings, unmet...)
}

// unreached returns the count of tasks that no caller may see; nil: the program that embeds the server knows
// the callers.
func (c *Config) unreached(conf *config.Config, keys *apikey.Authenticator) *reach.Unreached {
	if c.Authenticator != nil {
		return nil
	}
	return reach.New(callers(conf, keys), !conf.Auth.Given())
}

// warnUnreached logs how many tasks of the store no caller may see. It reads the headers of all tasks.
func (s *Server) warnUnreached(ctx context.Context) {
	unreached := s.given.unreached(s.config, s.apiKeys)
	if unreached == nil {
		return
	}
	for h, err := range store.AllTasks(ctx, s.store.handle, store.System(), store.Query{Limit: 1000}) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.log.Warn().Err(err).Msg("it is not known whether tasks are out of reach of all callers")
			return
		}
		unreached.Add(h)
	}
	warn(s.log, unreached.Warnings())
}
