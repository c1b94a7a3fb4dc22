package api

import (
	"reflect"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
)

// A demand that is on or off and has a member of its name in the API is in it.
func TestDemands(t *testing.T) {
	t.Parallel()
	s := New(Config{Revoked: func(auth.Principal) bool { return false }})
	for f := range reflect.TypeFor[client.Approval]().Fields() {
		a := approval.Approval{}
		demand := reflect.ValueOf(&a.Terms).Elem().FieldByName(f.Name)
		if f.Type.Kind() != reflect.Bool || !demand.IsValid() {
			continue
		}
		demand.SetBool(true)
		if !reflect.ValueOf(s.whole(&a)).FieldByIndex(f.Index).Bool() {
			t.Errorf("%s of the terms is not in the approval", f.Name)
		}
	}
}
