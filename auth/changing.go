package auth

// A Changing is an [Authenticator] that may withdraw a credential before it expires. Streams,
// and anything else that outlasts a request, must authenticate again after each change. See
// [ChangingOf].
type Changing interface {
	// Changed returns a channel that is closed at the next change. Get it before asking
	// whether a credential is valid, so that no change is missed.
	Changed() <-chan struct{}
}
