package a2aserver

import (
	"fmt"

	"a2a-server/internal/demo"
	"a2a-server/task/inbox/web"
	"a2a-server/tool"
)

// checkDemo returns why the server cannot be the demo that its program wants: the persona of a demo
// decides in place of another person, so nobody else may reach the pages.
func (s *Server) checkDemo() error {
	switch {
	case !s.given.Inside.Demo:
		return nil
	case s.Authenticator != nil || s.port == nil || !loopback(s.Addr()) || s.open() != "":
		return fmt.Errorf("%w: a demo has no authentication, and only this machine reaches it: remove auth, and listen on 127.0.0.1", ErrConfig)
	}
	return nil
}

// demo returns the demo on the pages; nil: they are none. New has called checkDemo.
func (s *Server) demo() *web.Demo {
	if !s.given.Inside.Demo {
		return nil
	}
	tools := s.tools.Load().Registry
	definition := func(name string) tool.Definition {
		found, err := tools.Lookup(nil, name)
		if err != nil {
			return tool.Definition{Name: name} // its call says that there is no such tool
		}
		return found.Definition
	}
	return &web.Demo{Samples: demo.Samples(definition, !s.plainWords())}
}
