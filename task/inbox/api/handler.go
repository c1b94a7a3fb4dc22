package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/failure"
	"a2a-server/internal/httpd"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/task"
)

// Path is where the API is, below the base URL.
const Path = "/api/v1"

//go:embed openapi.json
var document []byte

// requestTime bounds every request but streams.
const requestTime = time.Minute

// A Door is how requests come in.
type Door struct {
	Requests                *httpd.Frontend // authentication, rates, bodies, answers
	Guard                   httpd.Guard
	Refusal                 func() string // why the server serves nobody now; "": it serves
	Streams                 *httpd.Shares // open streams
	Heartbeat, WriteTimeout time.Duration // of streams
}

// operation is an operation of the API.
type operation struct {
	action  auth.Action  // that the caller must be allowed at all; 0: any authenticated caller
	params  []string     // of the query
	body    reflect.Type // nil: there is no body
	changes bool         // something
	tagged  bool         // the answer has an ETag
	run     func(*exchange) (any, error)
	stream  func(*exchange) error // instead of run
}

// exchange is a request of a known caller, and its answer.
type exchange struct {
	*Service
	Caller
	door   *Door
	ctx    context.Context //nolint:containedctx // of the request
	w      http.ResponseWriter
	r      *http.Request
	query  url.Values
	body   []byte
	status int // of the answer
}

// noQuery is the query of an operation without parameters.
type noQuery struct{}

// asks returns an operation that reads, with a query whose fields are its parameters.
func asks[Q, R any](action auth.Action, run func(x *exchange, q Q) (R, error)) operation {
	return operation{action: action, params: paramsOf[Q](), run: func(x *exchange) (any, error) {
		var q Q
		if err := x.fill(reflect.ValueOf(&q).Elem()); err != nil {
			return nil, err
		}
		return run(x, q)
	}}
}

// lists is asks for a list.
func lists[Q, P any](action auth.Action, run func(*Service, context.Context, Caller, Q) (P, error)) operation {
	return asks(action, func(x *exchange, q Q) (P, error) { return run(x.Service, x.ctx, x.Caller, q) })
}

// changes returns an operation with a query that changes something.
func changes[Q any](action auth.Action, run func(x *exchange, q Q) error) operation {
	op := asks(action, func(x *exchange, q Q) (struct{}, error) { return struct{}{}, run(x, q) })
	op.changes = true
	return op
}

// decides returns an operation of those who decide, with a body.
func decides[B, R any](run func(x *exchange, in B) (R, error)) operation {
	return operation{action: auth.Decide, body: reflect.TypeFor[B](), changes: true, run: func(x *exchange) (any, error) {
		var in B
		if err := json.Unmarshal(x.body, &in); err != nil {
			return nil, task.Invalid("body", "cannot be read: %v", err)
		}
		return run(x, in)
	}}
}

