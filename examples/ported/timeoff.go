package main

import (
	"fmt"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// timeOff are the arguments of request_time_off.
type timeOff struct {
	Days int `json:"days" jsonschema:"minimum=1,maximum=60" jsonschema_description:"How many days off are requested."`
}

// newTimeOff ports the tool of ADK's samples by which an employee asks for days off, and a
// manager may grant fewer.
//
//	in ADK                                        here
//	looks for a confirmation in its context,      calls RequestConfirmation, which finds the
//	and asks for it if there is none              decision by itself
//	returns "pending" after it has asked: the     returns the error; any other result would
//	model sees that as the tool's result          be thrown away
//	is called again after the decision            likewise, with the same call id
//	must look at Confirmed itself                 a rejection is an error of RequestConfirmation
//	reads approved_days from the payload, a       likewise; the payload is JSON from outside in
//	number if the client has sent a payload       both, and has to be checked
func newTimeOff() (tool.CallableTool, error) {
	return functiontool.New(functiontool.Config{
		Name: "request_time_off", Description: "Requests days off. A manager decides how many are granted.",
	}, func(ctx tool.Context, a timeOff) (map[string]any, error) {
		hint := fmt.Sprintf("Grant %d days off? To grant fewer, send approved_days in the payload.", a.Days)
		if err := tool.RequestConfirmation(ctx, hint, map[string]any{"approved_days": 0}); err != nil {
			return nil, err
		}
		granted := a.Days
		if decision := tool.Confirmation(ctx); decision != nil && decision.Payload != nil {
			fields, _ := decision.Payload.(map[string]any)
			days, ok := fields["approved_days"].(float64)
			if !ok || days < 0 || days != float64(int(days)) {
				return nil, fmt.Errorf("approved_days in the payload of the decision is %v; send a whole number from 0", fields["approved_days"])
			}
			granted = min(a.Days, int(days))
		}
		return map[string]any{"requested": a.Days, "granted": granted}, nil
	})
}
