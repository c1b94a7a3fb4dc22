// Package yamlconfig configures a server as the program a2a-server does: with the keys of docs/configuration.md, for
// programs that embed a server.
package yamlconfig

import (
	a2aserver "a2a-server"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/operator"
)

// ReadConfig reads the operator's configuration: the YAML file, "" for none, and then the variables A2A_SERVER_… of
// an environment of NAME=value, which override it. The program may change the Settings, and add parts in Go;
// [a2aserver.New] checks the whole. [a2aserver.Server.Reload] reads the same file again, and the same environment.
//
// The error has a line for each problem, with its place.
func ReadConfig(file string, environment []string) (a2aserver.Config, error) {
	source := config.Source{File: file, Environment: environment, Later: true}
	conf, err := config.Load(source)
	if err != nil {
		return a2aserver.Config{}, err
	}
	c, _ := operator.Configure(source, conf)
	return c, nil
}