// operations returns the operations by method and path.
func operations() map[string]operation {
	approved := asks(auth.Review, func(x *exchange, _ noQuery) (client.ApprovalDetail, error) {
		return x.Approval(x.ctx, x.Caller, x.id())
	})
	approved.tagged = true
	deleted := asks(auth.Delete, func(x *exchange, q struct{ Number uint64 }) (client.Deleted, error) {
		was, err := x.tasks(x.Caller).DeleteWebhook(x.ctx, x.By, x.id(), x.r.PathValue("webhook"), q.Number)
		return client.Deleted{Deleted: was}, err
	})
	deleted.changes = true
	return map[string]operation{
		"GET /whoami":         asks(0, func(x *exchange, _ noQuery) (client.WhoAmI, error) { return x.WhoAmI(x.Caller), nil }),
		"GET /approvals":      lists(auth.Review, (*Service).Approvals),
		"GET /approvals/{id}": approved,
		"POST /approvals/{id}/decision": decides(func(x *exchange, d client.Decision) (client.Decided, error) {
			out, err := x.Decide(x.ctx, x.Caller, x.id(), d)
			x.status = statusOf(&out)
			return out, err
		}),
		"POST /approvals/{id}/extension": decides(func(x *exchange, e client.Extension) (client.Decided, error) {
			return x.Extend(x.ctx, x.Caller, x.id(), e)
		}),
		"POST /approvals/{id}/anew": decides(func(x *exchange, a client.Anew) (client.Decided, error) { return x.AskAnew(x.ctx, x.Caller, x.id(), a) }),
		"POST /decisions": decides(func(x *exchange, in client.Batch) (client.BatchResults, error) {
			results, err := x.DecideAll(x.ctx, x.Caller, in.Items)
			return client.BatchResults{Items: results}, err
		}),
		"GET /grants": lists(auth.Review, (*Service).Grants),
		"DELETE /grants/{id}": changes(auth.Decide, func(x *exchange, q struct{ Reason string }) error {
			return x.RevokeGrant(x.ctx, x.Caller, x.id(), q.Reason)
		}),
		"GET /tasks":              lists(0, (*Service).Tasks),
		"GET /tasks/{id}":         asks(auth.Read, func(x *exchange, _ noQuery) (client.TaskDetail, error) { return x.Task(x.ctx, x.Caller, x.id()) }),
		"POST /tasks/{id}/cancel": changes(auth.Cancel, func(x *exchange, _ noQuery) error { return x.Cancel(x.ctx, x.Caller, x.id()) }),
		"POST /tasks/{id}/calls/{call}/cancel": changes(auth.Cancel, func(x *exchange, _ noQuery) error {
			return x.CancelCall(x.ctx, x.Caller, x.id(), x.r.PathValue("call"))
		}),
		"DELETE /tasks/{id}":                    changes(auth.Delete, func(x *exchange, _ noQuery) error { return x.tasks(x.Caller).Delete(x.ctx, x.By, x.id()) }),
		"GET /tasks/{id}/events":                {action: auth.Follow, stream: (*exchange).followTask},
		"GET /webhooks":                         lists(auth.Oversee, (*Service).webhooks),
		"GET /notifications":                    lists(auth.Oversee, (*Service).notifications),
		"DELETE /tasks/{id}/webhooks/{webhook}": deleted,
		"GET /audit": asks(0, func(x *exchange, q struct {
			After uint64
			Limit int
		}) (client.AuditPage, error) {
			return x.audit(x.ctx, x.Caller, q.After, q.Limit)
		}),
		"GET /events": {stream: (*exchange).follow},
	}
}

// Handler serves the API at [Path]. Requests arrive with paths relative to the base URL.
func Handler(s *Service, d Door) http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for pattern, op := range operations() {
		method, path, _ := strings.Cut(pattern, " ")
		methods[path] = append(methods[path], method)
		mux.HandleFunc(method+" "+Path+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, &d, &op) })
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.HandleFunc(Path+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.refuse(w, problem(http.StatusMethodNotAllowed, client.ReasonInvalid, "this path does not accept "+visible.Clip(r.Method, 20)+": use "+strings.Join(allowed, " or ")))
		})
	}
	mux.HandleFunc("GET "+Path+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		_ = d.Requests.Answer(w, http.StatusOK, "application/json", document) // the client is gone if it fails
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, problem(http.StatusNotFound, client.ReasonNotFound, "unknown path; "+Path+"/openapi.json lists the paths"))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpd.Begin(w, r)
		defer httpd.End(w, r, s.cfg.Log)
		if wrong := refused(r, &d); wrong != nil {
			s.refuse(w, wrong)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// refused returns the problem of a request that comes from where none may, or before the server
// serves; nil: it may.
func refused(r *http.Request, d *Door) *client.Error {
	if wrong := d.Guard.Check(r); wrong != nil {
		return refusal(wrong)
	}
	if why := d.Refusal(); why != "" {
		return problem(http.StatusServiceUnavailable, client.ReasonBusy, why)
	}
	return nil
}

// serve answers one request. Its frame is on the stack while a stream waits.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, d *Door, op *operation) {
	x, err := s.known(w, r, d, op)
	switch {
	case err != nil:
		s.refuseWith(w, err)
	case op.stream == nil:
		x.answer(op)
	case r.Method != http.MethodGet: // mux takes HEAD for GET
		w.Header().Set("Allow", http.MethodGet)
		s.refuse(w, problem(http.StatusMethodNotAllowed, client.ReasonInvalid, "this path is a stream: use GET"))
	default:
		x.fail(op.stream(x))
	}
}

