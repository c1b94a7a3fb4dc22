package agentcard

// SchemeKind is a kind of credentials that the agent card knows (§4.5).
type SchemeKind uint8

// The kinds.
const (
	SchemeAPIKey SchemeKind = iota + 1 // a key in a header
	SchemeHTTP                         // a scheme of Authorization, such as Bearer
	SchemeOpenID                       // a token of an issuer with a discovery document
	SchemeMTLS                         // a certificate of the client
)

// SecurityScheme is a way for clients to authenticate. A request has to use exactly one of the
// schemes in the card.
type SecurityScheme struct {
	Name        string // in the card, unique there
	Kind        SchemeKind
	Description string // for people; must not be empty, since some clients drop empty schemes
	Also        bool   // needed with each of the other schemes, and no credential by itself
	Header      string // that has the credential. Defaults to Authorization, but not for SchemeAPIKey
	Scheme      string // of Authorization, for SchemeHTTP
	Format      string // of the token, for SchemeHTTP; may be empty
	URL         string // of the discovery document, for SchemeOpenID
}

// SecurityForm is how a card writes its security requirements: clients disagree.
type SecurityForm string

// The forms. The SDKs for Python and JavaScript read both spec and go. The Go SDK 2.4.0, its
// command line and ADK for Go refuse a card in the form of the specification; a strict reader
// of ProtoJSON refuses a card in the form of the Go SDK.
const (
	SecuritySpec SecurityForm = "spec" // {"schemes":{"key":{"list":[]}}}
	SecurityGo   SecurityForm = "go"   // {"schemes":{"key":[]}}. The default.
	SecurityOmit SecurityForm = "omit" // neither schemes nor requirements
)
