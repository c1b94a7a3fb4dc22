package v03

import "a2a-server/internal/jsonscan"

// CreatePushConfig returns the parameters of tasks/pushNotificationConfig/set, or the body of
// POST /v1/tasks/{id}/pushNotificationConfigs, as parameters of
// CreateTaskPushNotificationConfig of 1.0. For a field in both path and body, the path counts,
// and the caller sets it. The rules of [SendRequest] apply.
func CreatePushConfig(raw []byte, form Form) ([]byte, error) {
	r := &reader{writer: writer{Scanner: jsonscan.New(raw), form: form}}
	r.create()
	return r.done()
}

// PushConfigRequest returns the parameters of a method about push notification configs of a
// task, {id, pushNotificationConfigId}, as parameters of 1.0, {taskId, id}.
func PushConfigRequest(raw []byte, form Form) ([]byte, error) {
	r := &reader{writer: writer{Scanner: jsonscan.New(raw), form: form}}
	r.add("{")
	for name := range r.Members {
		now := map[string]string{"id": "taskId", "pushNotificationConfigId": "id", "push_notification_config_id": "id"}[string(name)]
		if now == "" {
			r.Value()
		} else if v := r.id(string(name)); v != nil {
			r.put(now, v)
		}
	}
	r.add("}")
	return r.done()
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
	v := r.Value()
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
	for name := range r.Members {
		switch string(name) {
		case "taskId", "task_id":
			r.copied([]byte("taskId"))
		case "configId", "config_id":
			if r.form == JSONRPC {
				r.Value()
				continue
			}
			r.hookID("configId", &id)
		case "config":
			if r.form == REST {
				r.nestedConfig(&id)
				continue
			}
			r.Value()
		case "pushNotificationConfig", "push_notification_config":
			r.pushMembers("pushNotificationConfig", &id)
		default:
			r.Value()
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
	if r.Peek() != '{' {
		r.refuse("config", "must be an object")
		return
	}
	for name := range r.Members {
		switch string(name) {
		case "pushNotificationConfig", "push_notification_config":
			r.pushMembers("config.pushNotificationConfig", id)
		default:
			r.Value()
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
	if r.Peek() != '{' {
		r.refuse(field, "must be an object")
		return
	}
	if r.hook {
		r.refuse(field, "is given more than once")
		return
	}
	r.hook = true
	for name := range r.Members {
		switch string(name) {
		case "id":
			r.hookID(field+".id", id)
		case "url", "token":
			r.copied(name)
		case "authentication":
			r.member("authentication")
			r.authentication(field + ".authentication")
		default:
			r.Value()
		}
	}
}

// authentication converts schemes to the single scheme that 1.0 has: the first.
func (r *reader) authentication(field string) {
	if r.other() {
		return
	}
	r.add("{")
	for name := range r.Members {
		switch string(name) {
		case "schemes":
			s := jsonscan.New(r.Value())
			if s.Peek() != '[' {
				r.refuse(field+".schemes", "must be a list")
				return
			}
			for range s.Elements {
				v := s.Value()
				if !isNull(v) && v[0] != '"' {
					r.refuse(field+".schemes[0]", "must be a string")
				}
				r.put("scheme", v)
				break
			}
		case "credentials":
			r.copied(name)
		default:
			r.Value()
		}
	}
	r.add("}")
}

// AppendPushConfig appends a TaskPushNotificationConfig of 1.0 to dst in the form of 0.3.
func AppendPushConfig(dst, config []byte, form Form) ([]byte, error) {
	return convert(dst, config, form, (*writer).pushConfig)
}

// AppendPushConfigs appends the list of configs of 1.0 to dst: in JSON-RPC as a list, in
// HTTP+JSON as an object with configs.
func AppendPushConfigs(dst, configs []byte, form Form) ([]byte, error) {
	return convert(dst, configs, form, func(w *writer) {
		begin := len(w.dst)
		if form == REST {
			w.add("{")
		}
		for name := range w.Members {
			switch {
			case string(name) == "configs":
				if form == REST {
					w.member("configs")
				}
				w.list((*writer).pushConfig)
			case string(name) == "nextPageToken" && form == REST:
				w.copied(name)
			default:
				w.Value()
			}
		}
		if form == REST {
			w.add("}")
		} else if len(w.dst) == begin || w.dst[begin] != '[' {
			w.dst = append(w.dst[:begin], "[]"...)
		}
	})
}

func (w *writer) pushConfig() {
	var id, task, url, token, authentication []byte
	for name := range w.Members {
		switch string(name) {
		case "id":
			id = w.Value()
		case "taskId":
			task = w.Value()
		case "url":
			url = w.Value()
		case "token":
			token = w.Value()
		case "authentication":
			authentication = w.Value()
		default:
			w.Value()
		}
	}
	if len(task) < 2 || len(id) < 2 || len(url) < 2 {
		w.Stop()
		return
	}
	w.add("{")
	if w.form == REST {
		w.add(`"name":"tasks/` + string(task[1:len(task)-1]) + `/pushNotificationConfigs/` + string(id[1:len(id)-1]) + `"`)
	} else {
		w.put("taskId", task)
	}
	w.member("pushNotificationConfig")
	w.add("{")
	w.put("id", id)
	w.put("url", url)
	if token != nil {
		w.put("token", token)
	}
	if !isNull(authentication) {
		w.member("authentication")
		w.schemes(authentication)
	}
	w.add("}}")
}

func (w *writer) schemes(authentication []byte) {
	s := jsonscan.New(authentication)
	w.add("{")
	for name := range s.Members {
		switch string(name) {
		case "scheme":
			w.member("schemes")
			w.add("[")
			w.dst = append(w.dst, s.Value()...)
			w.add("]")
		case "credentials":
			w.put("credentials", s.Value())
		default:
			s.Value()
		}
	}
	if s.Broken {
		w.Stop()
	}
	w.add("}")
}

// AppendDeleted appends the answer to the deletion of a config: null in JSON-RPC, an empty
// object in HTTP+JSON.
func AppendDeleted(dst, _ []byte, form Form) ([]byte, error) {
	if form == REST {
		return append(dst, "{}"...), nil
	}
	return append(dst, "null"...), nil
}
