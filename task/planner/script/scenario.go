package script

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// scenario is an entry of the file.
type scenario struct {
	name  string
	when  condition
	steps []*step
}

// step is a step of a scenario. Its strings are templates; kind says which fields it has.
type step struct {
	kind     stepKind
	content  content // of a status, a question and an end: may be empty
	metadata map[string]any
	about    about // of an artifact
	last     bool
	// chunks is how many pieces an artifact has: those of texts or, if it is empty, text each time.
	chunks   int
	texts    []string
	text     string // or of an error
	calls    []call
	duration time.Duration
	auth     bool
	state    a2a.TaskState
	is       error // of the SDK
	named    bool  // the script gives the name of the error
}

type stepKind int

const (
	directMessage stepKind = iota + 1
	statusUpdate
	wholeArtifact
	artifactChunks
	toolCalls
	waiting
	asking
	ending
	failing
)

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
