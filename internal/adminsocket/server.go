package adminsocket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/peer"
	"a2a-server/internal/strictjson"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// The bounds of requests.
const (
	requests    = 4                // that are answered at once
	patience    = 10 * time.Second // until a request that waits for others is refused
	requestTime = time.Minute
)

// Config configures a [Server].
type Config struct {
	Path   string             // of the socket, in a folder that no other server uses
	Users  auth.Authenticator // who a caller is; it gets no header, only the connection
	Engine *engine.Engine
	// Webhooks lists the webhooks of tasks that by oversees; with q.Anonymous, of those that
	// were made without authentication. It checks q. Required.
	Webhooks func(ctx context.Context, by auth.Principal, q Query) (*WebhookPage, error)
	// Revoked reports whether the credential of somebody is known to be no longer valid. Nil:
	// that is known of nobody.
	Revoked func(auth.Principal) bool
	API     http.Handler // serves /api/v1
	Log     zerolog.Logger
}

// Server serves the commands of people on this machine. It is safe for concurrent use.
type Server struct {
	cfg    Config
	socket *socket
	web    *http.Server
	slots  chan struct{}
}

// Open makes the socket, on which nobody is answered before [Server.Serve]. Call it with the
// store open, which keeps other servers out of the data folder.
func Open(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, slots: make(chan struct{}, requests)}
	on, err := listen(cfg.Path)
	if err != nil {
		return nil, err
	}
	s.socket = on
	s.web = &http.Server{
		Handler:           s.handler(),
		ConnContext:       peer.WithConn,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    16 << 10,

		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(zerolog.NewSlogHandler(cfg.Log), slog.LevelDebug),
	}
	return s, nil
}

// Serve answers until the server is closed; then it returns nil.
func (s *Server) Serve() error {
	if err := s.web.Serve(s.socket); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown removes the socket, and waits until the last request is answered. When ctx ends,
// those that are left are cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.web.Close()
	}
	return errors.Join(err, s.socket.Close())
}

// call is a request of a known caller.
type call struct {
	by     auth.Principal
	id     string // in the path; "" in a list
	query  url.Values
	body   []byte
	tasks  *engine.Tasks
	inbox  *engine.Approvals
	answer *engine.Answer
	server *Server
}

// revoked reports whether the credential of somebody is known to be no longer valid.
func (c *call) revoked(p auth.Principal) bool {
	known := c.server.cfg.Revoked
	return known != nil && known(p)
}

// operation is what a caller can ask for.
type operation struct {
	action  auth.Action
	changes bool // something
	run     func(context.Context, *call) (any, error)
}

// routes are the operations by method and path.
func routes() map[string]operation {
	return map[string]operation{
		"GET /v1/approvals":                {auth.Review, false, listApprovals},
		"GET /v1/approvals/{id}":           {auth.Review, false, showApproval},
		"POST /v1/approvals/{id}/decision": {auth.Decide, true, decide},
		"GET /v1/tasks":                    {auth.Oversee, false, listTasks},
		"GET /v1/webhooks":                 {auth.Oversee, false, listWebhooks},
		"GET /v1/tasks/{id}":               {auth.Read, false, showTask},
		"POST /v1/tasks/{id}/cancel":       {auth.Cancel, true, cancelTask},
		"DELETE /v1/tasks/{id}":            {auth.Delete, true, deleteTask},
		"DELETE /v1/tasks/{id}/webhook":    {auth.Delete, true, deleteWebhook},
	}
}

// handler answers all requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, op := range routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.operate(w, r, op) })
	}
	if s.cfg.API != nil {
		mux.Handle("/api/v1/", s.cfg.API)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, &Error{Status: http.StatusNotFound, Reason: ReasonInvalid, Message: "there is no such operation: the command and the server are of different versions; use the same program for both"})
	})
	return mux
}

