package web

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// promptPage is what a language model was asked for a step of a task.
type promptPage struct {
	taskRow
	chatRequest
	Step string
	Size string
	Sent string // size of the request that was sent; "": not known
	Same bool   // the request on the page has that size
	Raw  string
}

// chatRequest is a request of chat completions, as far as the page shows it.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Calls   []struct {
			Function struct {
				Name string `json:"name"`
				Args string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools json.RawMessage `json:"tools"`
}

func showPrompt(v *visit) error {
	id, step := v.r.PathValue("id"), v.r.PathValue("step")
	asked, err := v.cfg.Service.Prompt(v.ctx(), v.requester, id, step)
	if err != nil {
		return err
	}
	p := promptPage{
		taskRow: taskRow{Short: short(id), Link: v.link("/tasks/" + url.PathEscape(id))}, Step: step, Size: thousands(len(asked.Request)), Same: asked.Sent == len(asked.Request),
		Raw: indented(asked.Request),
	}
	if err := json.Unmarshal(asked.Request, &p.chatRequest); err != nil {
		return err
	}
	if asked.Sent > 0 {
		p.Sent = thousands(asked.Sent)
	}
	return v.show(http.StatusOK, "prompt", "Prompt", "", p)
}
