package config

import (
	"regexp"
	"strings"
)

const (
	// prefix begins the name of every variable that is ours.
	prefix = "A2A_SERVER_"
	// fileVariable names the file, which the caller has read.
	fileVariable = prefix + "CONFIG"
)

// environment takes the variables that are ours. One that is not known is an error:
// it is more likely misspelt than meant for nobody.
func (l *loader) environment(environ []string) {
	byName := map[string]key[Config]{}
	for _, k := range l.keys {
		byName[variable(k.name)] = k
	}
	for _, line := range environ {
		name, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(name, prefix) || name == fileVariable {
			continue
		}
		at := origin{layer: Environment, name: printable(name)}
		k, known := byName[name]
		switch {
		case known:
			put(l, k, l.config, given{path: k.name, texts: k.split(value), at: at})
		case name == variable(gatesKey):
			l.add(at, gatesKey, "gates can only be set in the file")
		case !fromKubernetes(name):
			l.add(at, name, "there is no such setting%s", l.didYouMean(name, append(names(l.keys, variable), fileVariable)))
		}
	}
}

// Kubernetes tells every container about every service of its namespace, by
// variables that begin with the service's name. For one called a2a-server or
// a2a-server-more they look like ours.
var serviceLink = regexp.MustCompile(`^` + prefix + `([A-Z0-9_]+_)?` +
	`(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

func fromKubernetes(name string) bool { return serviceLink.MatchString(name) }
