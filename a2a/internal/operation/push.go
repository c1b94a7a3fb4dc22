package operation

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"a2a-server/a2a/internal/wire"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// Push says which webhooks the server calls.
type Push struct {
	// HTTP allows webhooks with http. Without it they need https.
	HTTP bool
	// Refuses reports whether a host and port are never called, whatever the host's name
	// resolves to. It must be quick, and safe for concurrent use. Nil: no address is known to
	// be refused. The caller of a webhook checks the addresses that its name resolves to.
	Refuses func(host, port string) bool
	// Keys returns the JWK Set with which receivers verify the tokens of notifications. It is
	// served without authentication, at KeysPath of package a2a. Nil: notifications have no token.
	Keys func() ([]byte, error)
}

// The bounds of a webhook, in bytes.
const (
	MaxPushID          = 256
	MaxPushURL         = 2 << 10
	MaxPushToken       = 8 << 10
	MaxPushScheme      = 64
	MaxPushCredentials = 8 << 10
)

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// protocol returns the version of A2A in which the caller speaks.
func (c *Request) protocol() string {
	if c.V03 {
		return wire.OldVersion
	}
	return wire.Version
}

// webhook checks a config that a client sets, and returns it for the engine. prefix is where
// its fields are in the request. All problems are reported at once.
func (p *Push) webhook(c *sdk.PushConfig, protocol, prefix string) (engine.PushConfig, error) {
	out := engine.PushConfig{ID: c.ID, URL: c.URL, Token: c.Token, Version: protocol}
	if c.Auth != nil {
		out.Scheme, out.Credentials = c.Auth.Scheme, c.Auth.Credentials
	}
	var all []wire.Violation
	add := func(field, problem string) {
		if problem != "" {
			all = append(all, wire.Violation{Field: prefix + field, Description: problem})
		}
	}
	add("url", p.wrongURL(out.URL))
	add("id", wrongText(out.ID, MaxPushID, isPathChar, "letters, digits and signs of ASCII, without spaces and slashes"))
	add("token", wrongText(out.Token, MaxPushToken, isHeaderChar, "printable characters of ASCII"))
	add("authentication.scheme", p.wrongScheme(out.Scheme, out.Credentials))
	add("authentication.credentials", p.wrongCredentials(out.Scheme, out.Credentials))
	if len(all) > 0 {
		return engine.PushConfig{}, wire.InvalidFields(all)
	}
	if out.Credentials == "" {
		out.Scheme = "" // Bearer, with a token of this server
	}
	return out, nil
}

// wrongText returns the problem with a text; "": none.
func wrongText(text string, most int, allowed func(byte) bool, what string) string {
	if len(text) > most {
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), most)
	}
	for i := range len(text) {
		if !allowed(text[i]) {
			return "has a character that is not allowed: use " + what
		}
	}
	if strings.TrimSpace(text) != text {
		return "begins or ends with a space"
	}
	return ""
}

// isHeaderChar reports whether all parsers read a character in a header alike.
func isHeaderChar(c byte) bool { return ' ' <= c && c <= '~' }

// isPathChar reports whether a character may be in an id, which REST has in the path.
func isPathChar(c byte) bool { return ' ' < c && c <= '~' && c != '/' && c != '\\' }

// wrongScheme returns the problem with the scheme of Authorization; "": none.
func (p *Push) wrongScheme(scheme, credentials string) string {
	switch {
	case scheme == "" && credentials != "":
		return "is required with credentials: name one, such as Bearer"
	case scheme == "":
		return ""
	case len(scheme) > MaxPushScheme:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(scheme), MaxPushScheme)
	case strings.Trim(scheme, alphanumeric+"!#$%&'*+-.^_`|~") != "": // not a token (RFC 9110, section 5.6.2)
		return "must be one authentication scheme of HTTP, such as Bearer"
	}
	return ""
}

// wrongCredentials returns the problem with the credentials for a scheme; "": none.
// Bearer needs none if notifications have a token.
func (p *Push) wrongCredentials(scheme, credentials string) string {
	if scheme != "" && credentials == "" && (p.Keys == nil || !strings.EqualFold(scheme, "Bearer")) {
		return "is required with a scheme: this server has none of its own for your webhook"
	}
	return wrongText(credentials, MaxPushCredentials, isHeaderChar, "printable characters of ASCII")
}

// wrongURL returns the problem with the URL of a webhook; "": none that is known before its
// host is resolved.
func (p *Push) wrongURL(text string) string {
	switch {
	case text == "":
		return "is required"
	case len(text) > MaxPushURL:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), MaxPushURL)
	case wrongText(text, MaxPushURL, func(c byte) bool { return ' ' < c && c <= '~' && c != '\\' }, "") != "":
		return "has a character that is not allowed: escape it with a percent sign"
	}
	u, err := url.Parse(text)
	if err != nil {
		return "is not a URL: write it as https://example.com/path"
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "":
		return "must begin with https://"
	case u.Scheme == "http" && !p.HTTP:
		return "must begin with https://: this server sends nothing without encryption"
	case u.User != nil:
		return "must not have a user or password: set authentication instead"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "must not have a fragment (#)"
	case u.Hostname() == "":
		return "has no host"
	case !isHost(u.Hostname()):
		return "has a host that is neither a name in ASCII nor an IP address"
	}
	port := u.Port()
	switch {
	case port == "" && strings.HasSuffix(u.Host, ":"):
		return "has an empty port"
	case port == "" && u.Scheme == "http":
		port = "80"
	case port == "":
		port = "443"
	}
	if p.Refuses != nil && p.Refuses(u.Hostname(), port) {
		return "leads to an address or port that this server does not call: use a public address"
	}
	return ""
}

