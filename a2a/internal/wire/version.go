package wire

// Version is the served version of A2A, as Major.Minor, and OldVersion the version that is
// served beside it unless 0.3 is switched off.
const (
	Version    = "1.0"
	OldVersion = "0.3"
)
