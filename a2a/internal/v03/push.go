package v03

import "encoding/json"

// CreatePushConfig returns the parameters of tasks/pushNotificationConfig/set, or the body of
// POST /v1/tasks/{id}/pushNotificationConfigs, as parameters of
// CreateTaskPushNotificationConfig of 1.0. For a field in both path and body, the path counts,
// and the caller sets it. The rules of [SendRequest] apply.
func CreatePushConfig(raw []byte, form Form) ([]byte, error) {
	return request(raw, form, (*reader).create)
}

// PushConfigRequest returns the parameters of a method about push notification configs of a
// task, {id, pushNotificationConfigId}, as parameters of 1.0, {taskId, id}.
func PushConfigRequest(raw []byte, form Form) ([]byte, error) {
	return request(raw, form, func(r *reader) {
		r.add("{")
		for name := range r.members {
			now := map[string]string{"id": "taskId", "pushNotificationConfigId": "id", "push_notification_config_id": "id"}[string(name)]
			if now == "" {
				r.value()
			} else if v := r.id(string(name)); v != nil {
				r.put(now, v)
			}
		}
		r.add("}")
	})
}

// ListPushConfigsRequest is [PushConfigRequest] for the list of all configs, which 0.3 does
// not page.
func ListPushConfigsRequest(raw []byte, form Form) ([]byte, error) {
	out, err := PushConfigRequest(raw, form)
	if err != nil {
		return nil, err
	}
	out = out[:len(out)-1]
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(out, `"pageSize":100}`...), nil
}

// id reads an id; nil: there is none.
func (r *reader) id(field string) []byte {
	v := r.value()
	if isNull(v) {
		return nil
	}
	if v[0] != '"' {
		r.refuse(field, "must be a string")
	}
	return v
}

func (r *reader) create() {
	var id []byte
	r.add("{")
	for name := range r.members {
		switch string(name) {
		case "taskId", "task_id":
			r.copied([]byte("taskId"))
		case "configId", "config_id":
			if r.form == JSONRPC {
				r.value()
				continue
			}
			r.hookID("configId", &id)
		case "config":
			if r.form == REST {
				r.nestedConfig(&id)
				continue
			}
			r.value()
		case "pushNotificationConfig", "push_notification_config":
			r.pushMembers("pushNotificationConfig", &id)
		default:
			r.value()
		}
	}
	if id != nil {
		r.put("id", id)
	}
	r.add("}")
}

// hookID reads an id of a webhook, which a request may have in two places.
func (r *reader) hookID(field string, id *[]byte) {
	v := r.id(field)
	if v == nil || isEmpty(v) {
		return
	}
	if *id != nil && string(*id) != string(v) {
		r.refuse(field, "differs from the other id in the request: give one of them")
	}
	*id = v
}

// nestedConfig converts a TaskPushNotificationConfig of a2a.v1.
func (r *reader) nestedConfig(id *[]byte) {
	if r.in.Kind() != '{' {
		r.refuse("config", "must be an object")
		return
	}
	for name := range r.members {
		switch string(name) {
		case "pushNotificationConfig", "push_notification_config":
			r.pushMembers("config.pushNotificationConfig", id)
		default:
			r.value()
		}
	}
}

// push converts a PushNotificationConfig.
func (r *reader) push(field string) {
	if r.other() {
		return
	}
	var id []byte
	r.add("{")
	r.pushMembers(field, &id)
	if id != nil {
		r.put("id", id)
	}
	r.add("}")
}

// pushMembers adds the members of a PushNotificationConfig to the object in dst, but not
// its id.
func (r *reader) pushMembers(field string, id *[]byte) {
	if r.in.Kind() != '{' {
		r.refuse(field, "must be an object")
		return
	}
	if r.hook {
		r.refuse(field, "is given more than once")
		return
	}
	r.hook = true
	for name := range r.members {
		switch string(name) {
		case "id":
			r.hookID(field+".id", id)
		case "url", "token":
			r.copied(name)
		case "authentication":
			r.member("authentication")
			r.authentication(field + ".authentication")
		default:
			r.value()
		}
	}
}

// authentication converts schemes to the single scheme that 1.0 has: the first.
func (r *reader) authentication(field string) {
	if r.other() {
		return
	}
	r.add("{")
	for name := range r.members {
		switch string(name) {
		case "schemes":
			if r.in.Kind() != '[' {
				r.refuse(field+".schemes", "must be a list")
				return
			}
			n := 0
			for range r.elements {
				v := r.value()
				if n++; n > 1 {
					continue
				}
				if !isNull(v) && v[0] != '"' {
					r.refuse(field+".schemes[0]", "must be a string")
				}
				r.put("scheme", v)
			}
		case "credentials":
			r.copied(name)
		default:
			r.value()
		}
	}
	r.add("}")
}

// pushConfig is a TaskPushNotificationConfig of 1.0.
type pushConfig struct {
	ID, TaskID, URL, Token string
	Authentication         *struct{ Scheme, Credentials string }
}

// oldPushConfig is a TaskPushNotificationConfig of 0.3: with a name in HTTP+JSON, otherwise with a
// task.
type oldPushConfig struct {
	Name   string `json:"name,omitempty"`
	TaskID string `json:"taskId,omitempty"`
	Config struct {
		ID             string         `json:"id"`
		URL            string         `json:"url"`
		Token          string         `json:"token,omitempty"`
		Authentication *oldPushScheme `json:"authentication,omitempty"`
	} `json:"pushNotificationConfig"`
}

type oldPushScheme struct {
	Schemes     []string `json:"schemes"`
	Credentials string   `json:"credentials,omitempty"`
}

func (c *pushConfig) old(form Form) (out oldPushConfig) {
	if out.TaskID = c.TaskID; form == REST {
		out.TaskID, out.Name = "", "tasks/"+c.TaskID+"/pushNotificationConfigs/"+c.ID
	}
	out.Config.ID, out.Config.URL, out.Config.Token = c.ID, c.URL, c.Token
	if a := c.Authentication; a != nil {
		out.Config.Authentication = &oldPushScheme{[]string{a.Scheme}, a.Credentials}
	}
	return out
}

// AppendPushConfig appends a TaskPushNotificationConfig of 1.0 to dst in the form of 0.3.
func AppendPushConfig(dst, config []byte, form Form) ([]byte, error) {
	var in pushConfig
	if json.Unmarshal(config, &in) != nil {
		return dst, errBroken
	}
	return appended(dst, in.old(form))
}

// AppendPushConfigs appends the list of configs of 1.0 to dst: in JSON-RPC as a list, in
// HTTP+JSON as an object with configs.
func AppendPushConfigs(dst, configs []byte, form Form) ([]byte, error) {
	var in struct {
		Configs       []pushConfig
		NextPageToken string
	}
	if json.Unmarshal(configs, &in) != nil {
		return dst, errBroken
	}
	all := []oldPushConfig{} // never null
	for i := range in.Configs {
		all = append(all, in.Configs[i].old(form))
	}
	if form == JSONRPC {
		return appended(dst, all)
	}
	return appended(dst, struct {
		Configs       []oldPushConfig `json:"configs"`
		NextPageToken string          `json:"nextPageToken,omitempty"`
	}{all, in.NextPageToken})
}

func appended(dst []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(dst, text...), err
}

// AppendDeleted appends the answer to the deletion of a config: null in JSON-RPC, an empty
// object in HTTP+JSON.
func AppendDeleted(dst, _ []byte, form Form) ([]byte, error) {
	if form == REST {
		return append(dst, "{}"...), nil
	}
	return append(dst, "null"...), nil
}
