package tool

// Annotations are what a tool declares about the effects of a call. Nobody checks
// them. All false, as when nothing is declared, is the cautious reading: it changes
// something, and repeating it does so again.
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

// AnnotationsOf returns what the outermost tool in the [Chain] of t that declares
// anything declares.
func AnnotationsOf(t Tool) Annotations {
	if a, ok := As[Annotated](t); ok {
		return a.Annotations()
	}
	return Annotations{}
}