// known returns the exchange of a request whose caller is known and may do op, with its body.
func (s *Service) known(w http.ResponseWriter, r *http.Request, d *Door, op *operation) (*exchange, error) {
	by, err := d.Requests.Principal(w, r)
	if err != nil {
		return nil, err
	}
	x := &exchange{Service: s, Caller: Caller{By: by, Renew: d.Requests.Renews(r)}, door: d, w: w, r: r, status: http.StatusOK}
	if x.query, err = x.params(op.params); err == nil {
		x.Anonymous, err = x.flag(anonymous)
	}
	if err == nil {
		err = x.may(op.action)
	}
	if err == nil && op.body != nil {
		if x.body, err = d.Requests.Body(w, r, by); err == nil {
			err = only(x.body, op.body)
		}
	}
	return x, err
}

// fail answers with the error of a stream; nil: it was answered.
func (x *exchange) fail(err error) {
	if err != nil {
		x.refuse(x.w, x.problem(x.r.Context(), x.Caller, err, x.id()))
	}
}

// answer runs an operation that is no stream.
func (x *exchange) answer(op *operation) {
	ctx, cancel := context.WithTimeout(x.r.Context(), requestTime)
	defer cancel()
	x.ctx = ctx
	out, err := op.run(x)
	if err != nil {
		p := x.problem(ctx, x.Caller, err, x.id())
		if op.changes && unclear(p, err) {
			p = problem(http.StatusInternalServerError, client.ReasonUnclear, "the server has failed or is stopping, and the change may have been made: look before you send it again; its log has the reason")
		}
		x.refuse(x.w, p)
		return
	}
	x.send(x.w, x.r, x.door, op.tagged, x.status, out)
}

// unclear reports whether the effect of a change that failed with err, which is p, is unknown.
func unclear(p *client.Error, err error) bool {
	kind := failure.Of(err).Kind
	return p.Reason == client.ReasonInternal || kind == failure.Ended || kind == failure.Stopping
}

// may returns an error if the caller may not do an action. It is called before anything is
// read.
func (x *exchange) may(action auth.Action) error {
	if x.Anonymous {
		action = auth.Admin
	}
	if action == 0 {
		return nil
	}
	return x.By.May(action)
}

// params returns the parameters of the query, each of which must be known and there once.
func (x *exchange) params(known []string) (url.Values, error) {
	q, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return nil, task.Invalid("query", "cannot be read: separate parameters with &, and write %%3B for a semicolon")
	}
	for name, values := range q {
		if name != anonymous && !slices.Contains(known, name) {
			return nil, task.Invalid(visible.Clip(name, 50), "is not a parameter of this path; known are %s", strings.Join(append(slices.Clone(known), anonymous), ", "))
		}
		if len(values) != 1 {
			return nil, task.Invalid(name, "is given %d times: write it once", len(values))
		}
	}
	return q, nil
}

// id is the id in the path.
func (x *exchange) id() string { return x.r.PathValue("id") }

// anonymous is a parameter of every operation, and a field of most queries.
const anonymous = "anonymous"

// paramsOf returns the parameters of a query: the names of its fields, in lower case.
func paramsOf[Q any]() (names []string) {
	for f := range reflect.TypeFor[Q]().Fields() {
		if name := strings.ToLower(f.Name); name != anonymous {
			names = append(names, name)
		}
	}
	return names
}

// fill sets the fields of a query.
func (x *exchange) fill(q reflect.Value) error {
	for f, v := range q.Fields() {
		name := strings.ToLower(f.Name)
		text := x.query.Get(name)
		switch {
		case name == anonymous:
		case v.Kind() == reflect.String:
			v.SetString(text)
		case v.Kind() == reflect.Bool:
			on, err := x.flag(name)
			if err != nil {
				return err
			}
			v.SetBool(on)
		case text != "":
			n, err := strconv.ParseUint(text, 10, 62)
			if err != nil || n == 0 && name != "after" {
				return task.Invalid(name, "is not a positive number")
			}
			v.Set(reflect.ValueOf(n).Convert(v.Type()))
		}
	}
	return nil
}

