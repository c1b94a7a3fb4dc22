// Command adkgo talks with a server through the remote agent of ADK for Go, as a program
// built with it does:
//
//	adkgo URL
//
// Each line of the input is a turn of the person, and is answered by a line that lists
// what ADK shows:
//
//	{"start": "whole"}    a new conversation, with answers as a whole
//	{"start": "stream"}   or as a stream
//	{"say": ["text"]}     a message, with a text for each part
//	{"answer": [true]}    yes or no to each question that was asked
//
// It is a module of its own, because ADK brings more with it than all else together.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/remoteagent/v2"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

func main() {
	if err := run(context.Background(), os.Args[1], json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A turn is a line of the input.
type turn struct {
	Start  string   `json:"start"`
	Say    []string `json:"say"`
	Answer []bool   `json:"answer"`
}

func run(ctx context.Context, url string, in *json.Decoder, out *json.Encoder) error {
	out.SetEscapeHTML(false)
	var talk *conversation
	for {
		var t turn
		if err := in.Decode(&t); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		seen := []map[string]any{}
		var err error
		switch {
		case t.Start != "":
			talk, err = start(ctx, url, t.Start == "stream")
		case t.Say != nil:
			var parts []*genai.Part
			for _, text := range t.Say {
				parts = append(parts, genai.NewPartFromText(text))
			}
			seen, err = talk.turn(ctx, parts)
		default:
			seen, err = talk.turn(ctx, talk.answers(t.Answer))
		}
		if err == nil {
			err = out.Encode(seen)
		}
		if err != nil {
			return err
		}
	}
}

// A conversation is a session of ADK with the remote agent.
type conversation struct {
	runner  *runner.Runner
	session string
	config  agent.RunConfig
	asked   []*genai.FunctionCall
}

func start(ctx context.Context, url string, streams bool) (*conversation, error) {
	bank, err := remoteagent.NewA2A(remoteagent.A2AConfig{
		Name:              "bank",
		AgentCardProvider: remoteagent.NewAgentCardProvider(url),
	})
	if err != nil {
		return nil, err
	}
	sessions := session.InMemoryService()
	made, err := sessions.Create(ctx, &session.CreateRequest{AppName: "interop", UserID: "person"})
	if err != nil {
		return nil, err
	}
	r, err := runner.New(runner.Config{AppName: "interop", Agent: bank, SessionService: sessions})
	if err != nil {
		return nil, err
	}
	c := &conversation{runner: r, session: made.Session.ID()}
	if streams {
		c.config.StreamingMode = agent.StreamingModeSSE
	} else {
		c.config.StreamingMode = agent.StreamingModeNone
	}
	return c, nil
}

func (c *conversation) turn(ctx context.Context, parts []*genai.Part) ([]map[string]any, error) {
	seen := []map[string]any{}
	c.asked = nil
	for event, err := range c.runner.Run(ctx, "person", c.session, genai.NewContentFromParts(parts, genai.RoleUser), c.config) {
		if err != nil {
			return nil, err
		}
		if event.ErrorMessage != "" {
			seen = append(seen, map[string]any{"author": event.Author, "error": event.ErrorMessage})
		}
		if event.Content == nil {
			continue
		}
		for _, part := range event.Content.Parts {
			shows, err := shown(part)
			if err != nil {
				return nil, err
			}
			shows["author"] = event.Author
			if event.Partial {
				shows["partial"] = true
			}
			if part.FunctionCall != nil && slices.Contains(event.LongRunningToolIDs, part.FunctionCall.ID) {
				shows["asks"] = true
				c.asked = append(c.asked, part.FunctionCall)
			}
			seen = append(seen, shows)
		}
	}
	return seen, nil
}

// shown returns the part as a program that reads ADK's events sees it.
func shown(part *genai.Part) (map[string]any, error) {
	raw, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	shows := map[string]any{}
	if err := json.Unmarshal(raw, &shows); err != nil {
		return nil, err
	}
	if part.InlineData != nil { // data that is not ADK's own comes as a text in a file
		shows["inlineData"] = string(part.InlineData.Data)
	}
	return shows, nil
}

// answers says yes or no to each question that was asked.
func (c *conversation) answers(confirmed []bool) []*genai.Part {
	var parts []*genai.Part
	for i, call := range c.asked {
		parts = append(parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: call.ID, Name: call.Name, Response: map[string]any{"confirmed": confirmed[i]},
		}})
	}
	return parts
}
