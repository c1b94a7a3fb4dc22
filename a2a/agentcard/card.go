package agentcard

// Card is the operator's part of the agent card. Capabilities and interfaces are derived,
// so that the card never promises what the server refuses.
type Card struct {
	Name        string // Defaults to "a2a-server".
	Description string // Defaults to a sentence about tools and approvals.
	Version     string // of the agent. Defaults to "0".
	URL         string // base URL of the interfaces, without a trailing slash. Empty: the URL by which each client reaches the server.
	Skills      []Skill

	// GRPC is the host and port of gRPC; "": the server does not speak it. Without a host it
	// is that of the base URL.
	GRPC string

	// Security lists the ways to authenticate, of which a request has to use exactly one;
	// empty: requests need no credential, or the ways are unknown.
	Security     []SecurityScheme
	SecurityForm SecurityForm // Defaults to SecurityGo.

	Extensions         []Extension // of the program, in addition to the dialects of approvals
	RequiredExtensions []string    // URIs, without which a request is refused

	// InputModes are the media types that parts of messages may have, in lower case; a
	// message with a part of another type is refused. text/* matches every text type,
	// */* any type. Defaults to text/plain and application/json.
	InputModes []string
}

// Skill is an entry of the card's skills. Each tool has an entry.
type Skill struct {
	ID, Name, Description string
	Tags                  []string
	Examples              []string // messages that call the tool
}