// operate answers one request for an operation.
func (s *Server) operate(w http.ResponseWriter, r *http.Request, op operation) {
	if r.Host != Host || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		s.refuse(w, &Error{Status: http.StatusForbidden, Reason: ReasonInvalid, Message: "only the commands of a2a-server may use this socket"})
		return
	}
	by, wrong := s.caller(r.Context())
	anonymous := r.URL.Query().Get("anonymous") == "true"
	if wrong == nil {
		wrong = allowed(by, op.action, anonymous)
	}
	if wrong != nil {
		s.refuse(w, wrong)
		return
	}
	// Before it takes one of the slots: who sends slowly keeps nobody else out.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil && len(body) > 0 {
		err = strictjson.Validate(body)
	}
	if err != nil {
		s.refuse(w, &Error{Status: http.StatusBadRequest, Reason: ReasonInvalid, Message: "the request cannot be read: " + err.Error()})
		return
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-r.Context().Done():
		return
	case <-wait.C:
		s.refuse(w, &Error{Status: http.StatusServiceUnavailable, Reason: ReasonBusy, Message: "the server is busy with other commands: try again later"})
		return
	}
	c := &call{
		by: by, id: r.PathValue("id"), query: r.URL.Query(), body: body,
		tasks: s.cfg.Engine.Tasks(), inbox: s.cfg.Engine.Approvals().Renewing(s.renewal(r)), answer: s.cfg.Engine.Answer(by), server: s,
	}
	defer c.answer.Release()
	if anonymous {
		c.tasks, c.inbox = c.tasks.OfAnonymous(), c.inbox.OfAnonymous()
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	out, err := op.run(ctx, c)
	if err != nil {
		s.refuse(w, s.failed(r, err, op.changes))
		return
	}
	s.send(w, http.StatusOK, out)
}

func (s *Server) authenticate(ctx context.Context) (auth.Principal, error) {
	return s.cfg.Users.Authenticate(ctx, &auth.Credentials{Header: func(string) []string { return nil }})
}

// renewal returns what authenticates the caller of a request again.
func (s *Server) renewal(r *http.Request) engine.Renewal {
	connected := r.Context()
	return func(context.Context) (auth.Principal, error) {
		by, wrong := s.caller(connected)
		if wrong != nil {
			return auth.Principal{}, wrong // nothing has happened yet
		}
		return by, nil
	}
}

// caller returns who makes a request with a context.
func (s *Server) caller(ctx context.Context) (auth.Principal, *Error) {
	by, err := s.authenticate(ctx)
	if err == nil && by.IsZero() {
		err = auth.ErrNone
	}
	if err == nil {
		err = by.Validate()
	}
	refused, is := errors.AsType[*auth.Error](err)
	switch {
	case err == nil:
		return by, nil
	case is && refused != nil:
		s.cfg.Log.Warn().Err(err).Msg("a user of this machine was refused on the admin socket")
		return auth.Principal{}, &Error{Status: http.StatusForbidden, Reason: ReasonUnknownUser, Message: refused.Error()}
	}
	s.cfg.Log.Error().Err(err).Msg("it is not known who has connected to the admin socket")
	return auth.Principal{}, &Error{Status: http.StatusServiceUnavailable, Reason: ReasonBusy, Message: "the server cannot tell who has connected: its log has the reason"}
}

// allowed returns the error for a caller who may not do an action, before anything is read.
func allowed(by auth.Principal, action auth.Action, anonymous bool) *Error {
	if anonymous {
		action = auth.Admin
	}
	if err := by.May(action); err != nil {
		return &Error{Status: http.StatusForbidden, Reason: ReasonRole, Message: by.Subject + " may not do this: " + err.Error() + "; roles are in " + peer.Setting}
	}
	return nil
}

