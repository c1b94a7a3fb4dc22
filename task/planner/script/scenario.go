package script

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// scenario is an entry of the file.
type scenario struct {
	name  string
	when  condition
	steps []step
}

// step is any of the types below. Their strings are templates.
type step interface{ isStep() }

type (
	messageStep struct{ content content }
	statusStep  struct {
		content  content // may be empty
		metadata map[string]any
	}
	artifactStep struct {
		about   about
		content content
		last    bool
	}
	chunksStep struct {
		about about
		texts []string
		// count is how often text is published if texts is empty.
		count int
		text  string
	}
	callStep struct{ calls []call }
	waitStep struct{ duration time.Duration }
	askStep  struct {
		content content // may be empty
		auth    bool
	}
	endStep struct {
		state   a2a.TaskState
		content content // may be empty
	}
	errorStep struct {
		is    error // of the SDK
		named bool  // the script gives the name
		text  string
	}
)

func (messageStep) isStep()  {}
func (statusStep) isStep()   {}
func (artifactStep) isStep() {}
func (chunksStep) isStep()   {}
func (callStep) isStep()     {}
func (waitStep) isStep()     {}
func (askStep) isStep()      {}
func (endStep) isStep()      {}
func (errorStep) isStep()    {}

// about is the description of an artifact, and whether it appends to an existing artifact.
type about struct {
	id, name, description string
	metadata              map[string]any
	extensions            []string
	append                bool
}

type call struct {
	tool, alias string
	args        map[string]any
}

// content is the parts of a message or an artifact.
type content []part

// part is a part whose strings are templates. Exactly one of the pointers and data is set.
type part struct {
	text, url, fileText *string
	bytes               []byte // if not nil
	data                *any
	mediaType, filename string
	metadata            map[string]any
}

// len returns the number of pieces.
func (s chunksStep) len() int {
	if len(s.texts) > 0 {
		return len(s.texts)
	}
	return s.count
}
