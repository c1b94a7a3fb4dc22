package tool

// Annotations are what a tool declares about the effects of a call. They are not verified.
// The zero value, as when nothing is declared, is the cautious one: a call changes
// something, and repeating it changes it again.
type Annotations struct {
	// ReadOnly says that a call changes nothing, so that it may be repeated.
	ReadOnly bool
	// Idempotent says that repeating a call, with the same arguments and the same
	// task and call id, changes nothing more.
	Idempotent bool
	// Destructive says that a call may remove or overwrite something for good.
	Destructive bool
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