// failed returns the error for one of the engine.
func (s *Server) failed(r *http.Request, err error, changes bool) *Error {
	var own *Error
	var denied *auth.DeniedError
	var wrong *approval.Error
	var invalid *task.InvalidError
	var state *task.StateError
	var not *engine.NotDeletableError
	var busy *engine.BusyError
	var answers *engine.AnswersError
	var disk *engine.DiskError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &denied):
		return &Error{Status: http.StatusForbidden, Reason: ReasonRole, Message: denied.Error()}
	case errors.As(err, &wrong):
		return &Error{Status: statusOf(wrong.Reason), Reason: string(wrong.Reason), Message: wrong.Message, Details: wrong.Metadata}
	case errors.Is(err, task.ErrTaskNotFound):
		return &Error{Status: http.StatusNotFound, Reason: ReasonNoTask, Message: "there is no such task: 'a2a-server tasks list' has those that you oversee"}
	case errors.As(err, &invalid):
		return &Error{Status: http.StatusBadRequest, Reason: ReasonInvalid, Message: invalid.Error()}
	case errors.As(err, &state):
		return &Error{Status: http.StatusConflict, Reason: ReasonState, Message: state.Error()}
	case errors.As(err, &not):
		return &Error{Status: http.StatusConflict, Reason: ReasonState, Message: not.Error()}
	case errors.As(err, &busy), errors.As(err, &answers), errors.As(err, &disk), errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrUnavailable):
		return &Error{Status: http.StatusServiceUnavailable, Reason: ReasonBusy, Message: err.Error()}
	case errors.Is(err, engine.ErrDataLoss), errors.Is(err, engine.ErrReadOnly):
		s.cfg.Log.Error().Err(err).Str("path", r.URL.Path).Msg("a request on the admin socket failed")
		return &Error{Status: http.StatusInternalServerError, Reason: ReasonBroken, Message: "what is stored is damaged: restore a backup (docs/operations.md); the log of the server says what"}
	case !changes:
		s.cfg.Log.Error().Err(err).Str("path", r.URL.Path).Msg("a request on the admin socket failed")
		return &Error{Status: http.StatusInternalServerError, Reason: ReasonBusy, Message: "the server has failed: its log has the reason"}
	}
	s.cfg.Log.Error().Err(err).Str("path", r.URL.Path).Msg("it is not known whether a request on the admin socket took effect")
	return &Error{Status: http.StatusInternalServerError, Reason: ReasonUnclear, Message: "the server has failed: its log has the reason"}
}

func statusOf(r approval.Reason) int {
	switch r {
	case approval.ReasonUnknown:
		return http.StatusNotFound
	case approval.ReasonMalformed:
		return http.StatusBadRequest
	case approval.ReasonNotAllowed:
		return http.StatusForbidden
	case approval.ReasonConflict, approval.ReasonExpired, approval.ReasonChanged, approval.ReasonDecided:
	}
	return http.StatusConflict
}

func (s *Server) refuse(w http.ResponseWriter, e *Error) { s.send(w, e.Status, failure{e}) }

