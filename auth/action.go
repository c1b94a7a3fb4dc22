package auth

import (
	"fmt"
	"slices"
	"strings"
)

// An Action is what a caller wants to do, independent of the binding and the operation.
// Permissions are granted for actions.
type Action uint8

// The actions. Those on approvals are for the approvals API: an A2A client that answers
// does so by a message, which is Create.
const (
	Create  Action = iota + 1 // send a message, which makes a task or continues one's own
	Read                      // read a task
	List                      // list one's own tasks
	Follow                    // follow the stream of a task
	Cancel                    // cancel a task
	Push                      // configure push notifications of one's own task
	Delete                    // delete a task
	Review                    // list and read approvals
	Decide                    // decide an approval
	Oversee                   // list the tasks of the whole tenant
	Admin                     // manage keys, reload the configuration, act on what Anonymous owns
)

var actionNames = [...]string{"", "create", "read", "list", "follow", "cancel", "push", "delete", "review", "decide", "oversee", "admin"}

// String returns the name of the action, in lower case, or "unknown".
func (a Action) String() string {
	if int(a) >= len(actionNames) || a == 0 {
		return "unknown"
	}
	return actionNames[a]
}

// The roles that [Principal.May] knows. A caller without one may do nothing.
const (
	RoleRequester = "requester" // sends messages, and does everything with the tasks that they make
	RoleViewer    = "viewer"    // reads the tasks and approvals of the tenant
	RoleApprover  = "approver"  // reads and decides the approvals of the tenant
	RoleOperator  = "operator"  // reads, cancels and deletes the tasks of the tenant
	RoleAdmin     = "admin"     // manages the server
)

// reach is how far a role reaches with an action.
type reach uint8

const (
	nothing reach = iota
	own           // what the caller owns
	tenant        // what anybody in the tenant owns
)

// grants is what each role may do.
var grants = map[string]map[Action]reach{
	RoleRequester: {Create: own, Read: own, List: own, Follow: own, Cancel: own, Push: own, Delete: own, Review: own, Decide: own},
	RoleViewer:    {Read: tenant, List: own, Follow: tenant, Review: tenant, Oversee: tenant},
	RoleApprover:  {Review: tenant, Decide: tenant},
	RoleOperator:  {Read: tenant, List: own, Follow: tenant, Cancel: tenant, Delete: tenant, Review: tenant, Oversee: tenant},
	RoleAdmin:     {Admin: tenant},
}

// Roles returns the roles that [Principal.May] knows.
func Roles() []string {
	return []string{RoleRequester, RoleViewer, RoleApprover, RoleOperator, RoleAdmin}
}

// reaches returns how far the roles of p reach with an action.
func (p Principal) reaches(a Action) reach {
	if p.IsZero() {
		return nothing
	}
	if p.IsAnonymous() {
		return grants[RoleRequester][a]
	}
	far := nothing
	for _, role := range p.Roles {
		far = max(far, grants[role][a])
	}
	return far
}

// DeniedError is the error of an action for which a caller has no role. It depends on nothing
// but these, so that it says nothing about what exists.
type DeniedError struct{ Action Action }

// Error names the roles that may do the action.
func (e *DeniedError) Error() string {
	var may []string
	for _, role := range Roles() {
		if grants[role][e.Action] != nothing {
			may = append(may, role)
		}
	}
	return fmt.Sprintf("the credential lacks a role for this (%s): ask the operator of the server for one of: %s", e.Action, strings.Join(may, ", "))
}

// May returns nil if p has a role for an action, else a [*DeniedError]. It is the first question
// about a request, before anything is read. What p may do it to is a question of
// ownership.
func (p Principal) May(a Action) error {
	if p.reaches(a) == nothing {
		return &DeniedError{a}
	}
	return nil
}

// Whole reports whether p may do an action to everything in its tenant, not only to what
// it owns. Without a tenant there is no such right: what was made without authentication
// has none either.
func (p Principal) Whole(a Action) bool { return p.Tenant != "" && p.reaches(a) == tenant }

// Has reports whether p has a role.
func (p Principal) Has(role string) bool { return slices.Contains(p.Roles, role) }