// isHost reports whether a host has a single meaning: it is an IP address in its usual form, or
// a name in ASCII. A text that only some programs read as an address, such as 127.1 or
// 0x7f000001, is neither.
func isHost(host string) bool {
	if strings.Contains(host, ":") {
		return !strings.Contains(host, "%") // url.Parse has checked the brackets; a zone is of this machine
	}
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > 253 {
		return false
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, alphanumeric+"-_") != "" {
			return false
		}
	}
	if last := labels[len(labels)-1]; '0' <= last[0] && last[0] <= '9' {
		addr, err := netip.ParseAddr(name)
		return err == nil && addr.Is4()
	}
	return true
}

// inline returns the webhook of a send that has one.
func (s *Service) inline(c Request, req *sdk.SendMessageRequest) (*engine.PushConfig, error) {
	const field = "configuration.taskPushNotificationConfig."
	if id := req.Config.PushConfig.TaskID; id != "" && id != req.Message.TaskID {
		return nil, wire.InvalidField(field+"taskId", "must be empty or that of the message")
	}
	out, err := s.Push.webhook(req.Config.PushConfig, c.protocol(), field)
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// toClient returns a config as clients see it, without token and credentials: the client that
// set them knows them, and other clients must not learn them.
func toClient(id engine.ID, c *engine.PushConfig) *sdk.PushConfig {
	out := &sdk.PushConfig{TaskID: sdk.TaskID(id.String()), ID: c.ID, URL: c.URL}
	if c.Scheme != "" {
		out.Auth = &sdk.PushAuthInfo{Scheme: c.Scheme}
	}
	return out
}

// pushTask returns the id of the task of a request about webhooks.
func pushTask(id string) (engine.ID, error) {
	if id == "" {
		return engine.ID{}, wire.InvalidField("taskId", "is required")
	}
	return taskID(id)
}

// createPush sets a webhook of a task. It replaces a webhook with the same id (D13).
func (s *Service) createPush(ctx context.Context, c Request, req *a2apb.TaskPushNotificationConfig, b []byte) ([]byte, error) {
	id, err := pushTask(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	set, err := s.Push.webhook(toPush(req), c.protocol(), "")
	if err == nil {
		set, err = s.Engine.SetPush(ctx, c.By, id, set)
	}
	return appendJSON(b, toClient(id, &set), err)
}

// getPush returns a webhook. In 0.3 a request without an id is about the first webhook.
func (s *Service) getPush(ctx context.Context, c Request, req *a2apb.GetTaskPushNotificationConfigRequest, b []byte) ([]byte, error) {
	id, err := pushTask(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	var found engine.PushConfig
	switch {
	case req.GetId() != "":
		found, err = s.Engine.Push(ctx, c.By, id, req.GetId())
	case c.V03:
		var page engine.PushPage
		if page, err = s.Engine.PushList(ctx, c.By, id, 1, ""); err == nil && len(page.Configs) == 0 {
			err = task.ErrTaskNotFound
		} else if err == nil {
			found = page.Configs[0]
		}
	default:
		err = wire.InvalidField("id", "is required")
	}
	return appendJSON(b, toClient(id, &found), err)
}

func (s *Service) listPush(ctx context.Context, c Request, req *a2apb.ListTaskPushNotificationConfigsRequest, b []byte) ([]byte, error) {
	id, err := pushTask(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	if req.GetPageSize() < 0 || req.GetPageSize() > 100 {
		return nil, wire.InvalidField("pageSize", fmt.Sprintf("is %d; 1 to 100 are allowed", req.GetPageSize()))
	}
	page, err := s.Engine.PushList(ctx, c.By, id, int(req.GetPageSize()), req.GetPageToken())
	out := sdk.ListTaskPushConfigResponse{Configs: []*sdk.PushConfig{}, NextPageToken: page.Next}
	for i := range page.Configs {
		out.Configs = append(out.Configs, toClient(id, &page.Configs[i]))
	}
	return appendJSON(b, out, err)
}

// deletePush deletes a webhook. It is idempotent.
func (s *Service) deletePush(ctx context.Context, c Request, req *a2apb.DeleteTaskPushNotificationConfigRequest, b []byte) ([]byte, error) {
	id, err := pushTask(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	if req.GetId() == "" {
		return nil, wire.InvalidField("id", "is required")
	}
	return appendJSON(b, struct{}{}, s.Engine.DeletePush(ctx, c.By, id, req.GetId()))
}

// toPush converts a config without checking it: that is for the operation.
func toPush(pb *a2apb.TaskPushNotificationConfig) *sdk.PushConfig {
	out := &sdk.PushConfig{Tenant: pb.GetTenant(), TaskID: sdk.TaskID(pb.GetTaskId()), ID: pb.GetId(), URL: pb.GetUrl(), Token: pb.GetToken()}
	if a := pb.GetAuthentication(); a.GetScheme() != "" || a.GetCredentials() != "" {
		out.Auth = &sdk.PushAuthInfo{Scheme: a.GetScheme(), Credentials: a.GetCredentials()}
	}
	return out
}

// readCreatePush decodes the request of CreateTaskPushNotificationConfig. In HTTP+JSON the
// path names the task.
func readCreatePush(in Input) (*a2apb.TaskPushNotificationConfig, error) {
	var pb a2apb.TaskPushNotificationConfig
	if err := in.fill(&pb); err != nil {
		return nil, err
	}
	if in.Path != nil {
		if pb.GetTaskId() != "" && pb.GetTaskId() != in.Path[0] {
			return nil, wire.InvalidField("taskId", "is not that of the path")
		}
		pb.TaskId = in.Path[0]
	}
	return &pb, nil
}