// send answers with JSON, whole: an answer that is cut off is no answer.
func (s *Server) send(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		s.cfg.Log.Error().Err(err).Msg("an answer on the admin socket cannot be encoded")
		http.Error(w, "{}", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client is gone if it fails
}

// page returns how many entries a request wants.
func (c *call) page() (int, error) {
	text := c.query.Get("limit")
	if text == "" {
		return MaxPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxPage {
		return 0, task.Invalid("limit", "is not a number from 1 to %d", MaxPage)
	}
	return n, nil
}

func listApprovals(ctx context.Context, c *call) (any, error) {
	limit, err := c.page()
	if err != nil {
		return nil, err
	}
	page, err := c.inbox.List(ctx, c.by, engine.ApprovalQuery{Task: c.query.Get("task"), Limit: limit, Cursor: c.query.Get("cursor")})
	out := &ApprovalPage{Approvals: []approval.Approval{}, Next: page.Next, Damaged: page.Damaged}
	for i := range page.Approvals {
		a := &page.Approvals[i]
		out.Approvals = append(out.Approvals, *a.Listed())
		if a.State == approval.Pending && c.revoked(a.Requester) {
			out.Revoked = append(out.Revoked, a.ID)
		}
	}
	return out, err
}

func showApproval(ctx context.Context, c *call) (any, error) {
	a, err := c.inbox.Get(ctx, c.by, c.id)
	return &ShownApproval{Approval: a, Revoked: a != nil && c.revoked(a.Requester), Caller: c.by}, err
}

func decide(ctx context.Context, c *call) (any, error) {
	members, err := strictjson.Members(c.body)
	for _, m := range members {
		if !slices.Contains([]string{"verb", "digest", "args", "reason"}, m.Name) { // decoding takes names in any case
			return nil, task.Invalid("decision", "has the key %.100q, which no decision has", m.Name)
		}
	}
	var d Decision
	if err == nil {
		err = json.Unmarshal(c.body, &d)
	}
	if err != nil {
		return nil, task.Invalid("decision", "cannot be read: %v", err)
	}
	if d.Digest == "" {
		return nil, task.Invalid("digest", "is missing: a decision names what was shown")
	}
	answer := approval.Answer{ID: c.id, Verb: d.Verb, Args: d.Args, Reason: d.Reason, Digest: d.Digest}
	if err := decided(c.inbox.Decide(ctx, c.by, answer)); err != nil {
		return nil, err
	}
	a, err := c.inbox.Get(ctx, c.by, c.id)
	if err != nil {
		a = nil // what was decided stays decided
	}
	if a != nil && c.revoked(a.Requester) && a.State != approval.Rejected {
		c.server.cfg.Log.Warn().Str("approval_id", c.id).Str("subject", a.Requester.Subject).Str("decided_by", c.by.Subject).
			Msg("a call was approved whose requester's credential is no longer valid")
	}
	return &Decided{a, c.by}, nil
}

// decided returns the error of a decision: what it says of the approval, if the task has
// ended meanwhile, and nil if it had been decided in just this way.
func decided(err error) error {
	if state, is := errors.AsType[*task.StateError](err); is && state.Decided != nil {
		err = state.Decided
	}
	if wrong, is := errors.AsType[*approval.Error](err); is && wrong.Reason == approval.ReasonDecided {
		return nil
	}
	return err
}

func listTasks(ctx context.Context, c *call) (any, error) {
	limit, err := c.page()
	if err != nil {
		return nil, err
	}
	page, err := c.tasks.List(ctx, c.by, engine.TaskQuery{
		Context: c.query.Get("context"), State: a2a.TaskState(c.query.Get("state")), Limit: limit, Cursor: c.query.Get("cursor"),
	})
	return &TaskPage{append([]engine.TaskSummary{}, page.Tasks...), page.Next}, err
}

func showTask(ctx context.Context, c *call) (any, error) {
	v, summary, err := c.tasks.Get(ctx, c.answer, c.id)
	if err != nil {
		return nil, err
	}
	return &ShownTask{summary, v.AppendTask(nil, task.ViewOptions{HistoryLength: -1}), c.by}, nil
}

func cancelTask(ctx context.Context, c *call) (any, error) {
	return struct{}{}, c.tasks.Cancel(ctx, c.by, c.id)
}

func deleteTask(ctx context.Context, c *call) (any, error) {
	return struct{}{}, c.tasks.Delete(ctx, c.by, c.id)
}

func listWebhooks(ctx context.Context, c *call) (any, error) {
	limit, err := c.page()
	if err != nil {
		return nil, err
	}
	return c.server.cfg.Webhooks(ctx, c.by, Query{
		Limit: limit, Cursor: c.query.Get("cursor"), State: c.query.Get("state"), Anonymous: c.query.Get("anonymous") == "true",
		Task: c.query.Get("task"), Principal: c.query.Get("principal"),
	})
}

func deleteWebhook(ctx context.Context, c *call) (any, error) {
	number := uint64(0)
	if text := c.query.Get("number"); text != "" {
		var err error
		if number, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, task.Invalid("number", "is not a number")
		}
	}
	deleted, err := c.tasks.DeleteWebhook(ctx, c.by, c.id, c.query.Get("webhook"), number)
	return &DeletedWebhook{deleted}, err
}
