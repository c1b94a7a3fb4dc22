package a2a

// The media types of requests and responses (§11.1).
const (
	typeJSON = "application/json"
	typeA2A  = "application/a2a+json"
)
