package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// The limits of questions that cannot be configured.
const (
	maxRounds    = 10       // of a call's questions
	maxQuestions = 16       // of a round
	maxBusy      = 3        // times that a server puts a call off
	maxQuestion  = 1 << 10  // bytes of the text of a question
	maxForm      = 16 << 10 // bytes of its schema
)

// input is how far a call is that the server answers with questions. A suspended call
// keeps it.
type input struct {
	Round    int        `json:"round,omitempty"`
	Busy     int        `json:"busy,omitempty"`
	Server   string     `json:"server,omitempty"` // returned to the server
	Asked    []question `json:"asked,omitempty"`
	Declined []string   `json:"declined,omitempty"` // ids of questions that people are not asked
}

// question is a question for people.
type question struct {
	Ask   string `json:"ask"`   // the id of the ask
	Input string `json:"input"` // the id that the server has for it
}

// resumed returns how far a call is, and the answers with which it continues.
func resumed(ctx context.Context) (*input, mcp.InputResponseMap, error) {
	again, ok := tool.Resumed(ctx)
	if !ok {
		return &input{}, nil, nil
	}
	var in input
	if err := json.Unmarshal(again.State, &in); err != nil {
		return nil, nil, fmt.Errorf("the call cannot continue, because its state cannot be read: %w", err)
	}
	answers := map[string]tool.Answer{}
	for _, a := range again.Answers {
		answers[a.Ask.ID] = a
	}
	if len(in.Asked)+len(in.Declined) == 0 { // it was put off
		return &in, nil, nil
	}
	responses := declineAll(in.Declined)
	for _, q := range in.Asked {
		responses[q.Input] = response(answers[q.Ask])
	}
	return &in, responses, nil
}

// response is a person's answer in the form of MCP. Anything else declines.
func response(a tool.Answer) *mcp.ElicitResult {
	switch a.State {
	case tool.AnswerResponded:
		if content, err := strictjson.DecodeObject(a.Response); err == nil {
			return &mcp.ElicitResult{Action: "accept", Content: content}
		}
	case tool.AnswerExpired:
		return &mcp.ElicitResult{Action: "cancel"}
	}
	return decline()
}

func declineAll(ids []string) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, id := range ids {
		responses[id] = decline()
	}
	return responses
}

// answer deals with a result by which the server asks for input. It returns the answers
// with which the call is sent again at once, or an error: a *tool.Suspension if people have
// to be asked, or the server wants to be called later.
func (in *input) answer(t *Toolset, r *remote, res *mcp.CallToolResult) (mcp.InputResponseMap, error) {
	where := t.where(r)
	in.Server, in.Asked, in.Declined = res.RequestState, nil, nil
	if len(res.InputRequests) == 0 {
		if in.Busy++; in.Busy > maxBusy {
			return nil, fmt.Errorf("%s: the server is too busy: it has put off the call %d times; try again later", where, maxBusy)
		}
		return nil, in.suspend(where, nil, t.cfg.Now().Add(time.Second<<in.Busy))
	}
	if in.Round++; in.Round > maxRounds {
		return nil, fmt.Errorf("%s: the server keeps asking for input; it was answered %d times", where, maxRounds)
	}
	if n := len(res.InputRequests); n > maxQuestions {
		return nil, fmt.Errorf("%s: the server asks %d questions at once; at most %d are accepted", where, n, maxQuestions)
	}
	var asks []tool.Question
	for i, id := range slices.Sorted(maps.Keys(res.InputRequests)) {
		elicit, ok := res.InputRequests[id].(*mcp.ElicitParams)
		if !ok {
			return nil, fmt.Errorf("%s: the server asks for something that it is not offered (sampling or roots)", where)
		}
		ask, err := askOf(elicit, where)
		if !t.cfg.Ask || err != nil {
			in.Declined = append(in.Declined, id)
			continue
		}
		ask.ID = fmt.Sprintf("input-%d-%d", in.Round, i+1)
		in.Asked = append(in.Asked, question{Ask: ask.ID, Input: id})
		asks = append(asks, ask)
	}
	if len(asks) == 0 {
		return declineAll(in.Declined), nil
	}
	return nil, in.suspend(where, asks, time.Time{})
}

// suspend returns the suspension of the call, or an error if its state is too large.
func (in *input) suspend(where string, asks []tool.Question, wake time.Time) error {
	state, _ := json.Marshal(in) // texts and numbers always can be
	if len(state) > tool.MaxSuspensionState {
		return fmt.Errorf("%s: the server wants the call to keep %d bytes while it waits for answers; at most %d are accepted", where, len(state), tool.MaxSuspensionState)
	}
	return &tool.Suspension{Asks: asks, Wake: wake, State: state}
}

// askOf returns the question for people. Only forms qualify: a link from a server would have
// this server's authority.
func askOf(e *mcp.ElicitParams, where string) (tool.Question, error) {
	if e.Mode != "" && e.Mode != "form" || e.URL != "" {
		return tool.Question{}, errors.New("it is not a form")
	}
	schema := map[string]any{"type": "object"}
	if e.RequestedSchema != nil {
		raw, err := json.Marshal(e.RequestedSchema)
		if err != nil {
			return tool.Question{}, err
		}
		if len(raw) > maxForm {
			return tool.Question{}, errors.New("its form is too large")
		}
		if schema, err = strictjson.DecodeObject(raw); err != nil {
			return tool.Question{}, err
		}
		clipSchema(schema)
		if err := checkShown(schema); err != nil {
			return tool.Question{}, fmt.Errorf("its form: %w", err)
		}
	}
	if _, err := tool.CompileSchema(schema); err != nil {
		return tool.Question{}, err
	}
	return tool.Question{Kind: tool.AskForm, Hint: visible.Clip(where, 200) + " asks: " + clipText(e.Message, maxQuestion), Schema: schema}, nil
}
