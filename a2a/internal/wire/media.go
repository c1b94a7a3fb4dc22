package wire

// The media types of requests and responses (§11.1).
const (
	TypeJSON = "application/json"
	TypeA2A  = "application/a2a+json"
)
