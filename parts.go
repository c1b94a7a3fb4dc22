package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"os"

	"a2a-server/a2a/dialect"
	"a2a-server/approval"
	"a2a-server/internal/app/config"
	"a2a-server/task"
	"a2a-server/task/planner/direct"
	"a2a-server/task/planner/script"
	"a2a-server/tool"
)

// ErrConfig says that a configuration is valid by itself, but not with the things that it
// names, such as a script file.
var ErrConfig = errors.New("the configuration cannot be used")

// parts are the parts of a Server that depend on the configuration and hold nothing open.
type parts struct {
	planner   task.Planner
	policy    *approval.Policy
	presenter task.Presenter
	registry  *tool.Registry
	tools     []tool.Tool // those that anonymous callers may use
	warnings  []string
}

// parts returns the parts given in c, and the configured ones for the rest.
func (c *Config) parts(conf *config.Config) (parts, error) {
	p := parts{planner: c.Planner, policy: c.Policy, presenter: c.Presenter}
	var policyErr, plannerErr error
	if p.policy == nil {
		p.policy, policyErr = conf.Policy()
	}
	if p.planner == nil && policyErr == nil {
		p.planner, plannerErr = newPlanner(conf.Planner, p.policy)
	}
	if p.presenter == nil {
		p.presenter = dialect.New(dialect.Config{Keywords: conf.Keywords})
	}
	if err := errors.Join(policyErr, plannerErr); err != nil {
		return parts{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	p.registry = tool.NewRegistry(c.Tools...)
	if _, err := p.registry.Static(); err != nil {
		return parts{}, fmt.Errorf("list the tools: %w", err)
	}
	var down error
	if p.tools, down = anonymousTools(context.Background(), p.registry, conf.Agent.Name); errors.Is(down, tool.ErrCollision) {
		return parts{}, fmt.Errorf("list the tools: %w", down)
	}
	if c.Policy != nil {
		conf = nil // its gates are not used
	}
	var err error
	p.warnings, err = checkGates(p.policy, conf, p.tools, p.registry.Dynamic())
	if down != nil {
		p.warnings = append(p.warnings, fmt.Sprintf("some tools cannot be listed: %v; the server starts without them", down))
	}
	return p, err
}

func newPlanner(c config.Planner, policy *approval.Policy) (task.Planner, error) {
	switch c.Kind {
	case "direct":
		return direct.New(direct.Config{Approval: policy.Always}), nil
	case "script":
		file, err := os.Open(c.Script)
		if err != nil {
			return nil, fmt.Errorf("open the planner's script: %w: name the file of scenarios with planner.script", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		return script.Load(file, c.Script)
	default:
		return nil, fmt.Errorf("unknown planner %q: use direct or script", c.Kind)
	}
}
