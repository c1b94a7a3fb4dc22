package script

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// scenario is one entry of the file.
type scenario struct {
	name  string
	when  condition
	steps []step
}

// step is one of the types below. Their strings are templates.
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
		// count, when texts is empty, is how often text is published.
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
		named bool  // in the script
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

// about is what an artifact says of itself, and whether it continues with one that is
// there.
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

// content is what a message or an artifact holds.
type content []part

// part is a part whose strings are templates. Exactly one of the pointers and data
// is set.
type part struct {
	text, url, fileText *string
	bytes               []byte // when not nil
	data                *any
	mediaType, filename string
	metadata            map[string]any
}

// len is how many pieces the chunks are.
func (s chunksStep) len() int {
	if len(s.texts) > 0 {
		return len(s.texts)
	}
	return s.count
}