func (x *exchange) flag(name string) (bool, error) {
	switch x.query.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, task.Invalid(name, "is neither true nor false")
}

// only returns an error unless raw is a JSON object with members of a struct only, also in the
// structs in it. Decoding would accept names in any case, and drop unknown members.
func only(raw []byte, of reflect.Type) error {
	members, err := strictjson.Members(raw)
	if err != nil {
		return task.Invalid("body", "cannot be read: %v", err)
	}
	known, types := membersOf(of)
	for _, m := range members {
		i := slices.Index(known, m.Name)
		if i < 0 {
			return task.Invalid(visible.Clip(m.Name, 50), "is not a member of this object; known are %s", strings.Join(known, ", "))
		}
		t := types[i]
		var objects []json.RawMessage
		switch {
		case t.Kind() == reflect.Pointer:
			objects = append(objects, m.Value)
		case t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct:
			continue
		case json.Unmarshal(m.Value, &objects) != nil:
			return task.Invalid(m.Name, "is not a list")
		}
		for _, object := range objects {
			if err := only(object, t.Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

// membersOf returns the members that a struct has in JSON, with their types.
func membersOf(of reflect.Type) (names []string, types []reflect.Type) {
	for f := range of.Fields() {
		if f.Anonymous {
			more, theirs := membersOf(f.Type)
			names, types = append(names, more...), append(types, theirs...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names, types = append(names, name), append(types, f.Type)
	}
	return names, types
}

// send answers with JSON. tagged: or with 304 (RFC 9110) if the client has just that.
func (s *Service) send(w http.ResponseWriter, r *http.Request, d *Door, tagged bool, status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		s.cfg.Log.Error().Err(err).Str("path", visible.Clip(r.URL.Path, 200)).Msg("an answer of the approvals API cannot be encoded")
		s.refuse(w, problem(http.StatusInternalServerError, client.ReasonUnclear, "the answer cannot be encoded: the server's log has the reason"))
		return
	}
	if tagged {
		sum := sha256.Sum256(b.Bytes())
		tag := `W/"` + hex.EncodeToString(sum[:16]) + `"`
		w.Header().Set("ETag", tag)
		if slices.ContainsFunc(strings.Split(r.Header.Get("If-None-Match"), ","), func(one string) bool {
			one = strings.TrimSpace(one)
			return one == "*" || one == tag
		}) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	_ = d.Requests.Answer(w, status, "application/json", b.Bytes()) // the client is gone if it fails
}

// refuseWith answers with an error that came before the operation.
func (s *Service) refuseWith(w http.ResponseWriter, err error) {
	if refused, is := errors.AsType[*httpd.Error](err); is && len(refused.Challenges) > 0 {
		w.Header()["Www-Authenticate"] = slices.Clone(refused.Challenges)
	}
	s.refuse(w, Problem(err))
}

// refuse answers with a problem (RFC 9457).
func (s *Service) refuse(w http.ResponseWriter, p *client.Error) {
	body, _ := json.Marshal(struct { // an approval in it has come from JSON
		Type string `json:"type"`
		*client.Error
	}{"urn:a2a-server:problem:" + p.Reason, shown(p)})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	httpd.Bound(w)
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client is gone if it fails
}

const (
	maxDetail = 3000 // characters
	maxFields = 16
)

// shown returns p with texts that hide nothing and have a bounded length.
func shown(p *client.Error) *client.Error {
	out := *p
	out.Detail = visible.ClipText(p.Detail, maxDetail)
	out.Fields = nil
	for _, f := range p.Fields[:min(len(p.Fields), maxFields)] {
		out.Fields = append(out.Fields, client.FieldError{Field: visible.Clip(f.Field, 200), Description: visible.Clip(f.Description, 500)})
	}
	return &out
}
