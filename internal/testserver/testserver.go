// Package testserver configures servers in tests by the names of the operator's keys.
package testserver

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/a2a/agentcard"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/yamlconfig"
	"a2a-server/internal/inside"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Config is an [a2aserver.Config] whose settings have names.
type Config struct {
	File         string            // path of a YAML file; "": none
	Environment  []string          // NAME=value
	Set          map[string]string // values by key, such as "limits.tool_timeout"; they override the file and the environment
	DefaultTools []tool.Toolset    // as long as the configuration has no key tools

	Tools                  []tool.Toolset
	Planner                task.Planner
	Decider                task.Decider
	ToolDeciders           map[string]task.Decider
	Hooks                  []task.Hook
	Policy                 *approval.Policy
	AfterHooks, ErrorHooks []task.AfterHook
	Memory                 agent.Memory
	Presenter              task.Presenter
	Authenticator          auth.Authenticator
	Extensions             []agentcard.Extension
	Store                  store.Handle
	Init, NoListen         bool
	Log                    zerolog.Logger
	Now                    func() time.Time
	Host                   engine.Host
	CrashPoint             func(point string)
	Inside                 inside.Options
}

// Read returns the Config of a server.
func (c Config) Read() (a2aserver.Config, error) {
	environment := slices.Clone(c.Environment)
	for key, value := range c.Set {
		environment = append(environment, Variable(key)+"="+value)
	}
	read, err := yamlconfig.ReadConfig(c.File, environment)
	if err != nil {
		return read, err
	}
	to, from := reflect.ValueOf(&read).Elem(), reflect.ValueOf(c)
	for i := range from.NumField() {
		if field := to.FieldByName(from.Type().Field(i).Name); field.IsValid() && !from.Field(i).IsZero() {
			field.Set(from.Field(i))
		}
	}
	if o, is := read.Operator.(interface{ SetDefaultTools(sets []tool.Toolset) }); is {
		o.SetDefaultTools(c.DefaultTools)
	}
	return read, nil
}

// Variable returns the name of the variable of a key.
func Variable(key string) string {
	return "A2A_SERVER_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// Must is Read in a test.
func (c Config) Must(t testing.TB) a2aserver.Config {
	t.Helper()
	read, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// New is [a2aserver.New].
func New(c Config) (*a2aserver.Server, error) {
	read, err := c.Read()
	if err != nil {
		return nil, err
	}
	return a2aserver.New(read)
}

// Check is [a2aserver.Check].
func Check(c Config) error {
	read, err := c.Read()
	if err != nil {
		return err
	}
	return a2aserver.Check(read)
}
