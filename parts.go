package a2aserver

import (
	"errors"
	"fmt"
	"os"

	"a2a-server/internal/app/config"
	"a2a-server/task"
	"a2a-server/task/planner/direct"
	"a2a-server/task/planner/script"
	"a2a-server/tool"
)

// ErrConfig says that a configuration is valid by itself, but not with the things that it
// names, such as a script file.
var ErrConfig = errors.New("the configuration cannot be used")

// planner returns the given planner, or else that of the configuration. always is called while
// the server runs.
func (c *Config) planner(conf *config.Config, always func(tool.Tool) bool) (task.Planner, error) {
	switch {
	case c.Planner != nil:
		return c.Planner, nil
	case conf.Planner.Kind == "direct":
		return direct.New(direct.Config{Approval: always}), nil
	}
	path := conf.Planner.Script
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: open the planner's script: %w: name the file of scenarios with planner.script", ErrConfig, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	scripted, err := script.Load(file, path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return scripted, nil
}
