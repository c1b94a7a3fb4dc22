package auth

import (
	"fmt"
	"slices"
	"strings"

	"a2a-server/internal/failure"
)

// An Action is an operation on a kind of resource, such as reading a task, independent of the
// binding. Permissions are granted for actions.
type Action uint8

// The actions. Review and Decide are for the approvals API: an A2A client answers by a
// message, which is Create.
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
	Admin                     // manage keys, reload the configuration, act on resources of Anonymous
)

var actionNames = [...]string{"", "create", "read", "list", "follow", "cancel", "push", "delete", "review", "decide", "oversee", "admin"}

// String returns the name of the action, in lower case, or "unknown".
func (a Action) String() string {
	if int(a) >= len(actionNames) || a == 0 {
		return "unknown"
	}
	return actionNames[a]
}

// The roles that [Principal.May] knows. A caller without any of them may do nothing.
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
	own           // resources of the caller
	tenant        // all resources of the tenant
)

// grants is the reach of each role for each action.
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

// DeniedError is the error of an action for which a caller has no role. It depends only on the
// caller's roles and the action, so it reveals nothing about stored data.
type DeniedError struct{ Action Action }

// Error names the roles that may do the action.
func (e *DeniedError) Error() string {
	may := slices.DeleteFunc(Roles(), func(role string) bool { return grants[role][e.Action] == nothing })
	return fmt.Sprintf("the credential lacks a role for this (%s): ask the operator of the server for one of: %s", e.Action, strings.Join(may, ", "))
}

// Kind says that a role is missing.
func (*DeniedError) Kind() failure.Kind { return failure.Denied }

// May returns nil if p has a role for an action, else a [*DeniedError]. It is checked first,
// before anything is read; ownership then decides which resources p reaches.
func (p Principal) May(a Action) error {
	if p.reaches(a) == nothing {
		return &DeniedError{a}
	}
	return nil
}

// Whole reports whether p may do an action to every resource of its tenant, not only to its
// own. Without a tenant it is false, because resources made without authentication have no
// tenant either.
func (p Principal) Whole(a Action) bool { return p.Tenant != "" && p.reaches(a) == tenant }

// WholeRoles returns the roles that reach the whole tenant with an action.
func WholeRoles(a Action) []string {
	return slices.DeleteFunc(Roles(), func(role string) bool { return grants[role][a] != tenant })
}

// Inert returns the roles of p that reach no more than its own resources with an action, because p has no
// tenant: see [Principal.Whole].
func (p Principal) Inert(a Action) []string {
	if p.Tenant != "" || p.IsZero() || p.IsAnonymous() {
		return nil
	}
	return slices.DeleteFunc(WholeRoles(a), func(role string) bool { return !p.Has(role) })
}

// Has reports whether p has a role.
func (p Principal) Has(role string) bool { return slices.Contains(p.Roles, role) }
