package tool

// Annotations are a tool's declarations about the effects of a call. They are not verified.
// The zero value, which also stands for a tool without declarations, is the cautious case: a
// call has an effect, and repeating it has that effect again.
type Annotations struct {
	// ReadOnly says that a call changes nothing, so it may be repeated.
	ReadOnly bool
	// Idempotent says that repeating a call with the same arguments, task id and call id
	// has no additional effect.
	Idempotent bool
	// Destructive says that a call may irreversibly delete or overwrite something.
	Destructive bool
}

// Words returns the declarations of a in the words shown to people.
func (a Annotations) Words() []string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{{a.ReadOnly, "read-only"}, {a.Idempotent, "idempotent"}, {a.Destructive, "destructive"}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return words
}

// Annotated is a tool that declares [Annotations].
type Annotated interface {
	Annotations() Annotations
}

// AnnotationsOf returns the annotations of the outermost tool in the [Chain] of t that is
// [Annotated].
func AnnotationsOf(t Tool) Annotations {
	if a, ok := As[Annotated](t); ok {
		return a.Annotations()
	}
	return Annotations{}
}
