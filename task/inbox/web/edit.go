package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"a2a-server/client"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// editPage is the page to change arguments. It shows the changes before they are sent.
type editPage struct {
	*approvalPage
	Form      *form
	AsJSON    bool
	Text      string // of the JSON view
	Changes   []change
	Checked   bool   // Changes are the changes in Arguments
	Arguments string // to send
	Args      []leaf
	Wrong     string
}

func (v *visit) edit(d *client.ApprovalDetail) error { return v.showEdit(http.StatusOK, d, nil, "") }

func (v *visit) checkEdit(d *client.ApprovalDetail) error {
	f := v.r.PostForm
	if f.Get("digest") != d.Approval.Digest {
		return v.showApproval(http.StatusPreconditionFailed, d, &client.Error{
			Status: http.StatusPreconditionFailed, Reason: client.ReasonChanged, Title: "The approval has changed", Detail: "nothing was sent: read the approval again, then edit it",
		})
	}
	raw, shown := json.RawMessage(f.Get("json")), json.RawMessage(nil)
	if f.Get("view") == "json" {
		shown = raw // also where it cannot be read
	} else {
		var err error
		if raw, err = argumentForm(d.Parameters, d.Approval.Arguments).value(f); err != nil {
			return v.showEdit(http.StatusUnprocessableEntity, d, nil, err.Error())
		}
	}
	if wrong := unreadable(raw); wrong != "" {
		return v.showEdit(http.StatusUnprocessableEntity, d, shown, wrong)
	}
	return v.showEdit(http.StatusOK, d, raw, "")
}

// unreadable returns the reason why a text cannot be arguments, as a sentence, or "". A text
// without a fault is small enough to be shown as a table.
func unreadable(raw json.RawMessage) string {
	if len(raw) > maxArguments {
		return fmt.Sprintf("The arguments have %s, and at most %s are accepted: shorten them.", size(len(raw)), size(maxArguments))
	}
	if _, err := strictjson.DecodeObject(raw); err != nil {
		return "The text is not a JSON object for a tool: " + err.Error() + "."
	}
	return ""
}

// maxArguments is how many bytes the arguments of an edit have at most; see approval.MaxJSON.
const maxArguments = 128 << 10

// showEdit answers with the page; arguments are the arguments to send, nil: as requested.
func (v *visit) showEdit(status int, d *client.ApprovalDetail, arguments json.RawMessage, wrong string) error {
	a := &d.Approval
	if a.State != client.Pending || !d.May.Decide || !slices.Contains(a.Decisions, client.Edit) {
		return v.showApproval(http.StatusOK, d, nil)
	}
	p := editPage{approvalPage: v.approvalPage(d), Wrong: wrong, AsJSON: v.r.URL.Query().Get("view") == "json" || v.r.PostForm.Get("view") == "json"}
	p.Form = argumentForm(d.Parameters, a.Arguments)
	now := a.Arguments
	if arguments != nil {
		now = arguments
		if unreadable(arguments) == "" {
			p.Form = editedForm(d.Parameters, a.Arguments, arguments)
			p.Changes = diff(a.Arguments, arguments)
			p.Checked = len(p.Changes) > 0
			p.Arguments, p.Args = string(arguments), tree(arguments)
		}
	} else if v.r.Method == http.MethodPost {
		p.Form.fill(v.r.PostForm)
	}
	if p.Text = string(now); unreadable(now) == "" {
		p.Text = indented(now)
	}
	p.Text = visible.Text(p.Text)
	return v.show(status, "edit", "Edit: "+p.Title.heading(), "", p)
}

// editedForm returns the form of edited arguments, with the former value of each field.
func editedForm(parameters, asked, edited json.RawMessage) *form {
	was := map[string]string{}
	for _, one := range argumentForm(parameters, asked).Fields {
		if one.raw != "" {
			was[one.Name] = one.shown
		}
	}
	f := argumentForm(parameters, edited)
	for i := range f.Fields {
		one := &f.Fields[i]
		old, there := was[one.Name]
		switch {
		case !there && one.raw != "":
			one.Was = "not given"
		case there && old != one.Value:
			one.Was = old
		}
		delete(was, one.Name)
	}
	return f
}
