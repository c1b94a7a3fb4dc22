package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"a2a-server/internal/modeltest"
	"a2a-server/task"
	"a2a-server/task/planner/llm"
)

// plannerOf returns the planner of a process.
func plannerOf(w *world, p *Process) task.Planner {
	asked := func(p *Process) {
		if w.model.held && !p.dead {
			w.s.Fail("a restored store waits for its operator", "%s asks its planner", p.name)
		}
	}
	if !w.cfg.Model {
		return &planner{p: p, inline: w.inline, asked: asked}
	}
	e := &endpoint{w: w, p: p}
	planner, err := llm.New(llm.Config{
		URL: "http://127.0.0.1/v1", Model: "sim", Reasoning: true, Transport: e, Now: p.Now,
		Pause: 1, // of the real clock: time passes while the endpoint answers
		Wait:  20 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	return &modelPlanner{planner, p, asked}
}

// modelPlanner is a planner that asks a language model.
type modelPlanner struct {
	*llm.Planner
	p     *Process
	asked func(*Process)
}

func (m *modelPlanner) Plan(ctx context.Context, at *task.Progress) (*task.Step, error) {
	m.asked(m.p)
	return m.Planner.Plan(ctx, at)
}

// endpoint is the endpoint of a language model, as a process reaches it. It answers in the routine
// that asks.
type endpoint struct {
	w *world
	p *Process
}

// Ways of an endpoint to answer.
const (
	modelAnswers = iota
	modelSlow
	modelLost     // the connection ends in the middle
	modelEnds     // the stream ends in the middle, as if it were complete
	modelOverload // 503
	modelLimits   // 429
	modelBreaks   // an error in the middle
	modelCuts     // the answer ends at its limit of tokens
	modelRefuses  // the task fails

	modelWays
)

var modelWayNames = [modelWays]string{"answers", "answers slowly", "loses its connection", "ends its stream too early", "is overloaded", "limits its rate", "breaks off", "cuts its answer off", "refuses"}

// RoundTrip implements [http.RoundTripper].
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	w, ctx := e.w, r.Context()
	way := Pick(w.choices, Outcomes, modelAnswers, modelAnswers, modelAnswers, modelSlow, modelSlow, modelLost, modelEnds, modelOverload, modelLimits, modelBreaks, modelCuts, modelRefuses)
	if (way == modelCuts || way == modelRefuses) && !w.choices.Rarely(Outcomes, 4) {
		way = modelAnswers
	}
	dialect := Pick(w.choices, Outcomes, modeltest.OpenAI, modeltest.Ollama, modeltest.VLLM)
	w.s.Note("%s asks the model, which %s", e.p.name, modelWayNames[way])
	w.coverage.Count("a model " + modelWayNames[way])
	understood := false
	model := &modeltest.Endpoint{Dialect: dialect, Model: "sim", Answer: func(r *modeltest.Request) modeltest.Answer {
		understood = true
		return e.answer(r, way)
	}}
	got := &recorded{header: http.Header{}, status: http.StatusOK}
	got.serve(model, r)
	if !understood {
		w.s.Fail("a model's endpoint accepts the conversation", "it answers %d: %s", got.status, bytes.Join(got.pieces, nil))
	}
	e.pause(ctx, way)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &http.Response{StatusCode: got.status, Header: got.header, Body: &pieces{e: e, ctx: ctx, way: way, got: got}, Request: r, ContentLength: -1}, nil
}

// pause lets time pass, until ctx ends.
func (e *endpoint) pause(ctx context.Context, way int) {
	most := 2
	if way == modelSlow {
		most = 20
	}
	over := make(chan struct{})
	stop := e.p.After(time.Duration(e.w.choices.Choose(Outcomes, most))*time.Millisecond, func() { close(over) })
	if e.p.Wait(over, ctx.Done()) == 1 {
		stop()
	}
}

// answer follows the calls of the plan in the newest message that has one, and then ends the task.
func (e *endpoint) answer(r *modeltest.Request, way int) modeltest.Answer {
	var plan struct{ Plan *Plan }
	answered := 0
	for _, m := range r.Messages {
		var of struct{ Plan *Plan }
		switch {
		case m.Role == "user" && json.Unmarshal([]byte(m.Content), &of) == nil && of.Plan != nil:
			plan, answered = of, 0
		case m.Role == "assistant" && len(m.ToolCalls) > 0:
			answered++
		}
	}
	if plan.Plan == nil {
		e.w.s.Fail("a model is told the request", "%s", r.Body)
		return modeltest.Answer{}
	}
	a := modeltest.Answer{Text: wholeText}
	if e.w.choices.Rarely(Outcomes, 3) {
		a.Reasoning = "why not"
	}
	for _, s := range plan.Plan.Steps {
		if len(s.Calls) == 0 {
			continue
		}
		if answered--; answered >= 0 {
			continue
		}
		for _, c := range s.Calls {
			a.Calls = append(a.Calls, modeltest.Call{Name: c.Tool, Args: fmt.Sprintf(`{"n":%d}`, c.N)})
		}
		break
	}
	switch way {
	case modelLost:
		a.Cut = 2 + e.w.choices.Choose(Outcomes, 2)
	case modelEnds:
		a.End = 2 + e.w.choices.Choose(Outcomes, 2)
	case modelOverload:
		a = modeltest.Answer{Status: http.StatusServiceUnavailable, Body: "{}"}
	case modelLimits:
		a = modeltest.Answer{Status: http.StatusTooManyRequests, Body: "{}"}
	case modelBreaks:
		a.Error = `{"error":{"message":"out of memory","type":"server_error"}}`
	case modelCuts:
		a.Finish = "length"
	case modelRefuses:
		a = modeltest.Answer{Status: http.StatusBadRequest, Body: "{}"}
	}
	return a
}

// recorded is a response, with the pieces in which it was written.
type recorded struct {
	header http.Header
	status int
	pieces [][]byte
	lost   bool
}

func (g *recorded) Header() http.Header { return g.header }

func (g *recorded) WriteHeader(status int) { g.status = status }

func (g *recorded) Write(p []byte) (int, error) {
	g.pieces = append(g.pieces, bytes.Clone(p))
	return len(p), nil
}

// serve has h write the response.
func (g *recorded) serve(h http.Handler, r *http.Request) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			g.lost = true
		default:
			panic(v)
		}
	}()
	h.ServeHTTP(g, r)
}

// errConnection is that of a connection that ended.
var errConnection = errors.New("connection reset by peer")

// pieces is the body of a response, which comes piece by piece.
type pieces struct {
	e   *endpoint
	ctx context.Context //nolint:containedctx // of the request, as in net/http
	way int
	got *recorded
}

func (b *pieces) Read(p []byte) (int, error) {
	switch {
	case len(b.got.pieces) > 0 && len(b.got.pieces[0]) > 0:
	case len(b.got.pieces) > 1:
		b.e.pause(b.ctx, b.way)
		b.got.pieces = b.got.pieces[1:]
	case b.got.lost:
		return 0, errConnection
	default:
		return 0, io.EOF
	}
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	n := copy(p, b.got.pieces[0])
	b.got.pieces[0] = b.got.pieces[0][n:]
	return n, nil
}

func (b *pieces) Close() error { return nil }
