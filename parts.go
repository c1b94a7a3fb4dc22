package a2aserver

import (
	"errors"
	"fmt"
	"os"

	"a2a-server/a2a/dialect"
	"a2a-server/internal/app/config"
	"a2a-server/task"
	"a2a-server/task/planner/direct"
	"a2a-server/task/planner/script"
	"a2a-server/tool"
)

// ErrConfig says that a configuration is valid by itself, but not with the things that it
// names, such as a script file.
var ErrConfig = errors.New("the configuration cannot be used")

// parts are the parts of a Server that depend on the configuration and hold nothing open,
// apart from the state.
type parts struct {
	planner   task.Planner
	presenter task.Presenter
}

// parts returns the parts given in c, and the configured parts for the rest. always is called
// while the server runs.
func (c *Config) parts(conf *config.Config, always func(tool.Tool) bool) (parts, error) {
	p := parts{planner: c.Planner, presenter: c.Presenter}
	if p.planner == nil {
		var err error
		if p.planner, err = newPlanner(conf.Planner, always); err != nil {
			return parts{}, fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	if p.presenter == nil {
		p.presenter = dialect.New(dialect.Config{Keywords: conf.Keywords})
	}
	return p, nil
}

func newPlanner(c config.Planner, always func(tool.Tool) bool) (task.Planner, error) {
	switch c.Kind {
	case "direct":
		return direct.New(direct.Config{Approval: always}), nil
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
